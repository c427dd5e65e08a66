import type { ProductViolation } from '../../kernel/errors.ts';
import type { BodyEncoding, Operation } from '../../storage/storage.ts';
import type { OpenDerivation } from '../derivation.ts';
import { type Attribute, Extractor, indexByKey, type Observed, type Ontology } from '../ontology/ontology.ts';
import {
  type BodyForm,
  describeInvalid,
  normaliseProduct,
  type OnInvalid,
  patchProduct,
  type SentPatch,
  type SentProduct,
} from '../products/products.ts';
import type { CatalogSnapshot, CatalogSnapshots } from '../snapshot.ts';
import { CategoryIds, keepLatest } from './category-ids.ts';
import { type CheckedBody, openBody } from './checked-body.ts';
import { type CompiledOntology, ProductExtraction } from './product-extraction.ts';
import { type FollowedPage, followOntology, type ReviewedBatch, reviewStaged } from './stored-uploads.ts';

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
  /** Attributes that the ontology does not know. */
  readonly observed: [string, Observed][];
  /** Category paths, as JSON, that have no id yet. */
  readonly paths: string[];
  readonly ontology: Pick<Ontology, 'mode' | 'revision'>;
}

/** Bodies kept for their extraction, in bytes of JSON: those that the validator had to parse take six times as much. */
const KEPT_BODY_BYTES = 48 * 1024 * 1024;
const FOLLOWED_PAGE = 2_000;

interface ProjectSource {
  readonly projectId: number;
  readonly source: IngestSource;
}

export function ingestOperations(snapshots: CatalogSnapshots): Record<string, Operation> {
  const ingest = new IngestThread(snapshots);
  return {
    check: (input: CheckInput) => ({ output: ingest.check(input) }),
    findUnknownNames: async ({ projectId, source }: ProjectSource) => ({
      output: await ingest.findUnknownNames(projectId, source),
    }),
    extractProducts: (input: ProjectSource & { drafts: Attribute[] }) => ingest.extractProducts(input),
    extractPatches: (input: ProjectSource) => ingest.extractPatches(input),
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
      const { mode, revision } = ontology;
      return { observed: body.observeUnknown(known), paths, ontology: { mode, revision } };
    });
  }

  /** Products of a full or incremental update; `drafts` are the attributes that a full update is to create. */
  async extractProducts({ projectId, source, drafts }: ProjectSource & { drafts: Attribute[] }) {
    const body = await this.open(projectId, source);
    const products = body.listProducts() as readonly SentProduct[];
    return this.onSnapshot(projectId, drafts, async (snapshot, parts) => {
      const extraction = new ProductExtraction({ ...parts, drafts });
      extraction.report.addSkipped(body);
      extraction.report.addRepeated(body.repeated);
      const findPresent = await snapshot.findPresent(products.map(({ identifier }) => identifier));
      for (const sent of products) extraction.add(normaliseProduct(sent), findPresent(sent.identifier));
      this.kept.delete(source.handle);
      return extraction.finish();
    });
  }

  /** Products of a partial update, merged with what the catalog holds. */
  async extractPatches({ projectId, source }: ProjectSource) {
    const body = await this.open(projectId, source);
    const patches = body.listProducts() as readonly SentPatch[];
    return this.onSnapshot(projectId, [], async (snapshot, parts) => {
      const extraction = new ProductExtraction({ ...parts, drafts: [] });
      extraction.report.addSkipped(body);
      extraction.report.addRepeated(body.repeated, 'its changes were made in their order');
      const findPatched = await snapshot.findPatched(patches.map(({ identifier }) => identifier));
      const patched = patches.map((patch) => ({ patch, present: findPatched(patch.identifier) }));
      const products = patched.map(({ patch, present }) => ({
        identifier: patch.identifier,
        present,
        product: present && patchProduct(JSON.parse(present.raw), patch),
      }));
      for (const { identifier, product, present } of products) {
        if (product === undefined) extraction.addUnknown(identifier);
        else extraction.addPatched(product, present);
      }
      this.kept.delete(source.handle);
      return extraction.finish();
    });
  }

  /** Looks at one staged batch once more. */
  review({ projectId, fullUpdateId, batch, drafts }: ReviewInput): Promise<ReviewedBatch> {
    return this.onSnapshot(projectId, drafts, async (snapshot, { ontology: { revision }, compiled }) => {
      const rows = await snapshot.listStagedDocuments({ fullUpdateId, batch });
      return { ...reviewStaged(rows, compiled, drafts), revision };
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
      return work(snapshot, { ontology, compiled, derivation: await snapshot.openDerivation() });
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
    // It was accepted: whatever is not valid in it is to be left out.
    const body = openBody({ bytes, encoding, maxMib, onInvalid: 'skip' }, form);
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

interface SnapshotParts {
  readonly ontology: Ontology;
  readonly compiled: CompiledOntology;
  readonly derivation: OpenDerivation;
}

interface ReviewInput {
  projectId: number;
  fullUpdateId: number;
  batch: number;
  drafts: Attribute[];
}
