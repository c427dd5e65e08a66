/**
 * The id of a value of an attribute: 53 bits computed from both. So every process and every reload computes the same
 * id without storing it. A stored row per distinct value would halve the ingest rate. The chance that any two of a
 * million distinct values of one attribute share an id is 1 in 18,000; the value beside the id is always right. The id
 * is made of two 32-bit multiplicative hashes over the UTF-16 units, mixed at the end. Source: docs/interface §11.4.
 */
export function computeValueId(attributeId: number, value: string): number {
  let high = beginHigh(attributeId);
  let low = beginLow(attributeId);
  for (let index = 0; index < value.length; index += 1) {
    const unit = value.charCodeAt(index);
    high = Math.imul(high ^ unit, HIGH);
    low = Math.imul(low ^ unit, LOW);
  }
  return mix(high, low);
}

const BACKSLASH = 0x5c;

/** @returns the same id for a value as bytes of JSON; -1 if it contains an escape or a character outside ASCII */
export function computePlainValueId(
  attributeId: number,
  bytes: Uint8Array,
  { start, end }: { start: number; end: number },
): number {
  let high = beginHigh(attributeId);
  let low = beginLow(attributeId);
  for (let offset = start; offset < end; offset += 1) {
    const unit = bytes[offset] as number;
    if (unit >= 0x80 || unit === BACKSLASH) return -1;
    high = Math.imul(high ^ unit, HIGH);
    low = Math.imul(low ^ unit, LOW);
  }
  return mix(high, low);
}

const HIGH = 2_654_435_761;
const LOW = 1_597_334_677;

// Multiplied before the first unit. Otherwise attribute 1 with `b` and attribute 2 with `a` would share an id.
const beginHigh = (attributeId: number) => Math.imul(0xdeadbeef ^ attributeId, HIGH);
const beginLow = (attributeId: number) => Math.imul(0x41c6ce57 ^ attributeId, LOW);

function mix(a: number, b: number): number {
  const high = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  const low = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0);
}
