/** How many slots a lookup tries before it stops, because a caller can choose bytes that all collide. */
const MOST_PROBES = 64;
const NO_SLOT = -1;

/** Numbers distinct texts from 0. */
export class TextNumbers {
  readonly texts: string[] = [];
  private readonly numbers = new Map<string, number>();

  /**
   * Runs for every value that is read. It takes 6 ns, whereas `getOrInsertComputed` takes 20 ns because it needs a
   * new function each time.
   */
  add(text: string): number {
    const existing = this.numbers.get(text);
    if (existing !== undefined) return existing;
    this.numbers.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }
}

/**
 * Numbers the distinct spans of bodies from 0; two spellings get two numbers. It makes no strings, because a Map of
 * strings takes five times as long. It compares spans with adjacent copies, because comparing spans that are
 * scattered over a body takes three times as long.
 */
export class SpanNumbers {
  private copies = Buffer.allocUnsafe(1_024);
  /** The start of each copy, by number. It is the end of the previous copy. */
  private readonly starts = [0];
  private readonly hashes: number[] = [];
  /** The number of a span plus 1, by its hash. Half of the slots are free. */
  private slots = new Int32Array(256);
  /** The numbers of the spans that found no free slot. */
  private readonly others = new Map<string, number>();

  get size(): number {
    return this.hashes.length;
  }

  /** Whether so many spans collide that a caller must have chosen them for this. */
  get isCrowded(): boolean {
    return this.others.size > 0;
  }

  add(bytes: Buffer, start: number, end: number): number {
    const { slots, hashes, starts } = this;
    const hash = hashSpan(bytes, start, end);
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (let probe = 0; probe < MOST_PROBES; probe += 1) {
      const number = (slots[slot] as number) - 1;
      if (number < 0) return this.insert(bytes, start, { end, hash, slot });
      const isAsLong = (starts[number + 1] as number) - (starts[number] as number) === end - start;
      if (isAsLong && hashes[number] === hash && this.isAt(bytes, start, number)) return number;
      slot = (slot + 1) & mask;
    }
    return this.insert(bytes, start, { end, hash, slot: NO_SLOT });
  }

  /** @returns the span as it was written in the body */
  textOf(number: number): string {
    return this.copies.toString('utf8', this.starts[number], this.starts[number + 1]);
  }

  private isAt(bytes: Buffer, start: number, number: number): boolean {
    const { copies, starts } = this;
    const [first, end] = [starts[number] as number, starts[number + 1] as number];
    for (let offset = first; offset < end; offset += 1)
      if (bytes[start + offset - first] !== copies[offset]) return false;
    return true;
  }

  private insert(bytes: Buffer, start: number, { end, hash, slot }: Record<'end' | 'hash' | 'slot', number>) {
    const { starts, hashes, others } = this;
    const text = slot === NO_SLOT || this.isCrowded ? bytes.toString('utf8', start, end) : '';
    const existing = others.get(text);
    if (existing !== undefined) return existing;
    const number = hashes.length;
    const first = starts[number] as number;
    const needed = first + end - start;
    if (needed > this.copies.length) this.copies = Buffer.concat([this.copies], 2 * needed);
    const { copies } = this;
    for (let offset = start; offset < end; offset += 1)
      copies[first + offset - start] = bytes[offset] as number;
    starts.push(needed);
    hashes.push(hash);
    if (slot === NO_SLOT) others.set(text, number);
    else this.slots[slot] = number + 1;
    if (2 * hashes.length > this.slots.length) this.grow();
    return number;
  }

  private grow(): void {
    const slots = new Int32Array(4 * this.slots.length);
    for (const taken of this.slots.filter(Number)) {
      let slot = (this.hashes[taken - 1] as number) & (slots.length - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
      slots[slot] = taken;
    }
    this.slots = slots;
  }
}

/** FNV-1a. */
function hashSpan(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let offset = start; offset < end; offset += 1)
    hash = Math.imul(hash ^ (bytes[offset] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}

/** A list of integers without an object for each integer; it grows by doubling. */
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

  /** @returns the index of the first reserved integer */
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
