import { type ProductViolation, ServiceError } from '../../kernel/errors.ts';
import type { BodyEncoding, Operation } from '../../storage/storage.ts';
import type { OpenDerivation } from '../derivation.ts';
import {
  type Attribute,
  describeFacts,
  Extractor,
  indexByKey,
  isBlank,
  isWaiting,
  joinObservations,
  listFacts,
  type Observed,
  type Ontology,
} from '../ontology/ontology.ts';
import type { FollowedProducts } from '../port.ts';
import {
  type BodyForm,
  type BodySource,
  describeInvalid,
  listProductErrors,
  type OnInvalid,
  type PackedProducts,
  ProductPacker,
  patchProduct,
  transferOf,
  type UploadedProduct,
} from '../products/products.ts';
import type {
  CatalogSnapshot,
  CatalogSnapshots,
  OutdatedProduct,
  PresentProduct,
  StagedDocument,
} from '../snapshot.ts';
import {
  type CheckedBody,
  countPages,
  openBody,
  type ProductSource,
  sourceOfParsed,
} from './checked-body.ts';
import { ReportWriter, tellChanged, tellDropped } from './report-writer.ts';

/**
 * What the parsing threads do with bodies: check, find unknown names, extract. A body that was checked stays in memory under
 * its handle until its extraction, within a bound; after that, or after a crash, it is read from its payload.
 */

/** Where the products of an accepted request are. */
export interface IngestSource {
  readonly handle: number;
  readonly payloadName: string;
  readonly encoding: BodyEncoding;
  readonly maxMib: number;
  readonly form: BodyForm;
}

export interface CheckInput extends Omit<IngestSource, 'payloadName'> {
  readonly onInvalid: OnInvalid;
  readonly bytes: Uint8Array;
}

/** What the check of a body says. Source: docs/interface.md §4.3. */
export interface CheckResult {
  readonly sent: number;
  readonly parsed: number;
  /** Of products that were left out. */
  readonly validation: readonly ProductViolation[];
}

export const describeChecked = ({ sent, parsed, skipped }: CheckedBody): CheckResult => ({
  sent,
  parsed,
  validation: describeInvalid(skipped),
});

export interface UnknownNames {
  /** Attributes that the ontology does not know, or whose type it asks for. */
  readonly observed: [string, Observed][];
  /** Category paths, as JSON, that have no id yet. */
  readonly paths: string[];
  readonly ontology: Omit<Ontology, 'attributes'>;
}

/** Bodies kept for their extraction, in bytes of JSON: those that the validator had to parse take six times as much. */
const KEPT_BODY_BYTES = 48 * 1024 * 1024;
const FOLLOWED_PAGE = 2_000;
/** Of pages that are kept nowhere: parsing more is not worth it. */
const COUNTED_MIB = 4;

interface ProjectSource {
  readonly projectId: number;
  readonly source: IngestSource;
}

interface ExtractInput extends ProjectSource {
  readonly drafts?: readonly Attribute[];
  /** Where the products are packed. */
  readonly room: Uint8Array<SharedArrayBuffer>;
}

export function ingestOperations(snapshots: CatalogSnapshots): Record<string, Operation> {
  const ingest = new IngestThread(snapshots);
  return {
    check: (input: CheckInput) => ({ output: ingest.check(input), sharedBytes: input.bytes.length }),
    countPages: ({ bytes, encoding }: Pick<CheckInput, 'bytes' | 'encoding'>) => ({
      output: countPages({ bytes, encoding, maxMib: COUNTED_MIB }),
      sharedBytes: bytes.length,
    }),
    findUnknownNames: async ({ projectId, source }: ProjectSource) => ({
      output: await ingest.findUnknownNames(projectId, source),
    }),
    extractProducts: (input: ExtractInput) => ingest.extractProducts(input),
    extractPatches: (input: ExtractInput) => ingest.extractPatches(input),
    review: async (input: ReviewInput) => ({ output: await ingest.review(input) }),
    follow: async ({ projectId, after }: { projectId: number; after: number }) => ({
      output: await ingest.follow(projectId, after),
    }),
  };
}

