/**
 * The id of a value of an attribute: 53 bits computed from both, so that every process and every reload gives the
 * same one without asking a store (a row per distinct value would halve the ingest rate). Two of a million distinct
 * values of one attribute share an id with a chance of 1 in 18,000; the value itself is always right beside it.
 * Two 32-bit multiplicative hashes over the UTF-16 units, mixed at the end. Source: docs/interface.md §11.4.
 */
export function computeValueId(attributeId: number, value: string): number {
  // Multiplied before the first unit comes in: otherwise attribute 1 with `b` and attribute 2 with `a` were one id.
  let high = Math.imul(0xdeadbeef ^ attributeId, 2_654_435_761);
  let low = Math.imul(0x41c6ce57 ^ attributeId, 1_597_334_677);
  for (let at = 0; at < value.length; at += 1) {
    const unit = value.charCodeAt(at);
    high = Math.imul(high ^ unit, 2_654_435_761);
    low = Math.imul(low ^ unit, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0);
}
