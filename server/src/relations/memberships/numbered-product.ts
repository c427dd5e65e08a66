import type { DerivedFrom, DerivedSource } from '../../catalog/catalog.ts';
import {
  type Comparable,
  type ComparedAttribute,
  type OwnField,
  type ProductView,
  readComparable,
} from '../../catalog/filters/filters.ts';
import { encodeValue } from './index-key.ts';
import { type Encodings, NONE, Numbers, UNKNOWN, weigh } from './numbering.ts';

export const NO_NUMBERS: readonly number[] = [];

/**
 * An attribute with its read values and the values of the current product. Equal values have the same number.
 */
export class ReadAttribute {
  readonly values: Comparable[] = [];
  /** Counts values, texts and the looked-up numbers of texts. */
  size = 0;
  present = NO_NUMBERS;
  /** The rows of the present values by position; undefined if no value has a row. */
  rows: (string | undefined)[] | undefined;
  /**
   * By number, a list of only that number and a list of only its value, because nearly all products have one
   * value.
   */
  private readonly alone: (readonly number[])[] = [];
  private readonly valuesAlone: (readonly Comparable[])[] = [];
  private readonly encoded = new Numbers(UNKNOWN);
  private readonly attribute: ComparedAttribute;
  private readonly byText = new Map<string, number>();
  private readonly byValue = new Map<Comparable, number>();

  constructor(attribute: ComparedAttribute) {
    this.attribute = attribute;
  }

  /** @returns NONE for a text that makes no fact */
  read(text: string): number {
    const cached = this.byText.get(text);
    if (cached !== undefined) return cached;
    const value = readComparable(text, this.attribute);
    const number = value === undefined ? NONE : this.numberOf(value);
    this.byText.set(text, number);
    this.size += weigh(text);
    return number;
  }

  numberOf(value: Comparable): number {
    const cached = this.byValue.get(value);
    if (cached !== undefined) return cached;
    const number = this.values.push(value) - 1;
    this.alone.push([number]);
    this.valuesAlone.push([value]);
    this.byValue.set(value, number);
    this.size += weigh(value);
    return number;
  }

  /** @param encodings the same object in every call @returns the number of the encoded value */
  encode(number: number, encodings: Encodings): number {
    const cached = this.encoded.get(number);
    if (cached !== UNKNOWN) return cached;
    const encoded = encodings.add(encodeValue(this.values[number] as Comparable));
    this.encoded.set(number, encoded);
    return encoded;
  }

  clear(): void {
    this.present = NO_NUMBERS;
    this.rows = undefined;
  }

  /** @param number NONE adds nothing */
  add(number: number, row: string | number | undefined): void {
    if (number === NONE) return;
    const { present } = this;
    this.present = present.length === 0 ? (this.alone[number] as readonly number[]) : [...present, number];
    if (row === undefined) return;
    this.rows ??= [];
    this.rows[present.length] = String(row);
  }

  /** @returns the values of the current product */
  list(): readonly Comparable[] {
    const { present, values, valuesAlone } = this;
    if (present.length === 1) return valuesAlone[present[0] as number] as readonly Comparable[];
    return present.map((number) => values[number] as Comparable);
  }

  /** @returns the number of the value that `choose` returns */
  pick(choose: (values: readonly Comparable[]) => Comparable | undefined): number | undefined {
    const value = choose(this.list());
    return value === undefined ? undefined : this.numberOf(value);
  }
}

/** Products that are read by their rows. */
export interface LookedAt extends Pick<DerivedSource, 'readOwn' | 'categoriesOf'> {
  /** Adds the values of a product to its attributes. */
  readTexts(row: number, read: ReadAttributes): void;
  /**
   * @returns what to read for these attributes. It may include more, because attributes that share a key are
   * read together.
   */
  choose(attributes: ReadonlySet<ReadAttribute>): ReadAttributes;
}

/** An attribute, with the numbers of its values by the numbers of the texts of one key. */
type Reader = Readonly<{ read: ReadAttribute; numbers: Numbers }>;

/** The attributes and keys that are read from a product. */
interface ReadAttributes {
  readonly attributes: readonly ReadAttribute[];
  /** Indexed by the number of the key; undefined means all keys. */
  readonly isVisited?: readonly boolean[];
}

