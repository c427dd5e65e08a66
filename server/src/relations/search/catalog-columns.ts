import type { DerivedFrom, DerivedSource } from '../../catalog/catalog.ts';
import type { ComparedAttribute, Filter, OwnField } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import type { BoundRule } from '../definitions/definitions.ts';
import { type Membership, Memberships, NumberedProduct, Numbers } from '../memberships/memberships.ts';
import type { StoredUpload } from './related-view.ts';
import { TRIED_BUILD, type TriedCatalog } from './relation-survey.ts';

/** Memory of a text besides its characters, and of an entry in a map. */
const TEXT_BYTES = 24;
const ENTRY_BYTES = 48;
/** Memory of a product besides its texts and values: numbers, and its places by identifier and in its group. */
const PRODUCT_BYTES = 140;
/** Two numbers. */
const VALUE_BYTES = 8;

type Categories = DerivedFrom['categories'];

/**
 * What rules look at, for all products of one state of a catalog, packed: a repeated text is stored once, and
 * a value is two numbers, for its key and its text. Products are ordered by id.
 */
export class CatalogColumns implements DerivedSource {
  /** An estimate, rather too high than too low. */
  bytes = 0;
  readonly keys: string[] = [];
  private readonly only: ReadonlySet<string> | undefined;
  private readonly ids: number[] = [];
  private readonly own: Record<OwnField, string[]> = { identifier: [], groupIdentifier: [], name: [] };
  private readonly places = new Map<string, number>();
  private readonly groupPlaces = new Map<string, number[]>();
  private readonly categories: Categories[] = [];
  /** Of equal ones the first is shared. */
  private readonly byPaths = new Map<string, Categories>();
  private readonly keyNumbers = new Map<string, number>();
  /** By key, as readers have a list of numbers for each, as long as the texts of its key. */
  readonly texts: string[][] = [];
  private textNumbers: Map<string, number>[] = [];
  /** The index of the first value of each product. */
  private readonly starts: number[] = [0];
  private readonly values = new Numbers();
  /** By the index of the value in `values`. */
  private readonly rows = new Map<number, string>();

  get count(): number {
    return this.ids.length;
  }

  /** `keys`: of an upload, the only ones whose values are stored. */
  constructor(keys?: ReadonlySet<string>) {
    this.only = keys;
  }

