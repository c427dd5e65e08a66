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
    let slot = this.hash(start, end) & this.mask;
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

  /** FNV-1a. */
  private hash(start: number, end: number): number {
    const { bytes } = this;
    let hash = 0x811c9dc5;
    for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
    return hash ^ (hash >>> 15);
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
