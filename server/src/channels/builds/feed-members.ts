/** Which products go out, as far as somebody asked: what related products are checked against. */

/** Grows to twice its size when it is half full. */
const FIRST_PLACES = 1_024;

/**
 * Keeps 63 bits of a hash and the verdict for each identifier: a million take 16 MB, as texts they would take 100. That two
 * of a million share their bits happens once in ten million catalogs.
 */
export class FeedMembers {
  #low = new Uint32Array(FIRST_PLACES);
  /** The lowest bit is the verdict. */
  #high = new Uint32Array(FIRST_PLACES);
  #size = 0;

  note(identifier: string, isGoing: boolean): void {
    if (this.#size * 2 >= this.#low.length) this.#grow();
    const [low, high] = hash(identifier);
    this.#put(low, high | (isGoing ? 1 : 0));
  }

  /** @returns undefined for one that was never noted */
  find(identifier: string): boolean | undefined {
    const [low, high] = hash(identifier);
    const at = this.#placeOf(low, high);
    return this.#low[at] === 0 ? undefined : ((this.#high[at] ?? 0) & 1) === 1;
  }

  /** @returns lists with those that go out, and all others */
  part(lists: readonly (readonly string[])[]): {
    present: readonly (readonly string[])[];
    absent: readonly string[];
  } {
    const absent: string[] = [];
    const present = lists.map((list) =>
      list.filter((identifier) => {
        const isGoing = this.find(identifier) === true;
        if (!isGoing) absent.push(identifier);
        return isGoing;
      }),
    );
    return { present, absent };
  }

  #put(low: number, high: number): void {
    const at = this.#placeOf(low, high);
    if (this.#low[at] === 0) this.#size += 1;
    this.#low[at] = low;
    this.#high[at] = high;
  }

  /** @returns where it is, or the empty place where it would be */
  #placeOf(low: number, high: number): number {
    const last = this.#low.length - 1;
    let at = low & last;
    while (this.#low[at] !== 0 && !(this.#low[at] === low && (this.#high[at] ?? 0) >>> 1 === high >>> 1))
      at = (at + 1) & last;
    return at;
  }

  #grow(): void {
    const [low, high] = [this.#low, this.#high];
    this.#low = new Uint32Array(low.length * 2);
    this.#high = new Uint32Array(high.length * 2);
    this.#size = 0;
    for (const [at, bits] of low.entries()) if (bits !== 0) this.#put(bits, high[at] ?? 0);
  }
}

/** Two multiplicative hashes, mixed as in MurmurHash3. @returns 32 bits that are never 0, and 31 above an empty one */
function hash(text: string): [low: number, high: number] {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x9e3779b1);
    high = Math.imul(high ^ code, 0x5f356495);
  }
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  return [low >>> 0 || 1, (high & ~1) >>> 0];
}
