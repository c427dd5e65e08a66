import { type Attribute, describeFacts, indexByKey, listFacts } from '../ontology/ontology.ts';
import type { FollowedProducts } from '../port.ts';
import type { UploadedProduct } from '../products/products.ts';
import type { CatalogSnapshot, OutdatedProduct, StagedDocument } from '../snapshot.ts';
import { tellChanged, tellDropped } from './dropped-facts.ts';
import { type CompiledOntology, holdsAny, listKeys } from './product-extraction.ts';
import { ReportWriter } from './report-writer.ts';

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
export async function reviewStaged(
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
export async function followOntology(
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
