import type { DerivedFrom, DerivedSource } from '../../catalog/catalog.ts';
import type { ComparedAttribute, OwnField } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { findEdge } from '../../kernel/find-edge.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import { NumberedProduct, Numbers } from '../memberships/memberships.ts';

/** The memory of a text besides its characters, and of an entry in a map. */
const TEXT_BYTES = 24;
const ENTRY_BYTES = 48;
/**
 * The memory of a product besides its texts and values: its numbers, and its indexes by identifier and by
 * group.
 */
const PRODUCT_BYTES = 140;
/** The memory of a value, which is two numbers. */
const VALUE_BYTES = 8;

type Categories = DerivedFrom['categories'];

/**
 * The parts of all products of one catalog state that rules read, packed. A repeated text is stored once, and
 * a value is two numbers, for its key and its text. Products are ordered by id.
 */
export class CatalogColumns implements DerivedSource {
  /** The approximate memory. The estimate is more often too high than too low. */
  bytes = 0;
  readonly keys: string[] = [];
  private readonly only: ReadonlySet<string> | undefined;
  private readonly ids: number[] = [];
  private readonly own: Record<OwnField, string[]> = { identifier: [], groupIdentifier: [], name: [] };
  private readonly indexByIdentifier = new Map<string, number>();
  private readonly indexesByGroup = new Map<string, number[]>();
  private readonly categories: Categories[] = [];
  /** Equal category lists share the first one. */
  private readonly byPaths = new Map<string, Categories>();
  private readonly keyNumbers = new Map<string, number>();
  /** Texts by key, so that readers need a list of numbers only as long as the texts of one key. */
  readonly texts: string[][] = [];
  private textNumbers: Map<string, number>[] = [];
  /** The index of the first value of each product. */
  private readonly starts: number[] = [0];
  private readonly values = new Numbers();
  /** Rows by the index of the value in `values`. */
  private readonly rows = new Map<number, string>();

  get count(): number {
    return this.ids.length;
  }

  /** @param keys upload keys whose values are stored; undefined means all keys */
  constructor(keys?: ReadonlySet<string>) {
    this.only = keys;
  }

  /** Adds a product. Call it in the order of ids. */
  add(productId: number, product: UploadedProduct): void {
    const { identifier, groupIdentifier, name } = product;
    const { only, own, values } = this;
    const index = this.ids.push(productId) - 1;
    this.indexByIdentifier.set(identifier, index);
    own.identifier.push(identifier);
    own.name.push(name);
    this.bytes += PRODUCT_BYTES + weigh(identifier) + weigh(name);
    this.addToGroup(groupIdentifier, index);
    this.categories.push(this.shareCategories(product.categories.map(({ path }) => ({ path }))));
    for (const { key, value, row } of product.attributes) {
      if (only?.has(key) === false) continue;
      this.bytes += VALUE_BYTES;
      if (row !== undefined) {
        const text = String(row);
        this.rows.set(values.length, text);
        this.bytes += weigh(text) + ENTRY_BYTES;
      }
      const number = this.numberKey(key);
      values.push(number);
      values.push(this.numberText(number, value));
    }
    this.starts.push(values.length);
  }

  /** Call it after all products are added. */
  end(): void {
    this.textNumbers = [];
  }

  idAt(index: number): number {
    return this.ids[index] as number;
  }

  identifierAt(index: number): string {
    return this.own.identifier[index] as string;
  }

  groupAt(index: number): string {
    return this.own.groupIdentifier[index] as string;
  }

  indexOf(identifier: string): number | undefined {
    return this.indexByIdentifier.get(identifier);
  }

  indexOfId(productId: number): number {
    const index = findEdge(this.ids, (id) => id < productId);
    if (this.ids[index] === productId) return index;
    throw new Error(`the product ${productId} is not in the columns`);
  }

  indexesOfGroup(group: string): readonly number[] {
    return this.indexesByGroup.get(group) ?? [];
  }

  /**
   * @returns the products one by one. It yields the same view each time, whose `row` is the index.
   * @throws search_too_long
   */
  *views(attributes: readonly ComparedAttribute[], budget: Budget): Generator<NumberedProduct, void> {
    const view = new NumberedProduct(attributes);
    const source = view.open(this);
    for (let index = 0; index < this.count; index += 1) {
      budget.charge();
      view.look(source, index);
      yield view;
    }
  }

  readOwn(index: number, field: OwnField): string {
    return this.own[field][index] as string;
  }

  categoriesOf(index: number): Categories {
    return this.categories[index] as Categories;
  }

  visitTexts(...[index, visit, isVisited]: Parameters<DerivedSource['visitTexts']>): void {
    const { values, rows } = this;
    const end = this.starts[index + 1] as number;
    for (let valueIndex = this.starts[index] as number; valueIndex < end; valueIndex += 2) {
      const key = values.get(valueIndex);
      if (isVisited?.[key] !== false) visit(key, values.get(valueIndex + 1), rows.get(valueIndex));
    }
  }

  textOf(key: number, text: number): string {
    return this.texts[key]?.[text] as string;
  }

  private addToGroup(group: string, index: number): void {
    const indexes = this.indexesByGroup.getOrInsert(group, []);
    if (indexes.length === 0) this.bytes += weigh(group) + ENTRY_BYTES;
    // All products of a group share the text of the first one.
    this.own.groupIdentifier.push(indexes.length === 0 ? group : this.groupAt(indexes[0] as number));
    indexes.push(index);
  }

  private shareCategories(categories: Categories): Categories {
    const signature = JSON.stringify(categories);
    return this.byPaths.getOrInsertComputed(signature, () => {
      this.bytes += 2 * weigh(signature) + ENTRY_BYTES;
      return categories;
    });
  }

  private numberKey(key: string): number {
    const number = this.keyNumbers.get(key);
    if (number !== undefined) return number;
    this.bytes += weigh(key) + ENTRY_BYTES;
    this.keyNumbers.set(key, this.keys.length);
    this.texts.push([]);
    this.textNumbers.push(new Map());
    return this.keys.push(key) - 1;
  }

  private numberText(key: number, text: string): number {
    const numbers = this.textNumbers[key] as Map<string, number>;
    const number = numbers.get(text);
    if (number !== undefined) return number;
    this.bytes += weigh(text);
    const texts = this.texts[key] as string[];
    numbers.set(text, texts.length);
    return texts.push(text) - 1;
  }
}

/** One character outside Latin-1 makes every character of a text take two bytes. */
const weigh = (text: string): number => TEXT_BYTES + 2 * text.length;
