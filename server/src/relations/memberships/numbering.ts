import type { ProductPacker } from '../../catalog/products/documents/documents.ts';

/**
 * Numbers for values, for combinations of values, and for their bytes in the index. Most of them repeat, so
 * products are read, encoded and sorted by numbers.
 */

/** Stands for a text that is not a value of the attribute, or for bytes that a column does not have. */
export const NONE = -1;
/** Stands for a number that has not been looked up. */
export const UNKNOWN = -2;

/** The memory of a dictionary entry: a number with a short text. */
const NUMBER_BYTES = 150;

/** @returns the memory of a value, in multiples of an entry with a short text */
export const weigh = (value: string | number): number =>
  typeof value === 'number' ? 1 : 1 + Math.floor(value.length / NUMBER_BYTES);

/** A list of integers that grows by doubling. */
export class Numbers {
  length = 0;
  private ints: Int32Array;
  private readonly filling: number;

  /** @param filling the value of positions that were not set */
  constructor(filling = 0, size = 64) {
    this.filling = filling;
    this.ints = new Int32Array(size).fill(filling);
  }

  /** @returns the filling for NONE, which is not a position */
  get(index: number): number {
    return index >= 0 && index < this.ints.length ? (this.ints[index] as number) : this.filling;
  }

  set(index: number, value: number): void {
    if (index >= this.ints.length) this.grow(index);
    this.ints[index] = value;
  }

  push(value: number): void {
    this.set(this.length, value);
    this.length += 1;
  }

  toArray(): Uint32Array<ArrayBuffer> {
    return Uint32Array.from(this.ints.subarray(0, this.length));
  }

  private grow(index: number): void {
    const before = this.ints;
    this.ints = new Int32Array(Math.max(index + 1, 2 * before.length)).fill(this.filling, before.length);
    this.ints.set(before);
  }
}

/** Greater than any number, so that a pair of numbers is one number. */
const RADIX = 2 ** 26;

/** A result for each list of numbers. All lists have the same length. */
export class Tuples {
  private readonly levels: Map<number, number>[] = [];
  private readonly results = new Numbers(UNKNOWN);
  private last = 0;

  /** @returns UNKNOWN for a new list; the caller then calls `keep` */
  find(numbers: readonly number[]): number {
    let node = numbers[0] ?? 0;
    for (let index = 1; index < numbers.length; index += 1) {
      const level = this.levels[index] ?? new Map<number, number>();
      this.levels[index] = level;
      const pair = node * RADIX + (numbers[index] as number);
      node = level.get(pair) ?? level.size;
      if (node === level.size) level.set(pair, node);
    }
    this.last = node;
    return this.results.get(node);
  }

  /** @returns `number`, which is now the result of the last list */
  keep(number: number): number {
    this.results.set(this.last, number);
    return number;
  }
}

/** Bytes of the index with their numbers. Equal bytes have the same number. */
export class Encodings {
  size = 0;
  /** The numbers that a batch uses, see `use`. */
  readonly used: number[] = [];
  /** The position of each number among all that the batch uses, after `listUsed`; 0 if it is not used. */
  readonly positions = new Numbers();
  /** The first of these positions. */
  first = 0;
  /** One character for each byte, so that the texts sort like the bytes. */
  readonly bytes: string[] = [];
  /** Where the JSON text of each number begins in `texts`; it ends where the next one begins. */
  private readonly quoted = new Numbers();
  private texts = Buffer.alloc(1_024);
  private readonly numbers = new Map<string, number>();

  add(encoded: Buffer): number {
    const bytes = encoded.toString('latin1');
    const present = this.numbers.get(bytes);
    if (present !== undefined) return present;
    const number = this.bytes.push(bytes) - 1;
    const start = this.quoted.get(number);
    const text = `"${encoded.toString('base64')}"`;
    const end = start + text.length;
    if (end > this.texts.length) this.texts = Buffer.concat([this.texts], 2 * end);
    this.texts.write(text, start, 'latin1');
    this.quoted.set(number + 1, end);
    this.numbers.set(bytes, number);
    this.size += weigh(text);
    return number;
  }

  use(number: number): void {
    if (number === NONE || this.positions.get(number) > 0) return;
    this.positions.set(number, 1);
    this.used.push(number);
  }

  /** Gives the used numbers positions from `first`, in byte order. @returns their bytes */
  listUsed(first: number): string[] {
    const { bytes, used } = this;
    this.first = first;
    used.sort((a, b) => ((bytes[a] as string) < (bytes[b] as string) ? -1 : 1));
    for (const [index, number] of used.entries()) this.positions.set(number, first + index);
    return used.map((number) => bytes[number] as string);
  }

  forgetUsed(): void {
    for (const number of this.used) this.positions.set(number, 0);
    this.used.length = 0;
  }

  /** @returns the base64 text that a `Membership` has */
  base64(number: number): string {
    return this.texts.toString('latin1', this.quoted.get(number) + 1, this.quoted.get(number + 1) - 1);
  }

  /** Adds the base64 text with its quotes, without creating a string. */
  quote(number: number, into: ProductPacker): void {
    into.addBytes(this.texts, this.quoted.get(number), this.quoted.get(number + 1));
  }
}
