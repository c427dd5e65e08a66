import {
  type Comparable,
  type ComparedAttribute,
  type Filter,
  type ProductView,
  readComparable,
} from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { BoundRule } from '../definitions/definitions.ts';
import { type Membership, Memberships } from '../memberships/memberships.ts';
import type { StoredUpload } from './related-view.ts';
import { TRIED_BUILD, type TriedCatalog } from './relation-survey.ts';
import type { WorkLimit } from './work-limit.ts';

/** Of a text in memory beside its characters, and of an entry in a map. */
const TEXT_BYTES = 24;
const ENTRY_BYTES = 48;
/** Of a product beside its texts and values: numbers, its place by identifier and its place in its group. */
const PRODUCT_BYTES = 140;

type Paths = readonly (readonly string[])[];

/**
 * What rules look at of all products of one state of a catalog, packed: a text that repeats is there once, and a value is
 * two numbers, those of its key and its text. Products stand by id.
 */
export class CatalogColumns {
  /** About, and rather too many than too few. */
  bytes = 0;
  private readonly only: ReadonlySet<string> | undefined;
  private readonly ids: number[] = [];
  private readonly identifiers: string[] = [];
  private readonly places = new Map<string, number>();
  private readonly names: string[] = [];
  private readonly groups: string[] = [];
  private readonly groupPlaces = new Map<string, number[]>();
  private readonly paths: Paths[] = [];
  /** Of equal lists of paths the first one stands for all. */
  private readonly pathLists = new Map<string, Paths>();
  private readonly keys = new Map<string, number>();
  private readonly keyNames: string[] = [];
  private readonly texts: string[] = [];
  private numbers = new Map<string, number>();
  /** Where the values of each product begin. */
  private readonly starts: number[] = [0];
  private values = new Uint32Array(1024);
  /** By the place of the value in `values`. */
  private readonly rows = new Map<number, string>();

  get count(): number {
    return this.ids.length;
  }

  /** `keys`: of an upload, the only ones whose values are taken. */
  constructor(keys?: ReadonlySet<string>) {
    this.only = keys;
  }

  /** In the order of ids. */
  add(productId: number, product: UploadedProduct): void {
    const { identifier, groupIdentifier, name, categories } = product;
    const { only } = this;
    const attributes = only ? product.attributes.filter(({ key }) => only.has(key)) : product.attributes;
    const place = this.ids.push(productId) - 1;
    this.places.set(identifier, place);
    this.identifiers.push(identifier);
    this.names.push(name);
    this.bytes += PRODUCT_BYTES + weigh(identifier) + weigh(name);
    this.addToGroup(groupIdentifier, place);
    this.paths.push(this.sharePaths(categories.map(({ path }) => path)));
    const start = this.starts[place] as number;
    this.reserve(start, attributes.length * 2);
    for (const [at, { key, value, row }] of attributes.entries()) {
      this.values[start + at * 2] = this.numberKey(key);
      this.values[start + at * 2 + 1] = this.numberText(value);
      if (row !== undefined) this.addRow(start + at * 2, String(row));
    }
    this.starts.push(start + attributes.length * 2);
  }

  /** All are added. */
  end(): void {
    this.numbers = new Map();
  }

  idAt(place: number): number {
    return this.ids[place] as number;
  }

  identifierAt(place: number): string {
    return this.identifiers[place] as string;
  }

