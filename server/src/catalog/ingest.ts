import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CatalogFile, CatalogFiles, Operation } from '../storage/storage.ts';
import {
  findCategoryId,
  findPresent,
  findRaw,
  isCatalogEmpty,
  listOutdated,
  listStagedDocuments,
  readOntology,
} from './catalog-reader-store.ts';
import type { Derivation, OpenDerivation } from './derivation.ts';
import { Extractor } from './extraction.ts';
import { type Attribute, indexByKey, type Ontology } from './ontology.ts';
import { joinObserved, type Observed, observeValue } from './ontology-draft.ts';
import type { PackedProducts } from './packed-products.ts';
import { normaliseProduct, patchProduct, type SentPatch, type SentProduct } from './product.ts';
import { type BodyForm, type CheckedBody, checkBody } from './product-check.ts';
import { type CompiledOntology, extractStored, ProductExtraction } from './product-extraction.ts';

/**
 * What the parsing threads do with bodies: check, survey, extract. A body that was checked stays parsed in memory
 * under its handle until its extraction, within a bound; after that, or after a crash, it is read from its payload.
 */

/** Where the products of an accepted request are. */
export interface IngestSource {
  readonly handle: number;
  readonly payloadName: string;
  readonly encoding: 'identity' | 'gzip';
  readonly maxMib: number;
  readonly form: BodyForm;
}

export interface CheckInput extends Omit<IngestSource, 'payloadName'> {
  readonly bytes: Uint8Array;
}

/** What the check of a body says. Source: docs/interface.md §4.3. */
export interface CheckResult {
  readonly sent: number;
  readonly parsed: number;
}

export interface Survey {
  /** Attributes that the ontology does not know. */
  readonly observed: [string, Observed][];
  /** Category paths, as JSON, that have no id yet. */
  readonly paths: string[];
  readonly ontology: Pick<Ontology, 'mode' | 'revision'>;
}

export interface RefreshPage {
  readonly products: Float64Array<ArrayBuffer>;
  readonly documents: Float64Array<ArrayBuffer>;
  readonly packed: PackedProducts;
  readonly report: string;
  readonly lastId: number;
}

/** Parsed bodies kept for their extraction, in bytes of JSON: about six times as much in memory. */
const KEPT_BODY_BYTES = 48 * 1024 * 1024;
const REFRESH_PAGE = 2_000;

type ProductBody = CheckedBody<SentProduct | SentPatch>;

interface ProjectSource {
  readonly projectId: number;
  readonly source: IngestSource;
}

export interface IngestThreadParts {
  readonly files: CatalogFiles;
  readonly payloads: string;
  readonly derivation: Derivation;
}

export function ingestOperations(parts: IngestThreadParts): Record<string, Operation> {
  const ingest = new IngestThread(parts);
  return {
    check: (input: CheckInput) => ({ output: ingest.check(input) }),
    survey: ({ projectId, source }: ProjectSource) => ({ output: ingest.survey(projectId, source) }),
    extractProducts: (input: ProjectSource & { drafts: Attribute[] }) => ingest.extractProducts(input),
    extractPatches: (input: ProjectSource) => ingest.extractPatches(input),
    restage: (input: RestageInput) => ingest.restage(input),
    refresh: ({ projectId, after }: { projectId: number; after: number }) => ingest.refresh(projectId, after),
  };
}

/** The state of one parsing thread: bodies on their way, and what it knows of each project. */
class IngestThread {
  private readonly files: CatalogFiles;
  private readonly payloadFolder: string;
  private readonly derivation: Derivation;
  private readonly kept = new Map<number, { body: ProductBody; bytes: number }>();
  private readonly compiled = new Map<number, CompiledOntology>();
  private readonly categories = new Map<number, Map<string, number>>();
  private readonly revisions = new Map<number, number>();

  constructor({ files, payloads, derivation }: IngestThreadParts) {
    this.files = files;
    this.payloadFolder = payloads;
    this.derivation = derivation;
  }

  /** @throws every refusal of docs/interface.md §7.3 */
  check({ handle, bytes, encoding, maxMib, form }: CheckInput): CheckResult {
    const body = checkBody({ bytes, encoding, maxMib }, form);
    this.keep(handle, body, bytes.length);
    return { sent: body.sent, parsed: body.products.length };
  }

  /** What must have an id before the products of a body can be extracted. */
  survey(projectId: number, source: IngestSource): Survey {
    const file = this.files.open(projectId);
    const ontology = file.snapshot(() => readOntology(file));
    const { known } = this.compile(projectId, ontology, []);
    const observed = new Map<string, Observed>();
    const paths = new Set<string>();
    const ids = this.categoriesOf(projectId);
    for (const product of this.open(source).products) {
      this.collectPaths(projectId, ids, { product, paths });
      if (source.form === 'products') observeUnknown(product as SentProduct, known, observed);
    }
    const { mode, revision } = ontology;
    return { observed: [...observed], paths: [...paths], ontology: { mode, revision } };
  }

  /** Products of a full or incremental update; `drafts` are the attributes that a full update is to create. */
  extractProducts({ projectId, source, drafts }: ProjectSource & { drafts: Attribute[] }) {
    const body = this.open(source);
    return this.onSnapshot(projectId, drafts, (file, parts) => {
      const extraction = new ProductExtraction({ ...parts, drafts });
      extraction.report.addRepeated(body.repeated);
      const isEmpty = isCatalogEmpty(file);
      for (const sent of body.products as readonly SentProduct[]) {
        extraction.add(normaliseProduct(sent), isEmpty ? undefined : findPresent(file, sent.identifier));
      }
      this.kept.delete(source.handle);
      return extraction.finish();
    });
  }

