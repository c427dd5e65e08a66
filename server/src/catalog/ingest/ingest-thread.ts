import { BoundedMap } from '../../kernel/bounded-map.ts';
import { type ProductViolation, ServiceError } from '../../kernel/errors.ts';
import type { BodyEncoding } from '../../storage/payloads/payloads.ts';
import { type Budget, type Operation, Passed } from '../../storage/threads/threads.ts';
import {
  type DraftSettings,
  draftAttribute,
  joinObservations,
  joinObserved,
  type Observations,
  type Observed,
} from '../ontology/drafts/drafts.ts';
import {
  type Attribute,
  describeFacts,
  indexByKey,
  isWaiting,
  listFacts,
  type Ontology,
} from '../ontology/ontology.ts';
import type {
  BatchKey,
  CatalogSnapshot,
  CatalogSnapshots,
  FollowedProducts,
  OutdatedProduct,
} from '../port.ts';
import { type PackedProducts, ProductPacker, transferOf } from '../products/documents/documents.ts';
import {
  type BodyForm,
  describeInvalid,
  type OnInvalid,
  type UploadedProduct,
} from '../products/products.ts';
import {
  type BatchNotes,
  buffersOf,
  describeBatch,
  noteOperations,
  readNotes,
  readObservations,
} from './batch-notes.ts';
import { type CheckedBody, countPages, openBody } from './checked-body.ts';
import { CompiledOntologies, type CompiledOntology } from './compiled-ontologies.ts';
import { readLegacyForm } from './legacy-items.ts';
import { holdsAny, listKeys, packPatches, packProducts } from './packing.ts';
import { ReportWriter, reportChanged, reportDropped } from './report-writer.ts';

/**
 * The work of parsing threads on bodies: checking and extracting. A checked body stays in memory under its handle
 * until its extraction, within a limit. After that, or after a crash, a thread reads it from its payload.
 */

/** Where a thread finds the products of an accepted request. */
export interface IngestSource {
  readonly handle: number;
  readonly payloadName: string;
  readonly encoding: BodyEncoding;
  readonly maxMib: number;
  readonly form: BodyForm;
}

export interface CheckInput extends Omit<IngestSource, 'payloadName'> {
  /** Whether the result has the digest of the body. */
  readonly isDigested: boolean;
  readonly onInvalid: OnInvalid;
  readonly bytes: Uint8Array;
}

/** The result of checking a body. Source: docs/interface §4.3. */
export interface CheckResult {
  readonly sent: number;
  readonly parsed: number;
  /** The violations of products that were skipped. */
  readonly validation: readonly ProductViolation[];
  /** Of the unpacked body. */
  readonly digest?: string;
}

export const describeChecked = ({ sent, parsed, skipped, digest }: CheckedBody): CheckResult => ({
  sent,
  parsed,
  validation: describeInvalid(skipped),
  ...(digest !== undefined && { digest }),
});

/** The notes that judge a batch of a full update besides the ontology. */
interface FullUpdateContext extends Pick<DraftSettings, 'locale'> {
  /** The values, in earlier batches, of attributes that the ontology does not know: `joined` of their notes. */
  readonly observed: Uint8Array;
}

export interface ExtractionOrder {
  readonly source: IngestSource;
  /** undefined for an incremental or partial update, which creates no attributes. */
  readonly context?: FullUpdateContext;
}

interface ExtractInput extends ExtractionOrder {
  readonly projectId: number;
  /** Where to pack the products. */
  readonly room: Uint8Array<SharedArrayBuffer>;
}

/** The products of a request as rows for the store. */
export interface Extracted {
  readonly packed: PackedProducts;
  /** The revision of the ontology that judged the values. */
  readonly revision: number;
  readonly derivationRevision: number;
  /** NDJSON, as bytes that pass between threads without a copy, because the largest report has 16 MB. */
  readonly report: Uint8Array<ArrayBuffer>;
  readonly unknownIdentifiers: number;
  /**
   * For a full update: notes on attributes that the ontology does not know, and on those whose type is judged again.
   */
  readonly notes: BatchNotes | undefined;
}

export interface ReviewInput extends BatchKey {
  readonly projectId: number;
  /** A JSON list of the attributes that the full update will create. */
  readonly drafts: Uint8Array;
}

/** A staged batch that was judged again with another ontology. */
export interface ReviewedBatch {
  /** NDJSON. */
  readonly report: string;
  readonly revision: number;
  /** Products that exist already and gain facts of attributes that the full update creates. */
  readonly gaining: readonly number[];
}

/** Products whose facts now follow a newer ontology. */
export interface FollowedPage extends FollowedProducts {
  /** NDJSON. */
  readonly report: string;
  readonly lastId: number;
}

