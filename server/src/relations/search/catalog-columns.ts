import {
  type Comparable,
  type ComparedAttribute,
  type ProductView,
  readComparable,
  type UploadedProduct,
} from '../../catalog/catalog.ts';

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
  private readonly texts: string[] = [];
  private numbers = new Map<string, number>();
  /** Where the values of each product begin. */
  private readonly starts: number[] = [0];
  private values = new Uint32Array(1024);

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
    for (const [at, { key, value }] of attributes.entries()) {
      this.values[start + at * 2] = this.numberKey(key);
      this.values[start + at * 2 + 1] = this.numberText(value);
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
    const wanted = new Uint8Array(this.keys.size);
    for (const key of keys) {
      const number = this.keys.get(key);
      if (number !== undefined) wanted[number] = 1;
    }
    const known = new Map<number, Comparable | undefined>();
    return (place) => this.readValues(place, wanted, (text) => this.readText(text, attribute, known));
  }

  private readValues(
    place: number,
    wanted: Uint8Array,
    read: (text: number) => Comparable | undefined,
  ): readonly Comparable[] {
    let found: Comparable[] | undefined;
    const end = this.starts[place + 1] as number;
    for (let at = this.starts[place] as number; at < end; at += 2) {
      if (wanted[this.values[at] as number] === 0) continue;
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
    return this.keys.size - 1;
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
export function findEdge<Item>(list: readonly Item[], isBefore: (item: Item) => boolean): number {
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
export interface MovingView extends ProductView {
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
}
