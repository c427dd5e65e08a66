import type { ProductPacker } from '../../catalog/products/documents/documents.ts';

/**
 * Numbers for values, for combinations of values, and for the bytes that represent them in the index: most
 * repeat, so a product is read, encoded and sorted by numbers that were made once.
 */

/** The number of a text that is no value of an attribute, or of bytes that a column does not have. */
export const NONE = -1;
/** Not looked up yet. */
export const UNKNOWN = -2;

/** What a number of a dictionary takes, with a short text. */
const NUMBER_BYTES = 150;

/** @returns how many numbers of short texts take as much as that of a value */
export const weigh = (value: string | number): number =>
  typeof value === 'number' ? 1 : 1 + Math.floor(value.length / NUMBER_BYTES);

/** Integers by index; grows by doubling. */
export class Numbers {
  length = 0;
  private ints: Int32Array;
  private readonly filling: number;

  /** @param filling the value where nothing was set */
  constructor(filling = 0, places = 64) {
    this.filling = filling;
    this.ints = new Int32Array(places).fill(filling);
  }

  /** NONE has no index. */
  at(place: number): number {
    return place >= 0 && place < this.ints.length ? (this.ints[place] as number) : this.filling;
  }

  set(place: number, value: number): void {
    if (place >= this.ints.length) this.grow(place);
    this.ints[place] = value;
  }

  push(value: number): void {
    this.set(this.length, value);
    this.length += 1;
  }

  toArray(): Uint32Array<ArrayBuffer> {
    return Uint32Array.from(this.ints.subarray(0, this.length));
  }

  private grow(place: number): void {
    const before = this.ints;
    this.ints = new Int32Array(Math.max(place + 1, 2 * before.length)).fill(this.filling, before.length);
    this.ints.set(before);
  }
}

/** Larger than any number. */
const RADIX = 2 ** 26;

/** The results for lists of numbers, all of one length. */
export class Tuples {
  private readonly levels: Map<number, number>[] = [];
  private readonly made = new Numbers(UNKNOWN);
  private last = 0;

  /** @returns UNKNOWN for a new list: call `keep` next */
  find(numbers: readonly number[]): number {
    let node = numbers[0] ?? 0;
    for (let at = 1; at < numbers.length; at += 1) {
      const level = this.levels[at] ?? new Map<number, number>();
      this.levels[at] = level;
      const pair = node * RADIX + (numbers[at] as number);
      node = level.get(pair) ?? level.size;
      if (node === level.size) level.set(pair, node);
    }
    this.last = node;
    return this.made.at(node);
  }

  /** @returns the number */
  keep(number: number): number {
    this.made.set(this.last, number);
    return number;
  }
}

/** Bytes of the index by number, equal ones with the same number. */
export class Encodings {
  size = 0;
  /** The numbers that a batch uses, see `use`. */
  readonly used: number[] = [];
  /** For each of them its place among all that the batch uses, once they are listed; 0 if not used. */
  readonly places = new Numbers();
  /** The first of these places. */
  first = 0;
  /** One character per byte, so that they sort like the bytes. */
  readonly bytes: string[] = [];
  /** Their base64 as JSON, each from where the previous one ends. */
  private readonly quoted = new Numbers();
  private texts = Buffer.alloc(1_024);
  private readonly known = new Map<string, number>();

  add(encoded: Buffer): number {
    const bytes = encoded.toString('latin1');
    const known = this.known.get(bytes);
    if (known !== undefined) return known;
    const number = this.bytes.push(bytes) - 1;
    const start = this.quoted.at(number);
    const text = `"${encoded.toString('base64')}"`;
    const end = start + text.length;
    if (end > this.texts.length) this.texts = Buffer.concat([this.texts], 2 * end);
    this.texts.write(text, start, 'latin1');
    this.quoted.set(number + 1, end);
    this.known.set(bytes, number);
    this.size += weigh(text);
    return number;
  }

  use(number: number): void {
    if (number === NONE || this.places.at(number) > 0) return;
    this.places.set(number, 1);
    this.used.push(number);
  }

  /** Gives used ones places from `first` on, in byte order. @returns the bytes */
  listUsed(first: number): string[] {
    const { bytes, used } = this;
    this.first = first;
    used.sort((a, b) => ((bytes[a] as string) < (bytes[b] as string) ? -1 : 1));
    for (const [at, number] of used.entries()) this.places.set(number, first + at);
    return used.map((number) => bytes[number] as string);
  }

  forgetUsed(): void {
    for (const number of this.used) this.places.set(number, 0);
    this.used.length = 0;
  }

  /** @returns the form used in `Membership` */
  base64(number: number): string {
    return this.texts.toString('latin1', this.quoted.at(number) + 1, this.quoted.at(number + 1) - 1);
  }

  /** Adds it as JSON, without a string. */
  quote(number: number, into: ProductPacker): void {
    into.addBytes(this.texts, this.quoted.at(number), this.quoted.at(number + 1));
  }
}