/** The state of one parsing thread: bodies in progress, and caches per project. */
class IngestThread {
  private readonly snapshots: CatalogSnapshots;
  private readonly kept = new Map<number, CheckedBody>();
  private readonly compiled = new Map<number, CompiledOntology>();
  private readonly categories = new CategoryIds();

  constructor(snapshots: CatalogSnapshots) {
    this.snapshots = snapshots;
  }

  /** @throws every refusal of docs/interface.md §7.3 */
  check({ handle, form, ...source }: CheckInput): CheckResult {
    const body = openBody(source, form);
    this.keep(handle, body);
    return describeChecked(body);
  }

  /** What must have an id before the products of a body can be extracted. */
  async findUnknownNames(projectId: number, source: IngestSource): Promise<UnknownNames> {
    const body = await this.open(projectId, source);
    return this.snapshots.read(projectId, async (snapshot) => {
      const ontology = await snapshot.readOntology();
      const { known } = this.compile(projectId, ontology, []);
      const paths = await this.categories.learn(projectId, snapshot, body.listPaths());
      const { attributes: _, ...kept } = ontology;
      return { observed: observeUnknown(body, known), paths, ontology: kept };
    });
  }

  /** Products of a full or incremental update; `drafts` are the attributes that a full update is to create. */
  async extractProducts({ projectId, source, drafts = [], room }: ExtractInput) {
    const body = await this.open(projectId, source);
    const products = body.openProducts();
    const identifiers = products.listIdentifiers();
    return this.onSnapshot(projectId, drafts, async (snapshot, parts) => {
      const extraction = new ProductExtraction(products, { ...parts, drafts, room });
      extraction.report.addSkipped(body);
      extraction.report.addRepeated(body.repeated);
      const present = await snapshot.findPresent(identifiers);
      for (const [row, identifier] of identifiers.entries()) extraction.add(row, identifier, present[row]);
      await tellDropped(extraction.report, snapshot, parts.compiled.known);
      this.kept.delete(source.handle);
      body.refuseOther();
      return extraction.finish();
    });
  }

  /** Products of a partial update, merged with what the catalog holds. */
  async extractPatches({ projectId, source, room }: ExtractInput) {
    const body = await this.open(projectId, source);
    const { patches } = body;
    return this.onSnapshot(projectId, [], async (snapshot, parts) => {
      const findPatched = await snapshot.findPatched(patches.map(({ identifier }) => identifier));
      const found = patches.map((patch) => ({ patch, present: findPatched(patch.identifier) }));
      const known = found.flatMap(({ patch, present }) => (present ? [{ patch, present }] : []));
      const patched = known.map(({ patch, present }) => patchProduct(JSON.parse(present.raw), patch));
      const extraction = new ProductExtraction(sourceOfParsed(patched), { ...parts, drafts: [], room });
      extraction.report.addSkipped(body);
      extraction.report.addRepeated(body.repeated, 'its changes were made in their order');
      let row = 0;
      for (const { patch, present } of found) {
        if (present === undefined) extraction.addUnknown(patch.identifier);
        else extraction.addPatched(row++, patch.identifier, present);
      }
      await tellDropped(extraction.report, snapshot, parts.compiled.known);
      this.kept.delete(source.handle);
      body.refuseOther();
      return extraction.finish();
    });
  }

  /** Looks at one staged batch once more. */
  review({ projectId, fullUpdateId, batch, drafts }: ReviewInput): Promise<ReviewedBatch> {
    return this.onSnapshot(projectId, drafts, async (snapshot, { ontology: { revision }, compiled }) => {
      const rows = await snapshot.listStagedDocuments({ fullUpdateId, batch });
      return { ...(await reviewStaged(rows, { snapshot, compiled, drafts })), revision };
    });
  }

