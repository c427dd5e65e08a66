import { type Attribute, isFact, readValue, type Unextracted } from '../ontology/ontology.ts';
import type { UploadedProduct } from '../products/products.ts';
import type { CatalogSnapshot } from '../snapshot.ts';
import type { ReportWriter } from './report-writer.ts';

type ByKey = ReadonlyMap<string, Attribute>;

/**
 * Tells of facts that the catalog has and that an update takes from it, because of values that make none. It reads the
 * present uploads of those products alone whose new values make no fact.
 */
export async function tellDropped(
  report: ReportWriter,
  snapshot: CatalogSnapshot,
  known: ByKey,
): Promise<void> {
  const { changed } = report;
  if (changed.size === 0) return;
  const findPresent = await snapshot.findPatched([...changed.keys()]);
  for (const [identifier, unextracted] of changed) {
    const present = findPresent(identifier);
    if (present === undefined) continue;
    const { attributes } = JSON.parse(present.raw) as UploadedProduct;
    for (const one of listDropped(attributes, unextracted, known)) report.addDropped(one.attribute.name, one);
  }
}

/** A value that was there before is none that was dropped, and no more are than there were facts. */
function listDropped(
  present: UploadedProduct['attributes'],
  unextracted: readonly Unextracted[],
  known: ByKey,
): readonly Unextracted[] {
  return [...Map.groupBy(unextracted, ({ attribute }) => attribute)].flatMap(([attribute, values]) => {
    const before = present.filter(({ key }) => known.get(key) === attribute);
    const facts = before.filter(({ value }) => isFact(value, attribute));
    const added = values.filter(({ value }) => !before.some((one) => one.value === value));
    return added.slice(0, facts.length);
  });
}

/** Tells of facts by another ontology that are none by this one. */
export function tellChanged(
  report: ReportWriter,
  { attributes }: UploadedProduct,
  { before, after }: { readonly before: ByKey; readonly after: ByKey },
): void {
  for (const { key, value } of attributes) {
    const former = before.get(key);
    const attribute = after.get(key);
    if (former === undefined || !isFact(value, former)) continue;
    const read = attribute && readValue(value, attribute);
    if (read === undefined) report.addDropped(former.name, undefined);
    else if (read.kind === 'none')
      report.addDropped(former.name, { attribute: attribute as Attribute, value, why: read.why });
  }
}