/** How many bytes of JSON are held for extraction. A body that the validator had to parse takes six times as much. */
const HELD_BODY_BYTES = 48 * 1024 * 1024;
const FOLLOWED_PAGE = 2_000;
/** The limit for bodies whose pages are only counted and not stored. */
const COUNTED_MIB = 4;

interface PlaceInCatalog {
  readonly projectId: number;
  /** The last product or document that was read. */
  readonly after: number;
}

/** The operations of a parsing thread. */
export function ingestOperations(snapshots: CatalogSnapshots): Record<string, Operation> {
  const thread = new ParsingThread(snapshots);
  return {
    check: (input: CheckInput) => thread.check(input),
    extract: (input: ExtractInput, budget: Budget) => thread.extract(input, budget),
    review: (input: ReviewInput, budget: Budget) => thread.review(input, budget),
    follow: (input: PlaceInCatalog, budget: Budget) => thread.follow(input, budget),
    ...noteOperations(snapshots),
    readLegacyForm: ({ bytes }: Pick<CheckInput, 'bytes'>) => new Passed(readLegacyForm(bytes), bytes.length),
    countPages: ({ bytes, encoding }: Pick<CheckInput, 'bytes' | 'encoding'>) =>
      new Passed(countPages({ bytes, encoding, maxMib: COUNTED_MIB }), bytes.length),
  };
}

/** A parsing thread. It holds bodies in progress and a cache of ontologies. */
class ParsingThread {
  private readonly snapshots: CatalogSnapshots;
  private readonly ontologies = new CompiledOntologies();
  private readonly heldBodies = new BoundedMap<number, CheckedBody>({
    most: HELD_BODY_BYTES,
    weigh: ({ bytes }) => bytes,
  });

  constructor(snapshots: CatalogSnapshots) {
    this.snapshots = snapshots;
  }

  /**
   * Checks a body and holds it. If there are too many bodies, the oldest are dropped.
   * @throws every refusal of docs/interface §7.3
   */
  check({ handle, form, isDigested, ...source }: CheckInput) {
    const body = openBody(source, form, isDigested);
    this.heldBodies.set(handle, body);
    return new Passed(describeChecked(body), source.bytes.length);
  }

  /** Packs the products of an accepted request. It merges the products of a partial update with the present ones. */
  async extract({ projectId, source, context, room }: ExtractInput, budget: Budget) {
    const body = this.heldBodies.peek(source.handle) ?? (await this.openStored(projectId, source));
    this.heldBodies.delete(source.handle);
    const extracted = await this.snapshots.read(projectId, budget, async (snapshot): Promise<Extracted> => {
      const present = await snapshot.readOntology();
      const before = readObservations(context?.observed ?? '[]');
      const { observed, drafts } = context ? draftUnknown(body, present, { ...context, before }) : NO_DRAFTS;
      const { extractor, attributeByKey, paths } = this.ontologies.compile(projectId, present, drafts);
      const { revision: derivationRevision, derive } = await snapshot.openDerivation();
      const report = new ReportWriter();
      report.addSkipped(body);
      const packer = new ProductPacker(room.buffer);
      const packing = { extractor, derive, draftNames: listKeys(drafts), report, packer };
      const pack = source.form === 'products' ? packProducts : packPatches;
      const { derived, unknownIdentifiers } = await pack(body, snapshot, packing);
      const unknown = await findUnknownPaths(snapshot, paths, body.listPaths());
      await reportDropped(report, snapshot, attributeByKey);
      body.refuseOther();
      const catalogVersion = await snapshot.readCatalogVersion();
      return {
        packed: packer.pack({ catalogVersion, paths: unknown, derived }),
        revision: present.revision,
        derivationRevision,
        report: new TextEncoder().encode(report.toText()),
        unknownIdentifiers,
        notes: context && describeBatch({ before, observed, revision: present.revision, drafts }),
      };
    });
    const { packed, report, notes } = extracted;
    const buffers = [...transferOf(packed), report.buffer, ...buffersOf(notes ?? {})];
    return new Passed(extracted, packed.bytes.length, buffers);
  }

  /**
   * Reads an accepted body again. It skips invalid products. If the body cannot be read at all, the caller is not at
   * fault.
   */
  private async openStored(projectId: number, { payloadName, encoding, maxMib, form }: IngestSource) {
    const bytes = await this.snapshots.readPayload(projectId, payloadName);
    try {
      return openBody({ bytes, encoding, maxMib, onInvalid: 'skip' }, form);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new ServiceError('payload_damaged', { values: [payloadName], cause: error });
    }
  }

