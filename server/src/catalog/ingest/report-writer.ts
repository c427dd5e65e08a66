import {
  type Attribute,
  describeUnextracted,
  type ExtractionListener,
  explainDropped,
  isFact,
  readValue,
  type Unextracted,
} from '../ontology/ontology.ts';
import type { CatalogSnapshot } from '../port.ts';
import type { UploadedProduct } from '../products/products.ts';
import { countDropped, countEmpty } from '../report-lines.ts';
import type { CheckedBody } from './checked-body.ts';

/** A task's report has the same limit. Source: docs/interface §4.7. */
const REPORT_LINES = 100_000;

const writeLine = (line: object) => `${JSON.stringify(line)}\n`;

/** A path without a name is not a category. */
const describeEmptied = (count: number) =>
  count === 0 ? '' : `, and ${count === 1 ? '1 path' : `${count} paths`} without a name`;

export class ReportWriter implements ExtractionListener {
  private readonly lines: string[] = [];
  private readonly unknown = new Set<string>();
  private readonly empty = new Map<string, number>();
  private readonly dropped = new Map<string, { count: number; because: string }>();
  /** The values of each changed product that make no fact, by identifier. */
  readonly changed = new Map<string, Unextracted[]>();
  private more = 0;

  add(line: object): void {
    if (this.lines.length < REPORT_LINES) this.lines.push(writeLine(line));
    else this.more += 1;
  }

  onUnextracted(identifier: string, unextracted: Unextracted): void {
    this.add(describeUnextracted(identifier, unextracted));
    this.changed.getOrInsertComputed(identifier, () => []).push(unextracted);
  }

  /** Counts a fact that the catalog loses. If `unextracted` is undefined, its attribute no longer exists. */
  addDropped(attribute: string, unextracted: Unextracted | undefined): void {
    const because = () =>
      unextracted ? explainDropped(unextracted) : 'the ontology no longer has the attribute';
    this.dropped.getOrInsertComputed(attribute, () => ({ count: 0, because: because() })).count += 1;
  }

  /** Reports one line, however many values are empty. */
  onEmpty(attribute: string): void {
    this.empty.set(attribute, (this.empty.get(attribute) ?? 0) + 1);
  }

  /** Reports one line, however many products have the attribute. */
  onUnknown(attribute: string): void {
    if (this.unknown.has(attribute)) return;
    this.unknown.add(attribute);
    const message = 'the ontology has no such attribute, so its values make no facts';
    this.add({ code: 'attribute_unknown', attribute, message });
  }

  addRepeated(identifiers: readonly string[], outcome = 'the last product wins'): void {
    const message = `the identifier occurs more than once in the request; ${outcome}`;
    for (const identifier of identifiers) this.add({ identifier, code: 'repeated_identifier', message });
  }

  /** Must be called first: a commit reads from these lines which products remain unchanged. */
  addSkipped({ skipped, corrected }: Pick<CheckedBody, 'skipped' | 'corrected'>): void {
    for (const { identifier, errors } of skipped) {
      const message = `the product is invalid and was skipped: ${errors.join('; ')}`;
      this.add({ ...(identifier !== null && { identifier }), code: 'product_invalid', message });
    }
    for (const { identifier, count, dropped } of corrected) {
      const message = `empty names at the ends of category paths were dropped${describeEmptied(dropped)}`;
      this.add({ identifier, code: 'path_mended', count, message });
    }
  }

  addUnknownIdentifier(identifier: string): void {
    const message = 'the catalog has no such product, and a partial update does not create products';
    this.add({ identifier, code: 'unknown_identifier', message });
  }

  /** @returns NDJSON; a last line `{"more":n}` counts the lines above the limit */
  toText(): string {
    const counted = [
      ...[...this.dropped].map(([attribute, dropped]) => countDropped(attribute, dropped)),
      ...[...this.empty].map(([attribute, count]) => countEmpty(attribute, count)),
    ].map(writeLine);
    const rest = this.more > 0 ? `${JSON.stringify({ more: this.more })}\n` : '';
    return counted.join('') + this.lines.join('') + rest;
  }
}

type ByKey = ReadonlyMap<string, Attribute>;

/** How many uploads are read together. One may have 2 MB. */
const UPLOADS_AT_ONCE = 100;

/**
 * Reports present facts that an update removes because their new values make no fact. It reads only the present
 * uploads of products that have such values.
 */
export async function reportDropped(report: ReportWriter, snapshot: CatalogSnapshot, attributeByKey: ByKey) {
  const { changed } = report;
  const identifiers = [...changed.keys()];
  for (let from = 0; from < identifiers.length; from += UPLOADS_AT_ONCE) {
    const part = identifiers.slice(from, from + UPLOADS_AT_ONCE);
    for (const { identifier, raw } of await snapshot.findPatched(part)) {
      const { attributes } = JSON.parse(raw) as UploadedProduct;
      for (const unextracted of listDropped(attributes, changed.get(identifier) ?? [], attributeByKey))
        report.addDropped(unextracted.attribute.name, unextracted);
    }
  }
}

/** @returns the new values that make no fact: for each attribute, at most as many as the product had facts of it */
function listDropped(
  present: UploadedProduct['attributes'],
  unextracted: readonly Unextracted[],
  attributeByKey: ByKey,
): readonly Unextracted[] {
  return [...Map.groupBy(unextracted, ({ attribute }) => attribute)].flatMap(([attribute, values]) => {
    const before = present.filter(({ key }) => attributeByKey.get(key) === attribute);
    const facts = before.filter(({ value }) => isFact(value, attribute));
    const added = values.filter(({ value }) => !before.some((uploaded) => uploaded.value === value));
    return added.slice(0, facts.length);
  });
}

/** Reports values that made facts under the former ontology and make none under this one. */
export function reportChanged(
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
