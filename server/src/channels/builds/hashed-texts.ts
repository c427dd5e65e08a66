/** The first size of the table. The table doubles its size when it is half full. */
const FIRST_PLACES = 1_024;

/**
 * A set of texts that stores 64 bits of a hash of each text. A million texts take 16 MB; the texts themselves would
 * take 100 MB. In one of ten million catalogs, two texts of a million have the same bits.
 */
export class HashedTexts {
  #low = new Uint32Array(FIRST_PLACES);
  #high = new Uint32Array(FIRST_PLACES);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(text: string): void {
    if (this.#size * 2 >= this.#low.length) this.#grow();
    this.#put(...hash(text));
  }

  has(text: string): boolean {
    return this.#low[this.#placeOf(...hash(text))] !== 0;
  }

  #put(low: number, high: number): void {
    const position = this.#placeOf(low, high);
    if (this.#low[position] === 0) this.#size += 1;
    this.#low[position] = low;
    this.#high[position] = high;
  }

  /** @returns the position of the hash, or the empty position for it */
  #placeOf(low: number, high: number): number {
    const last = this.#low.length - 1;
    let position = low & last;
    while (this.#low[position] !== 0 && !(this.#low[position] === low && this.#high[position] === high))
      position = (position + 1) & last;
    return position;
  }

  #grow(): void {
    const [low, high] = [this.#low, this.#high];
    this.#low = new Uint32Array(low.length * 2);
    this.#high = new Uint32Array(high.length * 2);
    this.#size = 0;
    for (const [position, bits] of low.entries()) if (bits !== 0) this.#put(bits, high[position] ?? 0);
  }
}

/** Two multiplicative hashes, mixed as in MurmurHash3. @returns 32 bits that are never 0, and 32 more */
function hash(text: string): [low: number, high: number] {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x9e3779b1);
    high = Math.imul(high ^ code, 0x5f356495);
  }
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  return [low >>> 0 || 1, high >>> 0];
}