  /** Call it in the order of ids. */
  add(productId: number, product: UploadedProduct): void {
    const { identifier, groupIdentifier, name } = product;
    const { only, own, values } = this;
    const place = this.ids.push(productId) - 1;
    this.places.set(identifier, place);
    own.identifier.push(identifier);
    own.name.push(name);
    this.bytes += PRODUCT_BYTES + weigh(identifier) + weigh(name);
    this.addToGroup(groupIdentifier, place);
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

  /** Call it when all are added. */
  end(): void {
    this.textNumbers = [];
  }

  idAt(place: number): number {
    return this.ids[place] as number;
  }

  identifierAt(place: number): string {
    return this.own.identifier[place] as string;
  }

  groupAt(place: number): string {
    return this.own.groupIdentifier[place] as string;
  }

  placeOf(identifier: string): number | undefined {
    return this.places.get(identifier);
  }

  placeOfId(productId: number): number {
    const place = findEdge(this.ids, (id) => id < productId);
    if (this.ids[place] === productId) return place;
    throw new Error(`the product ${productId} is not among those that were read`);
  }

  placesOfGroup(group: string): readonly number[] {
    return this.groupPlaces.get(group) ?? [];
  }

  /** @returns the products one by one, as the same view each time, whose `row` is the index @throws search_too_long */
  *views(attributes: readonly ComparedAttribute[], budget: Budget): Generator<NumberedProduct, void> {
    const view = new NumberedProduct(attributes);
    const source = view.open(this);
    for (let place = 0; place < this.count; place += 1) {
      budget.charge();
      view.look(source, place);
      yield view;
    }
  }

  readOwn(place: number, field: OwnField): string {
    return this.own[field][place] as string;
  }

  categoriesOf(place: number): Categories {
    return this.categories[place] as Categories;
  }

  visitTexts(...[place, visit, isVisited]: Parameters<DerivedSource['visitTexts']>): void {
    const { values, rows } = this;
    const end = this.starts[place + 1] as number;
    for (let at = this.starts[place] as number; at < end; at += 2) {
      const key = values.at(at);
      if (isVisited?.[key] !== false) visit(key, values.at(at + 1), rows.get(at));
    }
  }

  textOf(key: number, text: number): string {
    return this.texts[key]?.[text] as string;
  }

  private addToGroup(group: string, place: number): void {
    const places = this.groupPlaces.getOrInsert(group, []);
    if (places.length === 0) this.bytes += weigh(group) + ENTRY_BYTES;
    // The text of the first product is shared.
    this.own.groupIdentifier.push(places.length === 0 ? group : this.groupAt(places[0] as number));
    places.push(place);
  }

  private shareCategories(categories: Categories): Categories {
    const signature = JSON.stringify(categories);
    return this.byPaths.getOrInsertComputed(signature, () => {
      this.bytes += 2 * weigh(signature) + ENTRY_BYTES;
      return categories;
    });
  }

  private numberKey(key: string): number {
    const known = this.keyNumbers.get(key);
    if (known !== undefined) return known;
    this.bytes += weigh(key) + ENTRY_BYTES;
    this.keyNumbers.set(key, this.keys.length);
    this.texts.push([]);
    this.textNumbers.push(new Map());
    return this.keys.push(key) - 1;
  }

  private numberText(key: number, text: string): number {
    const numbers = this.textNumbers[key] as Map<string, number>;
    const known = numbers.get(text);
    if (known !== undefined) return known;
    this.bytes += weigh(text);
    const texts = this.texts[key] as string[];
    numbers.set(text, texts.length);
    return texts.push(text) - 1;
  }
}

/** @returns how many precede the first one for which it does not hold */
export function findEdge<Item>(list: ArrayLike<Item>, isBefore: (item: Item) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(list[middle] as Item)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Characters outside Latin-1 make every character of a text two bytes. */
const weigh = (text: string): number => TEXT_BYTES + 2 * text.length;

/** Over all catalogs; 66,778 products with 442,510 values take 19 MiB, counted as 24. Of a larger one each preview reads its rule's sides. */
const MOST_BYTES = 64 * 1024 * 1024;
/** The author of a rule returns sooner than this. */
const IDLE_MS = 5 * 60_000;
const PAGE = 1_000;
/** Uploads named by their identifiers that are read at once: each has up to 2 MB. */
export const UPLOADS_AT_ONCE = 16;

interface CachedColumns {
  readonly version: number;
  /** Contains only products with one of these; undefined: all. */
  readonly words: UploadWords;
  /** Undefined if there are too many. */
  readonly columns: CatalogColumns | undefined;
}

/** The catalogs that rules were last tried on: reading 66,778 products takes half a second, looking at them in memory a tenth. */
export class ColumnCache {
  private readonly mostBytes: number;
  private readonly idleMs: number;
  private readonly cached = new Map<number, CachedColumns>();
  private timer: NodeJS.Timeout | undefined;

  constructor({ mostBytes = MOST_BYTES, idleMs = IDLE_MS } = {}) {
    this.mostBytes = mostBytes;
    this.idleMs = idleMs;
  }

  /**
   * @param words products without any of them may be left out
   * @returns the products of this state of the catalog; undefined if there are too many
   * @throws search_too_long
   */
  async read(
    projectId: number,
    catalog: Pick<TriedCatalog, 'version' | 'listUploads'>,
    { limit, words }: { readonly limit: Budget; readonly words?: UploadWords },
  ): Promise<CatalogColumns | undefined> {
    clearTimeout(this.timer);
    const { version } = catalog;
    const known = this.cached.get(projectId);
    this.cached.delete(projectId);
    const isPresent = known?.version === version && known.columns !== undefined;
    // Otherwise a catalog that was too large once would be read up to the limit again and again.
    const isTooLarge = known !== undefined && known.columns === undefined && covers(words, known.words);
    const isUsable = isTooLarge || (isPresent && covers(known.words, words));
    // A second question about other products is seldom the last: it reads all, so that a third reads none.
    const found = isUsable
      ? known
      : await this.readAll(catalog, { version, words: isPresent ? undefined : words }, limit);
    this.cached.set(projectId, found);
    this.dropOldest();
    this.timer = setTimeout(() => this.cached.clear(), this.idleMs).unref();
    return found.columns;
  }

  private async readAll(
    catalog: Pick<TriedCatalog, 'listUploads'>,
    state: Omit<CachedColumns, 'columns'>,
    limit: Budget,
  ): Promise<CachedColumns> {
    const columns = new CatalogColumns();
    for await (const page of readPages(catalog, state.words)) {
      for (const { productId, raw } of page) {
        limit.check();
        columns.add(productId, JSON.parse(raw));
      }
      if (columns.bytes > this.mostBytes) return { ...state, columns: undefined };
    }
    columns.end();
    return { ...state, columns };
  }

  private dropOldest(): void {
    let bytes = 0;
    for (const [projectId, { columns }] of [...this.cached].reverse()) {
      bytes += columns?.bytes ?? 0;
      if (bytes > this.mostBytes) this.cached.delete(projectId);
    }
  }
}

/** @param words products without any of them are left out */
export async function* readPages(catalog: Pick<TriedCatalog, 'listUploads'>, words?: UploadWords) {
  let page = await catalog.listUploads(0, PAGE);
  while (page.length > 0) {
    yield words === undefined ? page : page.filter(({ raw }) => hasAny(raw, words));
    page = await catalog.listUploads(page.at(-1)?.productId ?? 0, PAGE);
  }
}

/** Texts of which each relevant upload contains one; undefined: any upload may be relevant. */
export type UploadWords = readonly string[] | undefined;

/** @returns words that identify most irrelevant products without parsing them, which takes three quarters of reading */
export const listWords = (...filters: readonly Filter[]): UploadWords =>
  filters.map(wordsOf).reduce(joinWords, []);

function wordsOf(filter: Filter): UploadWords {
  if ('category' in filter) {
    const name = filter.category.at(-1);
    return name === undefined ? undefined : [JSON.stringify(name)];
  }
  if ('all' in filter) return filter.all.map(wordsOf).find((words) => words !== undefined);
  if ('any' in filter) return listWords(...filter.any);
  return undefined;
}

const joinWords = (a: UploadWords, b: UploadWords): UploadWords =>
  a === undefined || b === undefined ? undefined : [...new Set([...a, ...b])];

/** @returns whether products with any of `b` are among those with any of `a` */
const covers = (a: UploadWords, b: UploadWords): boolean =>
  a === undefined || (b?.every((word) => a.includes(word)) ?? false);

/** An escaped text may be any. */
const hasAny = (raw: string, words: readonly string[]): boolean =>
  words.some((word) => raw.includes(word)) || raw.includes('\\');

/** With fewer keys, a part of them would be some of the kinds of products; then a part of the products is taken. */
const MANY_KEYS = 1_000;

/**
 * The products on the sides of one rule, with the values that it compares. Of sides that take more than
 * `mostBytes` it has a half, a quarter and so on, chosen by the keys of products: those that match stay
 * together, so a source has the same results as in the whole catalog.
 */
export class RuleMembers {
  columns: CatalogColumns;
  /** All members in the catalog, whatever part of them the columns have. */
  readonly counts = { source: 0, target: 0 };
  private readonly memberships: Memberships;
  private readonly keys = new Set<string>();
  private every = 1;

  private constructor(bound: BoundRule) {
    this.memberships = new Memberships([{ build: TRIED_BUILD, bound }]);
    this.columns = new CatalogColumns(this.memberships.keys);
  }

  /** Reads the whole catalog. @throws search_too_long */
  static async read(
    catalog: Pick<TriedCatalog, 'listUploads' | 'findUploads'>,
    bound: BoundRule,
    { limit, mostBytes = MOST_BYTES }: { limit: Budget; mostBytes?: number },
  ): Promise<RuleMembers> {
    const members = new RuleMembers(bound);
    for await (const page of readPages(catalog, listWords(bound.rule.source, bound.rule.target))) {
      for (const upload of page) {
        limit.check();
        for (const { side } of members.add(upload)) members.counts[side] += 1;
      }
      while (members.columns.bytes > mostBytes && members.columns.count > 1)
        await members.halve(catalog, limit);
    }
    members.columns.end();
    return members;
  }

  private add({ productId, raw }: StoredUpload): readonly Membership[] {
    const product = JSON.parse(raw) as UploadedProduct;
    const found = this.memberships.of(product);
    const keys = found.flatMap((one) => one.keys);
    if (this.every === 1 && this.keys.size < MANY_KEYS) for (const key of keys) this.keys.add(key);
    const names = this.keys.size < MANY_KEYS || keys.length === 0 ? [product.identifier] : keys;
    const isChosen = names.some((name) => hash(name) % this.every === 0);
    if (found.length > 0 && isChosen) this.columns.add(productId, product);
    return found;
  }

  private async halve({ findUploads }: Pick<TriedCatalog, 'findUploads'>, limit: Budget): Promise<void> {
    const before = this.columns;
    this.every *= 2;
    this.columns = new CatalogColumns(this.memberships.keys);
    for (let place = 0; place < before.count; place += UPLOADS_AT_ONCE) {
      limit.check();
      const length = Math.min(UPLOADS_AT_ONCE, before.count - place);
      const uploads = await findUploads(Array.from({ length }, (_, at) => before.identifierAt(place + at)));
      for (const upload of uploads.toSorted((a, b) => a.productId - b.productId)) this.add(upload);
    }
  }
}

function hash(text: string): number {
  let hashed = 0;
  for (let at = 0; at < text.length; at += 1) hashed = (Math.imul(hashed, 31) + text.charCodeAt(at)) | 0;
  return hashed >>> 0;
}
