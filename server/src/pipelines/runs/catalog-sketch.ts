import {
  type DraftSettings,
  draftAttribute,
  isSurelyText,
  joinObserved,
  type Observed,
  observeValue,
} from '../../catalog/ontology/drafts/drafts.ts';
import { isBlank } from '../../catalog/ontology/ontology.ts';
import type { CellProblem, MappedProduct, PipelineMode, RowOutcome } from '../mapping/mapping.ts';
import type { Preview } from '../pipeline-definitions/pipeline-definitions.ts';
import { judgeRow } from './run-batches.ts';

export type PreviewCatalog = NonNullable<Preview['catalog']>;

interface SeenAttribute {
  observed: Observed;
  products: number;
  readonly examples: Set<string>;
}

/** As many as a person can look through. */
const SHOWN_CATEGORIES = 200;
const SHOWN_ATTRIBUTES = 500;
/** How many names a preview counts. A feed with more names has other data in the place of names. */
const COUNTED_NAMES = 20_000;
const EXAMPLES = 3;
const EXAMPLE_CHARACTERS = 100;
const REJECTED_EXAMPLES = 5;

/** Describes the catalog that a feed would make. It counts products as they are mapped, and stores none. */
export class CatalogSketch {
  readonly #mode: PipelineMode;
  #rows = 0;
  #filtered = 0;
  readonly #rejected = { count: 0, examples: [] as { row: number; reason: string }[] };
  /** By identifier: the categories and attributes under which its last row was counted. */
  readonly #identifiers = new Map<string, { categories: string[]; attributes: string[] }>();
  readonly #categories = new Map<string, number>();
  readonly #attributes = new Map<string, SeenAttribute>();

  constructor(mode: PipelineMode) {
    this.#mode = mode;
  }

  /** @returns the number of rows so far */
  add(outcomes: readonly RowOutcome[]): number {
    for (const outcome of outcomes) {
      const { product, problems: [problem] = [] } = judgeRow(outcome, this.#mode);
      if (problem !== undefined) this.#reject(outcome.row, problem, product !== undefined);
      else if (product === undefined) this.#filtered += 1;
      else this.#addProduct(product);
    }
    this.#rows += outcomes.length;
    return this.#rows;
  }

  describe(settings: DraftSettings, isWhole: boolean): PreviewCatalog {
    return {
      rows: this.#rows,
      isWhole,
      products: this.#identifiers.size,
      filtered: this.#filtered,
      rejected: this.#rejected,
      categories: [...this.#categories]
        .filter(([, products]) => products > 0)
        .sort(([, a], [, b]) => b - a)
        .slice(0, SHOWN_CATEGORIES)
        .map(([path, products]) => ({ path: JSON.parse(path) as string[], products })),
      hasMoreCategories: this.#categories.size > SHOWN_CATEGORIES,
      attributes: [...this.#attributes]
        .filter(([, { products }]) => products > 0)
        .sort(([, a], [, b]) => b.products - a.products)
        .slice(0, SHOWN_ATTRIBUTES)
        .map(([name, seen]) => describeAttribute(name, seen, settings)),
      hasMoreAttributes: this.#attributes.size > SHOWN_ATTRIBUTES,
    };
  }

  /** For a product that the catalog would refuse, only the reason is shown. */
  #reject(row: number, { field, column, reason }: CellProblem, isProduct: boolean): void {
    const { examples } = this.#rejected;
    this.#rejected.count += 1;
    if (examples.length >= REJECTED_EXAMPLES) return;
    examples.push({ row, reason: isProduct ? reason : `${column ?? field}: ${reason}` });
  }

  #addProduct({ identifier, categories: own = [], attributes: values = [] }: MappedProduct): void {
    const categories = this.#categories;
    this.#dropReplaced(identifier);
    const paths = new Set(own.map(({ path }) => JSON.stringify(path)));
    const counted = [...paths].filter((path) => hasRoom(categories, path));
    for (const path of counted) categories.set(path, (categories.get(path) ?? 0) + 1);
    const countedKeys = new Set<string>();
    for (const { key, value } of values) {
      if (value === null || isBlank(value) || !hasRoom(this.#attributes, key)) continue;
      this.#addValue(key, value, !countedKeys.has(key));
      countedKeys.add(key);
    }
    this.#identifiers.set(identifier, { categories: counted, attributes: [...countedKeys] });
  }

  /** Of several rows with one identifier only the last is used, so this removes the counts of the previous row. */
  #dropReplaced(identifier: string): void {
    const before = this.#identifiers.get(identifier);
    for (const path of before?.categories ?? [])
      this.#categories.set(path, (this.#categories.get(path) ?? 1) - 1);
    for (const key of before?.attributes ?? []) {
      const attribute = this.#attributes.get(key);
      if (attribute !== undefined) attribute.products -= 1;
    }
  }

  #addValue(key: string, value: string, isFirst: boolean): void {
    const attribute = this.#attributes.get(key);
    if (attribute === undefined) {
      const observed = observeValue(value);
      this.#attributes.set(key, { observed, products: 1, examples: new Set([cut(value)]) });
      return;
    }
    if (isFirst) attribute.products += 1;
    if (!isSurelyText(attribute.observed))
      attribute.observed = joinObserved(attribute.observed, observeValue(value));
    if (attribute.examples.size < EXAMPLES) attribute.examples.add(cut(value));
  }
}

const cut = (value: string) => value.slice(0, EXAMPLE_CHARACTERS).toWellFormed();

const hasRoom = (counted: ReadonlyMap<string, unknown>, key: string) =>
  counted.size < COUNTED_NAMES || counted.has(key);

function describeAttribute(
  name: string,
  { observed, products, examples }: SeenAttribute,
  settings: DraftSettings,
): PreviewCatalog['attributes'][number] {
  const drafted = draftAttribute({ id: 0, name }, observed, settings);
  const { id: _, decidedBy: __, reason = '', unitAliases: ___, ...shown } = drafted;
  return { ...shown, reason, products, examples: [...examples] };
}