  /**
   * Judges a staged batch again: it reports values that make no fact, and finds products that gain facts of `drafts`.
   */
  review({ projectId, drafts: draftList, ...staged }: ReviewInput, budget: Budget): Promise<ReviewedBatch> {
    return this.snapshots.read(projectId, budget, async (snapshot) => {
      const drafts = readNotes<readonly Attribute[]>(draftList);
      const present = await snapshot.readOntology();
      const { extractor, attributeByKey } = this.ontologies.compile(projectId, present, drafts);
      const names = listKeys(drafts);
      const report = new ReportWriter();
      const documents = await snapshot.listStagedDocuments(staged);
      const gaining = documents.flatMap(({ product: id, isFresh, raw }) => {
        const product = JSON.parse(raw) as UploadedProduct;
        extractor.inspect(product, report);
        if (isFresh === 1) return [];
        report.changed.delete(product.identifier);
        return holdsAny(product, names) ? id : [];
      });
      await reportDropped(report, snapshot, attributeByKey);
      return { report: report.toText(), gaining, revision: present.revision };
    });
  }

  /** Compares one page of a re-extraction: products whose facts follow an older ontology. */
  follow({ projectId, after }: PlaceInCatalog, budget: Budget): Promise<FollowedPage> {
    return this.snapshots.read(projectId, budget, async (snapshot) => {
      const present = await snapshot.readOntology();
      const { revision } = present;
      const rows = await snapshot.listOutdated({ revision, after, limit: FOLLOWED_PAGE });
      const { report, changed } = await compareFacts(
        rows,
        this.ontologies.compile(projectId, present, []),
        snapshot,
      );
      return {
        revision,
        report,
        changed,
        lastId: rows.at(-1)?.id ?? after,
        products: rows.map(({ id }) => id),
        documents: rows.map(({ document }) => document),
      };
    });
  }
}

/** @returns attributes that the ontology does not know, and attributes whose values are judged again, by name */
function observeUnknown(body: CheckedBody, attributeByKey: ReadonlyMap<string, Attribute>) {
  const waiting = new Map([...attributeByKey].filter(([, attribute]) => isWaiting(attribute)));
  if (waiting.size === 0) return body.observeUnknown(attributeByKey);
  const settled = new Map([...attributeByKey].filter(([key]) => !waiting.has(key)));
  const observed = body.observeUnknown(settled);
  return [
    ...joinObservations(observed.map(([key, values]) => new Map([[waiting.get(key)?.name ?? key, values]]))),
  ];
}

interface DraftedBatch {
  readonly observed: readonly [string, Observed][];
  /** The observed attributes that the full update will create, without an id. */
  readonly drafts: readonly Attribute[];
}

const NO_DRAFTS: DraftedBatch = { observed: [], drafts: [] };

/** Drafts unknown attributes. They get their ids at the commit, when the values of all batches are known. */
function draftUnknown(
  body: CheckedBody,
  { mode, unitAliases, attributes }: Ontology,
  { locale, before }: Pick<DraftSettings, 'locale'> & { readonly before: Observations },
): DraftedBatch {
  const observed = observeUnknown(body, indexByKey(attributes));
  if (mode === 'own') return { observed, drafts: [] };
  const settings = { locale, unitAliases };
  const drafts = observed.map(([name, values]) =>
    draftAttribute({ id: 0, name }, joinObserved(before.get(name), values), settings),
  );
  return { observed, drafts };
}

/** Adds the paths that have an id to `knownPaths`. @returns the paths without an id */
async function findUnknownPaths(snapshot: CatalogSnapshot, knownPaths: Set<string>, all: readonly string[]) {
  const paths = all.filter((path) => !knownPaths.has(path));
  if (paths.length === 0) return [];
  for (const path of (await snapshot.findCategories(paths)).keys()) knownPaths.add(path);
  return paths.filter((path) => !knownPaths.has(path));
}

/**
 * Reports values that no longer make a fact, and finds products whose facts differ from those of the ontology that
 * they followed.
 */
async function compareFacts(
  rows: readonly OutdatedProduct[],
  { extractor, attributeByKey }: CompiledOntology,
  snapshot: CatalogSnapshot,
): Promise<{ report: string; changed: boolean[] }> {
  const report = new ReportWriter();
  const past = new Map<number, ReadonlyMap<string, Attribute> | undefined>();
  for (const revision of new Set(rows.map((row) => row.revision))) {
    const attributes = await snapshot.readPastOntology(revision);
    past.set(revision, attributes && indexByKey(attributes));
  }
  const changed = rows.map(({ raw, revision }) => {
    const product = JSON.parse(raw) as UploadedProduct;
    extractor.inspect(product, report);
    const before = past.get(revision);
    if (before === undefined) return true;
    reportChanged(report, product, { before, after: attributeByKey });
    const describe = (byKey: typeof attributeByKey) => describeFacts(listFacts(product.attributes, byKey));
    return describe(before) !== describe(attributeByKey);
  });
  return { report: report.toText(), changed };
}