  /** Looks at one page of products whose facts follow an older ontology. */
  follow(projectId: number, after: number): Promise<FollowedPage> {
    return this.onSnapshot(projectId, [], async (snapshot, { ontology: { revision }, compiled }) => {
      const rows = await snapshot.listOutdated({ revision, after, limit: FOLLOWED_PAGE });
      const { report, changed } = await followOntology(rows, compiled, snapshot);
      return {
        ...{ revision, report, changed, lastId: rows.at(-1)?.id ?? after },
        products: rows.map(({ id }) => id),
        documents: rows.map(({ document }) => document),
      };
    });
  }

  /** Reads the ontology and the catalog in one state. */
  private onSnapshot<Result>(
    projectId: number,
    drafts: readonly Attribute[],
    work: (snapshot: CatalogSnapshot, parts: SnapshotParts) => Promise<Result>,
  ): Promise<Result> {
    return this.snapshots.read(projectId, async (snapshot) => {
      const ontology = await snapshot.readOntology();
      const compiled = this.compile(projectId, ontology, drafts);
      const catalogVersion = await snapshot.readCatalogVersion();
      const derivation = await snapshot.openDerivation();
      return work(snapshot, { ontology, compiled, derivation, catalogVersion });
    });
  }

  /** Keeps a checked body; the oldest go when there are too many. */
  private keep(handle: number, body: CheckedBody): void {
    this.kept.set(handle, body);
    let total = [...this.kept.values()].reduce((sum, one) => sum + one.bytes, 0);
    for (const [oldest, one] of this.kept) {
      if (total <= KEPT_BODY_BYTES || oldest === handle) return;
      this.kept.delete(oldest);
      total -= one.bytes;
    }
  }

  private async open(
    projectId: number,
    { handle, payloadName, encoding, maxMib, form }: IngestSource,
  ): Promise<CheckedBody> {
    const known = this.kept.get(handle);
    if (known !== undefined) return known;
    const bytes = await this.snapshots.readPayload(projectId, payloadName);
    const body = openStored(payloadName, { bytes, encoding, maxMib }, form);
    if (handle !== 0) this.keep(handle, body);
    return body;
  }

  /** The same ontology gives the same extractor, with the facts that it has cached. */
  private compile(projectId: number, ontology: Ontology, drafts: readonly Attribute[]): CompiledOntology {
    this.categories.follow(projectId, ontology.revision);
    const attributes = [...ontology.attributes, ...drafts];
    const signature = JSON.stringify(attributes);
    const present = this.compiled.get(projectId);
    if (present?.signature === signature) return present;
    const compiled: CompiledOntology = {
      signature,
      extractor: new Extractor(attributes),
      known: indexByKey(attributes),
    };
    keepLatest(this.compiled, projectId, compiled);
    return compiled;
  }
}

/** It was accepted: whatever is not valid in it is to be left out, and what cannot be read at all came from no sender. */
function openStored(name: string, stored: Omit<BodySource, 'onInvalid'>, form: BodyForm): CheckedBody {
  try {
    return openBody({ ...stored, onInvalid: 'skip' }, form);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError('payload_damaged', { values: [name], cause: error });
  }
}

/** Attributes that the ontology does not know, and by their names those whose values it judges anew. */
function observeUnknown(body: CheckedBody, known: ReadonlyMap<string, Attribute>): [string, Observed][] {
  const waiting = new Map([...known].filter(([, attribute]) => isWaiting(attribute)));
  if (waiting.size === 0) return body.observeUnknown(known);
  const settled = new Map([...known].filter(([key]) => !waiting.has(key)));
  const observed = body.observeUnknown(settled);
  return [
    ...joinObservations(observed.map(([key, seen]) => new Map([[waiting.get(key)?.name ?? key, seen]]))),
  ];
}

interface SnapshotParts {
  readonly ontology: Ontology;
  readonly compiled: CompiledOntology;
  readonly derivation: OpenDerivation;
  readonly catalogVersion: number;
}