  groupAt(place: number): string {
    return this.groups[place] as string;
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

  /** @returns a view of one product after another; looking at the next one changes it */
  view(): MovingView {
    return new ColumnProduct(this);
  }

  pathsAt(place: number): Paths {
    return this.paths[place] as Paths;
  }

  /** @returns a function that reads the values of an attribute as it understands them */
  readerOf(attribute: ComparedAttribute): (place: number) => readonly Comparable[] {
    const { field, keys } = attribute;
    if (field === 'name') return (place) => [this.names[place] as string];
    if (field !== undefined) {
      const own = field === 'identifier' ? this.identifiers : this.groups;
      return (place) => [own[place] as string];
    }
    const needed = new Uint8Array(this.keys.size);
    for (const key of keys) {
      const number = this.keys.get(key);
      if (number !== undefined) needed[number] = 1;
    }
    const known = new Map<number, Comparable | undefined>();
    return (place) => this.readValues(place, needed, (text) => this.readText(text, attribute, known));
  }

  /** @returns the rows of these values of a product, see `readerOf` */
  rowsAt(place: number, attribute: ComparedAttribute): readonly (string | undefined)[] | undefined {
    if (this.rows.size === 0 || attribute.field !== undefined) return undefined;
    const isOf = (at: number) => {
      const key = this.keyNames[this.values[at] as number] as string;
      return attribute.keys.includes(key) && this.isValue(at, attribute);
    };
    const found: (string | undefined)[] = [];
    for (let at = this.starts[place] as number; at < (this.starts[place + 1] as number); at += 2)
      if (isOf(at)) found.push(this.rows.get(at));
    return found;
  }

  private isValue(at: number, attribute: ComparedAttribute): boolean {
    return readComparable(this.texts[this.values[at + 1] as number] as string, attribute) !== undefined;
  }

  private addRow(at: number, row: string): void {
    this.rows.set(at, row);
    this.bytes += weigh(row) + ENTRY_BYTES;
  }

  private readValues(
    place: number,
    needed: Uint8Array,
    read: (text: number) => Comparable | undefined,
  ): readonly Comparable[] {
    let found: Comparable[] | undefined;
    const end = this.starts[place + 1] as number;
    for (let at = this.starts[place] as number; at < end; at += 2) {
      if (needed[this.values[at] as number] === 0) continue;
      const value = read(this.values[at + 1] as number);
      if (value === undefined) continue;
      if (found === undefined) found = [value];
      else found.push(value);
    }
    return found ?? NOTHING;
  }

  private readText(
    text: number,
    attribute: ComparedAttribute,
    known: Map<number, Comparable | undefined>,
  ): Comparable | undefined {
    const before = known.get(text);
    if (before !== undefined || known.has(text)) return before;
    const read = readComparable(this.texts[text] as string, attribute);
    known.set(text, read);
    return read;
  }

  private addToGroup(group: string, place: number): void {
    const places = this.groupPlaces.get(group);
    // The text of the first one stands for all.
    this.groups.push(places === undefined ? group : this.groupAt(places[0] as number));
    if (places !== undefined) places.push(place);
    else {
      this.groupPlaces.set(group, [place]);
      this.bytes += weigh(group) + ENTRY_BYTES;
    }
  }

  private sharePaths(paths: Paths): Paths {
    const signature = JSON.stringify(paths);
    const known = this.pathLists.get(signature);
    if (known !== undefined) return known;
    this.pathLists.set(signature, paths);
    this.bytes += 2 * weigh(signature) + ENTRY_BYTES;
    return paths;
  }

  private numberKey(key: string): number {
    const known = this.keys.get(key);
    if (known !== undefined) return known;
    this.bytes += weigh(key) + ENTRY_BYTES;
    this.keys.set(key, this.keys.size);
    return this.keyNames.push(key) - 1;
  }

  private numberText(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.bytes += weigh(text);
    this.numbers.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }

  private reserve(start: number, more: number): void {
    this.bytes += more * this.values.BYTES_PER_ELEMENT;
    if (start + more <= this.values.length) return;
    const grown = new Uint32Array(Math.max(this.values.length * 2, start + more));
    grown.set(this.values);
    this.values = grown;
  }
}

/** @returns how many stand before the first one of which it does not hold */
export function findEdge<Item>(list: ArrayLike<Item>, isBefore: (item: Item) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(list[middle] as Item)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const NOTHING: readonly Comparable[] = [];

/** Characters outside Latin-1 make two bytes of each of them. */
const weigh = (text: string): number => TEXT_BYTES + 2 * text.length;

/** A view of the product at `place`. */
interface MovingView extends ProductView {
  place: number;
}

/** Most products are on no side: to look at them makes nothing that memory has to be cleared of. */
class ColumnProduct implements MovingView {
  place = 0;
  private readonly columns: CatalogColumns;
  private readonly readers = new Map<ComparedAttribute, (place: number) => readonly Comparable[]>();

  constructor(columns: CatalogColumns) {
    this.columns = columns;
  }

  get identifier(): string {
    return this.columns.identifierAt(this.place);
  }

  get categories(): Paths {
    return this.columns.pathsAt(this.place);
  }

  valuesOf(attribute: ComparedAttribute): readonly Comparable[] {
    let read = this.readers.get(attribute);
    if (read === undefined) {
      read = this.columns.readerOf(attribute);
      this.readers.set(attribute, read);
    }
    return read(this.place);
  }

  rowsOf(attribute: ComparedAttribute): readonly (string | undefined)[] | undefined {
    return this.columns.rowsAt(this.place, attribute);
  }
}

/** Over all catalogs; 66,778 products with 442,510 values take 19 MiB, and count as 24. Of a larger one each preview reads the sides of its rule. */
const MOST_BYTES = 64 * 1024 * 1024;
/** An author of a rule comes back sooner. */
const IDLE_MS = 5 * 60_000;
const PAGE = 1_000;

interface CachedColumns {
  readonly version: number;
  /** Only products with one of these are there; undefined: all are. */
  readonly words: UploadWords;
  /** Undefined: there is too much. */
  readonly columns: CatalogColumns | undefined;
}

/** The catalogs that rules were tried on last: to read 66,778 products takes half a second, to look at them in memory a tenth. */
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
   * @param words  products without any of them may be left out
   * @returns the products of this state of the catalog; undefined when there is too much of them
   * @throws search_too_long
   */
  async read(
    projectId: number,
    catalog: Pick<TriedCatalog, 'version' | 'listUploads'>,
    { limit, words }: { readonly limit: WorkLimit; readonly words?: UploadWords },
  ): Promise<CatalogColumns | undefined> {
    clearTimeout(this.timer);
    const { version } = catalog;
    const known = this.cached.get(projectId);
    this.cached.delete(projectId);
    const isPresent = known?.version === version && known.columns !== undefined;
    // One that was too large once would be read to the bound for nothing again and again.
    const isTooLarge = known !== undefined && known.columns === undefined && covers(words, known.words);
    const isUsable = isTooLarge || (isPresent && covers(known.words, words));
    // A second question about other products is seldom the last one: it reads all, so that a third reads none.
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
    limit: WorkLimit,
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

/** @param words  products without any of them are left out */
export async function* readPages(
  catalog: Pick<TriedCatalog, 'listUploads'>,
  words?: UploadWords,
): AsyncGenerator<readonly StoredUpload[]> {
  let page = await catalog.listUploads(0, PAGE);
  while (page.length > 0) {
    yield words === undefined ? page : page.filter(({ raw }) => hasAny(raw, words));
    page = await catalog.listUploads(page.at(-1)?.productId ?? 0, PAGE);
  }
}

/** Texts of which each upload that is meant has one; undefined: any upload may be meant. */
export type UploadWords = readonly string[] | undefined;

/** @returns what tells most products that no filter takes without parsing them, which takes three quarters of reading them */
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

/** A text that is escaped may be any. */
const hasAny = (raw: string, words: readonly string[]): boolean =>
  words.some((word) => raw.includes(word)) || raw.includes('\\');

/** With fewer keys a part of them would be a part of the kinds of products; then a part of the products is taken. */
const MANY_KEYS = 1_000;

/**
 * The products on the sides of one rule, with the values that it compares. Of sides that take more than `mostBytes` they
 * are a half, a quarter and so on, by the keys of products: those that match stay together, so a source has the same
 * results as in all of the catalog.
 */
export class RuleMembers {
  columns: CatalogColumns;
  /** All members of the catalog, whatever part of them the columns have. */
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
    { limit, mostBytes = MOST_BYTES }: { limit: WorkLimit; mostBytes?: number },
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

  private async halve({ findUploads }: Pick<TriedCatalog, 'findUploads'>, limit: WorkLimit): Promise<void> {
    const before = this.columns;
    this.every *= 2;
    this.columns = new CatalogColumns(this.memberships.keys);
    for (let place = 0; place < before.count; place += PAGE) {
      limit.check();
      const length = Math.min(PAGE, before.count - place);
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
