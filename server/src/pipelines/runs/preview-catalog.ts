import {
  type DraftSettings,
  draftAttribute,
  isBlank,
  isSurelyText,
  joinObserved,
  type Observed,
  observeValue,
} from '../../catalog/catalog.ts';
import type { MappedProduct } from '../mapping/mapping.ts';

/** What a full update of the rows would make of a project without products. Source: docs/interface.md §13.5 rule 9. */
export interface PreviewCatalog {
  readonly rows: number;
  /** The source has no further rows. */
  readonly isWhole: boolean;
  /** Different identifiers. */
  readonly products: number;
  readonly filtered: number;
  readonly rejected: { readonly count: number; readonly examples: readonly RejectedRow[] };
  /** The most frequent first. */
  readonly categories: readonly { readonly path: readonly string[]; readonly products: number }[];
  readonly hasMoreCategories: boolean;
  readonly attributes: readonly PreviewAttribute[];
  readonly hasMoreAttributes: boolean;
}

interface RejectedRow {
  readonly row: number;
  readonly reason: string;
}

interface PreviewAttribute {
  readonly name: string;
  readonly type: string;
  readonly unitName?: string;
  readonly decimal?: string;
  /** Why it has this type, in words. */
  readonly reason: string;
  readonly products: number;
  /** The first different ones. */
  readonly examples: readonly string[];
}

interface SeenAttribute {
  observed: Observed;
  products: number;
  readonly examples: Set<string>;
}

/** What a person can look through. */
const SHOWN_CATEGORIES = 200;
const SHOWN_ATTRIBUTES = 500;
/** What a preview counts: a feed with more names than these has something else in their place. */
const COUNTED_NAMES = 20_000;
const EXAMPLES = 3;
const EXAMPLE_CHARACTERS = 100;
const REJECTED_EXAMPLES = 5;

/** Counts products as they are mapped, and keeps none. */
export class CatalogSketch {
  private rows = 0;
  private filtered = 0;
  private rejected = 0;
  private readonly refused: RejectedRow[] = [];
  private readonly identifiers = new Set<string>();
  private readonly categories = new Map<string, number>();
  private readonly attributes = new Map<string, SeenAttribute>();

  get countedRows(): number {
    return this.rows;
  }

  addFiltered(): void {
    this.rows += 1;
    this.filtered += 1;
  }

  addRejected(row: number, reason: string): void {
    this.rows += 1;
    this.rejected += 1;
    if (this.refused.length < REJECTED_EXAMPLES) this.refused.push({ row, reason });
  }

  addProduct({ identifier, categories = [], attributes = [] }: MappedProduct): void {
    this.rows += 1;
    this.identifiers.add(identifier);
    for (const { path } of categories) {
      const key = JSON.stringify(path);
      if (hasRoom(this.categories, key)) this.categories.set(key, (this.categories.get(key) ?? 0) + 1);
    }
    const seen = new Set<string>();
    for (const { key, value } of attributes) {
      if (value === null || isBlank(value) || !hasRoom(this.attributes, key)) continue;
      this.addValue(key, value, !seen.has(key));
      seen.add(key);
    }
  }

  private addValue(key: string, value: string, isFirst: boolean): void {
    const known = this.attributes.get(key);
    if (known === undefined) {
      this.attributes.set(key, {
        observed: observeValue(value),
        products: 1,
        examples: new Set([cut(value)]),
      });
      return;
    }
    if (isFirst) known.products += 1;
    if (!isSurelyText(known.observed)) known.observed = joinObserved(known.observed, observeValue(value));
    if (known.examples.size < EXAMPLES) known.examples.add(cut(value));
  }

  describe(settings: DraftSettings, isWhole: boolean): PreviewCatalog {
    const { rows, filtered, categories, attributes } = this;
    return {
      ...{ rows, isWhole, products: this.identifiers.size, filtered },
      rejected: { count: this.rejected, examples: this.refused },
      categories: [...categories]
        .sort(([, a], [, b]) => b - a)
        .slice(0, SHOWN_CATEGORIES)
        .map(([path, products]) => ({ path: JSON.parse(path) as string[], products })),
      hasMoreCategories: categories.size > SHOWN_CATEGORIES,
      attributes: [...attributes]
        .sort(([, a], [, b]) => b.products - a.products)
        .slice(0, SHOWN_ATTRIBUTES)
        .map(([name, seen]) => describeAttribute(name, seen, settings)),
      hasMoreAttributes: attributes.size > SHOWN_ATTRIBUTES,
    };
  }
}

const cut = (value: string) => value.slice(0, EXAMPLE_CHARACTERS).toWellFormed();

const hasRoom = (counted: ReadonlyMap<string, unknown>, key: string) =>
  counted.size < COUNTED_NAMES || counted.has(key);

function describeAttribute(
  name: string,
  { observed, products, examples }: SeenAttribute,
  settings: DraftSettings,
): PreviewAttribute {
  const {
    id: _,
    decidedBy: __,
    reason = '',
    unitAliases: ___,
    ...drafted
  } = draftAttribute({ id: 0, name }, observed, settings);
  return { ...drafted, reason, products, examples: [...examples] };
}