interface ReviewInput {
  projectId: number;
  fullUpdateId: number;
  batch: number;
  drafts: Attribute[];
}

/** A project's ontology made ready for extraction. */
interface CompiledOntology {
  readonly signature: string;
  readonly extractor: Extractor;
  /** By key of an upload. */
  readonly known: ReadonlyMap<string, Attribute>;
}

export interface Extracted {
  readonly packed: PackedProducts;
  readonly revision: number;
  readonly derivationRevision: number;
  /** NDJSON. */
  readonly report: string;
  readonly unknownIdentifiers: number;
}

interface ExtractionParts {
  readonly ontology: Ontology;
  readonly compiled: CompiledOntology;
  readonly derivation: OpenDerivation;
  readonly catalogVersion: number;
  /** Attributes that a full update is to create. */
  readonly drafts: readonly Attribute[];
  /** Where products are packed. */
  readonly room: Uint8Array<SharedArrayBuffer>;
}

/** Turns the products of one request into rows for the store. */
class ProductExtraction {
  readonly report = new ReportWriter();
  private readonly source: ProductSource;
  private readonly parts: ExtractionParts;
  private readonly draftNames: ReadonlySet<string>;
  private readonly packer: ProductPacker;
  private readonly inspect: (row: number) => void;
  private unknownIdentifiers = 0;

  constructor(source: ProductSource, parts: ExtractionParts) {
    this.source = source;
    this.parts = parts;
    this.packer = new ProductPacker(parts.room.buffer);
    this.draftNames = listKeys(parts.drafts);
    parts.compiled.extractor.tell(this.report);
    this.inspect = source.inspectBy(parts.compiled.extractor);
  }

  add(row: number, identifier: string, present: PresentProduct | undefined): void {
    const { source, packer } = this;
    packer.begin(identifier);
    source.write(row, packer);
    const hash = packer.hashRaw();
    this.inspect(row);
    if (present?.hash === hash) {
      const { id, document } = present;
      this.report.changed.delete(identifier);
      const gains = this.draftNames.size > 0 && holdsAny(source.read(row), this.draftNames);
      packer.endPresent({ product: id, hash, document, gains });
      return;
    }
    const derived = this.parts.derivation.derive((keys) => source.readDerivedFrom(row, keys));
    packer.endFresh({ product: present?.id ?? 0, hash, document: 0 }, derived);
  }

  /** A patch that would make a product which could not be uploaded changes nothing. */
  addPatched(row: number, identifier: string, present: PresentProduct): void {
    const errors = listProductErrors(this.source.read(row), 'products');
    if (errors.length === 0) this.add(row, identifier, present);
    else this.report.addSkipped({ skipped: [{ identifier, index: 0, errors }], mended: [] });
  }

  addUnknown(identifier: string): void {
    this.unknownIdentifiers += 1;
    this.report.addUnknownIdentifier(identifier);
  }

  finish(): { output: Extracted; transfer: ArrayBuffer[]; sharedBytes: number } {
    const packed = this.packer.pack(this.parts.catalogVersion);
    const { revision } = this.parts.ontology;
    const output = {
      packed,
      revision,
      derivationRevision: this.parts.derivation.revision,
      report: this.report.toText(),
      unknownIdentifiers: this.unknownIdentifiers,
    };
    return { output, transfer: transferOf(packed), sharedBytes: packed.bytes.length };
  }
}

const listKeys = (attributes: readonly Attribute[]): ReadonlySet<string> =>
  new Set(indexByKey(attributes).keys());

/** Whether a product holds a value of one of these attributes. */
const holdsAny = ({ attributes }: UploadedProduct, names: ReadonlySet<string>): boolean =>
  attributes.some(({ key, value }) => names.has(key) && !isBlank(value));

/** What another ontology makes of uploads that are stored already. */

/** A staged batch looked at once more, by another ontology. */
export interface ReviewedBatch {
  /** NDJSON. */
  readonly report: string;
  readonly revision: number;
  /** Products that are in the catalog already and gain facts of attributes that the full update creates. */
  readonly gaining: readonly number[];
}