  /** Products of a partial update, merged with what the catalog holds. */
  extractPatches({ projectId, source }: ProjectSource) {
    const body = this.open(source);
    return this.onSnapshot(projectId, [], (file, parts) => {
      const extraction = new ProductExtraction({ ...parts, drafts: [] });
      extraction.report.addRepeated(body.repeated);
      for (const patch of body.products as readonly SentPatch[]) {
        const raw = findRaw(file, patch.identifier);
        if (raw === undefined) extraction.addUnknown(patch.identifier);
        else extraction.add(patchProduct(JSON.parse(raw), patch), findPresent(file, patch.identifier));
      }
      this.kept.delete(source.handle);
      return extraction.finish();
    });
  }

  /** Answers of one staged batch, made anew. */
  restage({ projectId, fullUpdateId, batch, drafts }: RestageInput) {
    return this.onSnapshot(projectId, drafts, (file, parts) =>
      extractStored(listStagedDocuments(file, { fullUpdateId, batch }), parts),
    );
  }

  /** One page of products whose facts follow an older ontology. */
  refresh(projectId: number, after: number) {
    return this.onSnapshot(projectId, [], (file, parts) => {
      const { revision } = parts.ontology;
      const rows = listOutdated(file, { revision, after, limit: REFRESH_PAGE });
      const { output: stored, transfer } = extractStored(rows, parts);
      const products = Float64Array.from(rows, ({ id }) => id);
      const output: RefreshPage = { ...stored, products, lastId: rows.at(-1)?.id ?? after };
      return { output, transfer: [...transfer, products.buffer] };
    });
  }

  /** Reads the ontology and the catalog in one state. */
  private onSnapshot<Result>(
    projectId: number,
    drafts: readonly Attribute[],
    work: (file: CatalogFile, parts: SnapshotParts) => Result,
  ): Result {
    const file = this.files.open(projectId);
    return file.snapshot(() => {
      const ontology = readOntology(file);
      const compiled = this.compile(projectId, ontology, drafts);
      return work(file, { ontology, compiled, derivation: this.derivation.open(file) });
    });
  }

  /** Keeps a parsed body; the oldest go when there are too many. */
  private keep(handle: number, body: ProductBody, bytes: number): void {
    this.kept.set(handle, { body, bytes });
    let total = [...this.kept.values()].reduce((sum, one) => sum + one.bytes, 0);
    for (const [oldest, one] of this.kept) {
      if (total <= KEPT_BODY_BYTES || oldest === handle) return;
      this.kept.delete(oldest);
      total -= one.bytes;
    }
  }

  private open({ handle, payloadName, encoding, maxMib, form }: IngestSource): ProductBody {
    const known = this.kept.get(handle)?.body;
    if (known !== undefined) return known;
    const bytes = readFileSync(join(this.payloadFolder, payloadName));
    const body = checkBody({ bytes, encoding, maxMib }, form);
    if (handle !== 0) this.keep(handle, body, bytes.length);
    return body;
  }

  /** The same ontology gives the same extractor, with the facts that it has cached. */
  private compile(projectId: number, ontology: Ontology, drafts: readonly Attribute[]): CompiledOntology {
    // Ids of categories are for ever, but a catalog that was brought back from a backup raises the revision too.
    if (this.revisions.get(projectId) !== ontology.revision) this.categories.delete(projectId);
    keepLatest(this.revisions, projectId, ontology.revision);
    const attributes = [...ontology.attributes, ...drafts];
    const signature = JSON.stringify(attributes);
    const present = this.compiled.get(projectId);
    if (present?.signature === signature) return present;
    const compiled: CompiledOntology = {
      signature,
      extractor: new Extractor(attributes, (path) => this.categoryId(projectId, path) ?? 0),
      known: indexByKey(attributes),
      longestName: attributes.reduce((longest, { name }) => Math.max(longest, name.length), 0),
    };
    keepLatest(this.compiled, projectId, compiled);
    return compiled;
  }

  private collectPaths(
    projectId: number,
    ids: Map<string, number>,
    { product, paths }: { product: SentProduct | SentPatch; paths: Set<string> },
  ): void {
    for (const { path, categoryId } of product.categories ?? []) {
      if (typeof categoryId === 'number') continue;
      const text = JSON.stringify(path);
      if (!ids.has(text) && this.categoryId(projectId, text) === undefined) paths.add(text);
    }
  }

  private categoriesOf(projectId: number): Map<string, number> {
    const ids = this.categories.get(projectId) ?? new Map<string, number>();
    keepLatest(this.categories, projectId, ids);
    return ids;
  }

  private categoryId(projectId: number, path: string): number | undefined {
    const ids = this.categories.get(projectId) ?? this.categoriesOf(projectId);
    const known = ids.get(path) ?? findCategoryId(this.files.open(projectId), path);
    if (known !== undefined) ids.set(path, known);
    return known;
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

interface SnapshotParts {
  readonly ontology: Ontology;
  readonly compiled: CompiledOntology;
  readonly derivation: OpenDerivation;
}

interface RestageInput {
  projectId: number;
  fullUpdateId: number;
  batch: number;
  drafts: Attribute[];
}

function observeUnknown(
  { attributes }: SentProduct,
  known: ReadonlyMap<string, Attribute>,
  observed: Map<string, Observed>,
): void {
  for (const { key, value } of attributes ?? []) {
    if (value === null || known.has(key)) continue;
    const before = observed.get(key);
    // Text stays text, whatever else comes: most values need no second look.
    if (before !== undefined && before.unit === null && !before.isBoolean) continue;
    observed.set(key, joinObserved(before, observeValue(value)));
  }
}