/** The current product in the form for filters and rules. Each `look` changes it to another product. */
export class NumberedProduct implements ProductView {
  row = 0;
  /** Whether more than the categories of the product were read. */
  isInspected = false;
  readonly attributes: ReadonlyMap<ComparedAttribute, ReadAttribute>;
  readonly byKey = new Map<string, ReadAttribute[]>();
  readonly keys: ReadonlySet<string>;
  private readonly own: readonly (readonly [ReadAttribute, OwnField])[];
  private readonly all: ReadAttributes;
  private readonly readers = new WeakMap<object, Map<string, Reader[]>>();
  private source: LookedAt | undefined;
  private chosen: ReadAttributes;
  private isRead = false;

  constructor(attributes: Iterable<ComparedAttribute>) {
    this.attributes = new Map(
      Array.from(attributes, (attribute) => [attribute, new ReadAttribute(attribute)]),
    );
    this.all = { attributes: [...this.attributes.values()] };
    this.chosen = this.all;
    const all = [...this.attributes];
    this.own = all.flatMap(([{ field }, attribute]) =>
      field === undefined ? [] : [[attribute, field] as const],
    );
    for (const [{ keys }, readAttribute] of all)
      for (const key of keys) this.byKey.set(key, [...(this.byKey.get(key) ?? []), readAttribute]);
    this.keys = new Set(this.byKey.keys());
  }

  /** @returns the products of a source. The values of its texts are cached by the numbers of the texts. */
  open(source: DerivedSource): LookedAt {
    const readersByKey = this.readers.getOrInsertComputed(source.texts, () => new Map());
    const create = (read: ReadAttribute): Reader => ({ read, numbers: new Numbers(UNKNOWN) });
    const readers = source.keys.map((key) =>
      readersByKey.getOrInsertComputed(key, () => (this.byKey.get(key) ?? []).map(create)),
    );
    const visit = (key: number, text: number, row: string | number | undefined) => {
      for (const { read, numbers } of readers[key] as readonly Reader[]) {
        let number = numbers.get(text);
        if (number === UNKNOWN) {
          const spelled = source.textOf(key, text);
          number = read.read(spelled);
          read.size += weigh(spelled);
          numbers.set(text, number);
        }
        read.add(number, row);
      }
    };
    return {
      readOwn: (row, field) => source.readOwn(row, field),
      categoriesOf: (row) => source.categoriesOf(row),
      readTexts: (row, { isVisited }) => source.visitTexts(row, visit, isVisited),
      choose(attributes) {
        const isVisited = readers.map((all) => all.some(({ read }) => attributes.has(read)));
        const visited = readers.filter((_, key) => isVisited[key]).flat();
        return { attributes: [...new Set([...attributes, ...visited.map(({ read }) => read)])], isVisited };
      },
    };
  }

  openOne(product: DerivedFrom): LookedAt {
    return {
      readOwn: (_, field) => product[field],
      categoriesOf: () => product.categories,
      readTexts: () => {
        for (const { key, value, row } of product.attributes)
          for (const attribute of this.byKey.get(key) ?? []) attribute.add(attribute.read(value), row);
      },
      choose: () => this.all,
    };
  }

  look(source: LookedAt, row: number): void {
    this.source = source;
    this.row = row;
    this.isRead = false;
    this.chosen = this.all;
  }

  /** Restricts which values of the current product are read. The restriction ends with the next product. */
  choose(read: ReadAttributes): void {
    this.chosen = read;
  }

  /** Reads the values only when they are first needed, because most products are on no side. */
  read(): void {
    if (this.isRead) return;
    this.isRead = true;
    for (const attribute of this.chosen.attributes) attribute.clear();
    for (const [readAttribute, field] of this.own) {
      readAttribute.clear();
      readAttribute.add(readAttribute.numberOf(this.source?.readOwn(this.row, field) ?? ''), undefined);
    }
    this.source?.readTexts(this.row, this.chosen);
  }

  get identifier(): string {
    this.isInspected = true;
    return this.source?.readOwn(this.row, 'identifier') ?? '';
  }

  get categories(): readonly (readonly string[])[] {
    return (this.source?.categoriesOf(this.row) ?? []).map(({ path }) => path);
  }

  valuesOf(attribute: ComparedAttribute): readonly Comparable[] {
    this.isInspected = true;
    this.read();
    return this.attributes.get(attribute)?.list() ?? NO_NUMBERS;
  }

  rowsOf(attribute: ComparedAttribute): readonly (string | undefined)[] | undefined {
    this.read();
    return this.attributes.get(attribute)?.rows;
  }
}