/** Products whose facts follow a newer ontology. */
export interface FollowedPage extends FollowedProducts {
  /** NDJSON. */
  readonly report: string;
  readonly lastId: number;
}

/** Reports what makes no fact in a staged batch, and finds which of its products gain facts of `drafts`. */
async function reviewStaged(
  rows: readonly StagedDocument[],
  { snapshot, compiled: { extractor, known }, drafts }: ReviewParts,
): Promise<Omit<ReviewedBatch, 'revision'>> {
  const names = listKeys(drafts);
  const report = new ReportWriter();
  extractor.tell(report);
  const gaining: number[] = [];
  for (const { product: id, isFresh, raw } of rows) {
    const product = JSON.parse(raw) as UploadedProduct;
    extractor.inspect(product);
    if (isFresh === 0) report.changed.delete(product.identifier);
    if (isFresh === 0 && holdsAny(product, names)) gaining.push(id);
  }
  await tellDropped(report, snapshot, known);
  return { report: report.toText(), gaining };
}

interface ReviewParts {
  readonly snapshot: CatalogSnapshot;
  readonly compiled: CompiledOntology;
  readonly drafts: readonly Attribute[];
}

/** Reports what makes no fact now, and finds whose facts are others than by the ontology that each followed. */
async function followOntology(
  rows: readonly OutdatedProduct[],
  { extractor, known }: CompiledOntology,
  snapshot: CatalogSnapshot,
): Promise<{ report: string; changed: boolean[] }> {
  const report = new ReportWriter();
  extractor.tell(report);
  const past = new Map<number, ByKey | undefined>();
  for (const revision of new Set(rows.map((row) => row.revision))) {
    const attributes = await snapshot.readPastOntology(revision);
    past.set(revision, attributes && indexByKey(attributes));
  }
  const changed = rows.map(({ raw, revision }) => {
    const product = JSON.parse(raw) as UploadedProduct;
    extractor.inspect(product);
    const before = past.get(revision);
    if (before !== undefined) tellChanged(report, product, { before, after: known });
    return before === undefined || !haveSameFacts(product, before, known);
  });
  return { report: report.toText(), changed };
}

type ByKey = ReadonlyMap<string, Attribute>;

const haveSameFacts = ({ attributes }: UploadedProduct, before: ByKey, after: ByKey): boolean =>
  describeFacts(listFacts(attributes, before)) === describeFacts(listFacts(attributes, after));

/** The category paths of which a parsing thread knows that they have an id; it is for ever. */
class CategoryIds {
  private readonly known = new Map<number, Set<string>>();
  private readonly revisions = new Map<number, number>();

  /** A catalog that was brought back from a backup has other ids, and another revision of its ontology. */
  follow(projectId: number, ontologyRevision: number): void {
    if (this.revisions.get(projectId) !== ontologyRevision) this.known.delete(projectId);
    keepLatest(this.revisions, projectId, ontologyRevision);
  }

  /** @returns those of these category paths that have no id yet */
  async learn(projectId: number, snapshot: CatalogSnapshot, all: readonly string[]): Promise<string[]> {
    const known = this.known.get(projectId) ?? new Set<string>();
    keepLatest(this.known, projectId, known);
    const paths = all.filter((path) => !known.has(path));
    if (paths.length === 0) return [];
    for (const path of (await snapshot.findCategories(paths)).keys()) known.add(path);
    return paths.filter((path) => !known.has(path));
  }
}

/** Projects of which a thread keeps something: with 10,000 projects, only those at work now. */
const KEPT_PROJECTS = 64;

function keepLatest<Value>(kept: Map<number, Value>, projectId: number, value: Value): void {
  kept.delete(projectId);
  kept.set(projectId, value);
  const oldest = kept.keys().next().value;
  if (kept.size > KEPT_PROJECTS && oldest !== undefined) kept.delete(oldest);
}
