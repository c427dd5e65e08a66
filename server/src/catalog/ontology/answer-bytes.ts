const FIRST_BYTES = 256 * 1024;
/** More than this is given back. */
const KEPT_BYTES = 8 * 1024 * 1024;
/** A loop is quicker than a call for so few. */
const LOOPED_BYTES = 24;
const ZERO = 0x30;
/** Eight digits at once: what 32 bits hold is much faster to take apart. */
const EIGHT_DIGITS = 100_000_000;

/** Where answers are written one behind another. */
export class AnswerBytes {
  private target = Buffer.allocUnsafeSlow(FIRST_BYTES);
  private at = 0;

  get end(): number {
    return this.at;
  }

  /** What was written before may be written over from now on. */
  clear(): void {
    if (this.target.length > KEPT_BYTES) this.target = Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.at = 0;
  }

  /** @returns what was written since, valid until `clear` */
  since(start: number): Buffer {
    return this.target.subarray(start, this.at);
  }

  /** Goes back to where something began. */
  cut(end: number): void {
    this.at = end;
  }

  add(bytes: Uint8Array): void {
    this.makeRoom(bytes.length);
    if (bytes.length > LOOPED_BYTES) this.target.set(bytes, this.at);
    else for (let at = 0; at < bytes.length; at += 1) this.target[this.at + at] = bytes[at] as number;
    this.at += bytes.length;
  }

  addByte(byte: number): void {
    this.makeRoom(1);
    this.target[this.at] = byte;
    this.at += 1;
  }

  copy(source: Buffer, start: number, end: number): void {
    this.makeRoom(end - start);
    if (end - start > LOOPED_BYTES) source.copy(this.target, this.at, start, end);
    else for (let at = start; at < end; at += 1) this.target[this.at + at - start] = source[at] as number;
    this.at += end - start;
  }

  /** A whole number from 0 to 2^53, in digits. */
  addInteger(value: number): void {
    this.makeRoom(16);
    const high = Math.floor(value / EIGHT_DIGITS);
    const low = value - high * EIGHT_DIGITS;
    if (high === 0) this.addDigits(low, countDigits(low));
    else {
      this.addDigits(high, countDigits(high));
      this.addDigits(low, 8);
    }
  }

  private addDigits(value: number, count: number): void {
    let rest = value | 0;
    for (let at = this.at + count - 1; at >= this.at; at -= 1) {
      const next = (rest / 10) | 0;
      this.target[at] = ZERO + (rest - next * 10);
      rest = next;
    }
    this.at += count;
  }

  private makeRoom(bytes: number): void {
    if (this.at + bytes <= this.target.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.at + bytes, this.target.length * 2));
    this.target.copy(larger, 0, 0, this.at);
    this.target = larger;
  }
}

function countDigits(value: number): number {
  let count = 1;
  for (let limit = 10; limit <= value; limit *= 10) count += 1;
  return count;
}
