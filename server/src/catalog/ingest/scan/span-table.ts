/** Entries that a lookup may pass before it gives up: bytes can be chosen so that all collide. */
const MOST_PROBES = 64;

/** Numbers distinct texts from 0. */
export class TextNumbers {
  readonly texts: string[] = [];
  private readonly numbers = new Map<string, number>();

  /** Called for every value that is read: `getOrInsertComputed`, with a new function each time, took 20 ns, this takes 6. */
  add(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.numbers.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }
}

/**
 * Numbers the distinct spans of a body from 0; two spellings get two numbers. It makes no strings, as a Map of them takes five
 * times as long. Spans are compared with adjacent copies: comparing those scattered over the body takes three times as long.
 */
export class SpanNumbers {
  private readonly bytes: Buffer;
  private copies = Buffer.allocUnsafe(1_024);
  /** By number, the start of its copy, which is the end of the previous one. */
  private readonly starts = [0];
  private readonly hashes: number[] = [];
  /** The number of a span plus 1, by its hash; half of the slots are free. */
  private slots = new Int32Array(256);
  /** Spans that the slots do not take. */
  private readonly others = new TextNumbers();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get size(): number {
    return this.hashes.length + this.others.texts.length;
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

  /** @returns the span as written */
  textOf(number: number): string {
    if (number >= FIRST_OTHER) return this.others.texts[number - FIRST_OTHER] as string;
    return this.copies.toString('utf8', this.starts[number], this.starts[number + 1]);
  }

  private isSame(number: number, start: number, end: number): boolean {
    const { bytes, copies, starts } = this;
    const first = starts[number] as number;
    if ((starts[number + 1] as number) - first !== end - start) return false;
    for (let at = start; at < end; at += 1) if (bytes[at] !== copies[first + at - start]) return false;
    return true;
  }

  private insert(start: number, end: number, { slot, hash }: { slot: number; hash: number }): number {
    const { bytes, starts, hashes } = this;
    const number = hashes.length;
    const first = starts[number] as number;
    const needed = first + end - start;
    if (needed > this.copies.length) this.copies = Buffer.concat([this.copies], 2 * needed);
    const { copies } = this;
    for (let at = start; at < end; at += 1) copies[first + at - start] = bytes[at] as number;
    starts.push(needed);
    hashes.push(hash);
    this.slots[slot] = number + 1;
    if (2 * hashes.length > this.slots.length) this.grow();
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

/** Above the numbers of spans in slots. */
const FIRST_OTHER = 2 ** 20;

/** FNV-1a. */
function hashSpan(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}

/** Integers without an object for each; grows by doubling. */
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
