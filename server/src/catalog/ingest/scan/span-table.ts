import { UNCERTAIN } from './readers.ts';

/** Entries that one lookup may pass before it gives up: bytes can be chosen so that all fall on one place. */
const MOST_PROBES = 64;
const MOST_SLOTS = 32_768;
/** The shortest product, attribute or category takes more bytes. */
const BYTES_PER_SLOT = 8;

/** Numbers the distinct parts of a body from 0 on. It makes no strings: a Map of them takes five times as long. */
export class SpanTable {
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  private readonly bytes: Uint8Array;
  /** The number of a part and 1, at the place of its hash. */
  private readonly slots: Int32Array;
  private readonly mask: number;

  constructor(bytes: Uint8Array) {
    const slots = Math.min(Math.max(bytes.length / BYTES_PER_SLOT, 16), MOST_SLOTS);
    this.bytes = bytes;
    this.slots = new Int32Array(2 ** Math.ceil(Math.log2(slots)));
    this.mask = this.slots.length - 1;
  }

  get size(): number {
    return this.starts.length;
  }

  /** @returns the number of this part; UNCERTAIN when there are too many or they are too much alike */
  add(start: number, end: number): number {
    let slot = hashSpan(this.bytes, start, end) & this.mask;
    for (let probe = 0; probe < MOST_PROBES; probe += 1) {
      const number = (this.slots[slot] as number) - 1;
      if (number < 0) return this.insert(slot, start, end);
      if (this.isSame(number, start, end)) return number;
      slot = (slot + 1) & this.mask;
    }
    return UNCERTAIN;
  }

  private insert(slot: number, start: number, end: number): number {
    if (this.size * 2 > this.mask) return UNCERTAIN;
    this.starts.push(start);
    this.ends.push(end);
    this.slots[slot] = this.size;
    return this.size - 1;
  }

  private isSame(number: number, start: number, end: number): boolean {
    const { bytes } = this;
    const other = this.starts[number] as number;
    if ((this.ends[number] as number) - other !== end - start) return false;
    for (let at = start; at < end; at += 1) {
      if (bytes[at] !== bytes[other + at - start]) return false;
    }
    return true;
  }
}

/** Numbers distinct texts from 0 on. */
export class TextNumbers {
  readonly texts: string[] = [];
  private readonly numbers = new Map<string, number>();

  add(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.numbers.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }
}

/**
 * Numbers the distinct texts of an attribute that lie in a body; one that is written in two ways has two numbers. Texts are compared
 * with copies that lie close together: those in the body are all over the memory, which takes three times as long.
 */
export class SpanNumbers {
  private readonly bytes: Buffer;
  private copies = Buffer.allocUnsafe(1_024);
  /** By number, where its copy ends. */
  private readonly ends: number[] = [];
  private readonly hashes: number[] = [];
  /** The number of a text and 1, at the place of its hash; half of them are free. */
  private slots = new Int32Array(64);
  /** Of those that the slots do not take. */
  private readonly others = new TextNumbers();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  add(start: number, end: number): number {
    const { slots, hashes } = this;
    const hash = hashSpan(this.bytes, start, end);
    const mask = slots.length - 1;
    for (let probe = 0; probe < MOST_PROBES; probe += 1) {
      const slot = (hash + probe) & mask;
      const number = (slots[slot] as number) - 1;
      if (number < 0) return this.insert(start, end, { slot, hash });
      if (hashes[number] === hash && this.isSame(number, start, end)) return number;
    }
    return FIRST_OTHER + this.others.add(this.bytes.toString('utf8', start, end));
  }

  /** @returns as it is written */
  textOf(number: number): string {
    if (number >= FIRST_OTHER) return this.others.texts[number - FIRST_OTHER] as string;
    return this.copies.toString('utf8', this.ends[number - 1] ?? 0, this.ends[number]);
  }

  private isSame(number: number, start: number, end: number): boolean {
    const { bytes, copies, ends } = this;
    const first = number === 0 ? 0 : (ends[number - 1] as number);
    if ((ends[number] as number) - first !== end - start) return false;
    for (let at = start; at < end; at += 1) if (bytes[at] !== copies[first + at - start]) return false;
    return true;
  }

  private insert(start: number, end: number, at: { slot: number; hash: number }): number {
    const number = this.ends.length;
    const first = this.ends[number - 1] ?? 0;
    const needed = first + end - start;
    if (needed > this.copies.length) this.copies = Buffer.concat([this.copies], 2 * needed);
    this.bytes.copy(this.copies, first, start, end);
    this.ends.push(needed);
    this.hashes.push(at.hash);
    this.slots[at.slot] = number + 1;
    if (2 * this.ends.length > this.slots.length) this.grow();
    return number;
  }

  private grow(): void {
    const slots = new Int32Array(4 * this.slots.length);
    for (const [number, hash] of this.hashes.entries()) {
      let slot = hash & (slots.length - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
      slots[slot] = number + 1;
    }
    this.slots = slots;
  }
}

/** Above the numbers of texts in slots. */
const FIRST_OTHER = 2 ** 20;

/** FNV-1a. */
function hashSpan(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}

/** Whole numbers without an object for each; it grows by doubling. */
export class IntList {
  length = 0;
  private ints = new Int32Array(256);

  at(index: number): number {
    return this.ints[index] as number;
  }

  set(index: number, value: number): void {
    this.ints[index] = value;
  }

  addThree(a: number, b: number, c: number): void {
    const start = this.reserve(3);
    this.ints[start] = a;
    this.ints[start + 1] = b;
    this.ints[start + 2] = c;
  }

  /** @returns the index of the first of them */
  reserve(count: number): number {
    const start = this.length;
    this.length += count;
    if (this.length > this.ints.length) {
      const larger = new Int32Array(this.ints.length * 2);
      larger.set(this.ints);
      this.ints = larger;
    }
    return start;
  }
}
