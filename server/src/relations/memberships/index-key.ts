import { createHash } from 'node:crypto';
import type { Comparable } from '../../catalog/filters/filters.ts';

/**
 * Values as bytes that a store compares from the left: equal keys are equal values, and ranks and compared values sort
 * like the values. Numbers take 8 bytes; text is UTF-8 up to a NUL, which no value contains (docs/interface §2.3).
 * Index entries are bounded, as an index row of PostgreSQL takes at most 2,704 bytes in all (nbtree, a third of a page).
 */

const PRESENT = Buffer.from([0]);
const MISSING = Buffer.from([1]);

/** The key of a product that is on the side but that no other product can match. */
export const UNMATCHED_KEY = Buffer.from([0]);
const MATCHED = Buffer.from([1]);
const HASHED = Buffer.from([2]);

/** A longer key is replaced by its SHA-256, as keys are only compared for equality. */
const KEY_BYTES = 512;

/** How much of a text determines the position of a product; 8 sorts and the longest key then fit an index row. */
export const RANK_TEXT_BYTES = 256;

/** Encodes one value for each equality of a rule. */
export function encodeKey(values: readonly Comparable[]): Buffer {
  const key = Buffer.concat([MATCHED, ...values.map(encodeValue)]);
  if (key.length <= KEY_BYTES) return key;
  return Buffer.concat([HASHED, createHash('sha256').update(key).digest()]);
}

/** The position of a product among others: its value for each sort; without one it is last, in either direction. */
export function encodeRank(values: readonly { value: Comparable | undefined; direction: 'asc' | 'desc' }[]) {
  return Buffer.concat(
    values.flatMap(({ value, direction }) => {
      if (value === undefined) return [MISSING];
      const bytes = typeof value === 'number' ? encodeNumber(value) : encodeStart(value);
      if (direction === 'desc') for (let at = 0; at < bytes.length; at += 1) bytes[at] = ~(bytes[at] ?? 0);
      return [PRESENT, bytes];
    }),
  );
}

/** @returns bytes that sort like values of one kind */
export function encodeValue(value: Comparable): Buffer {
  return typeof value === 'number' ? encodeNumber(value) : Buffer.from(`${value}\0`);
}

/** May cut a character, as bytes are compared but never decoded. */
function encodeStart(text: string): Buffer {
  const bytes = encodeValue(text);
  if (bytes.length <= RANK_TEXT_BYTES + 1) return bytes;
  const cut = Buffer.from(bytes.subarray(0, RANK_TEXT_BYTES + 1));
  cut[RANK_TEXT_BYTES] = 0;
  return cut;
}

/** IEEE 754 numbers sort like their bits if the sign is inverted, and, for negative numbers, all bits. */
function encodeNumber(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(value);
  if (value < 0) for (let at = 0; at < 8; at += 1) bytes[at] = ~(bytes[at] ?? 0);
  else bytes[0] = (bytes[0] ?? 0) | 0x80;
  return bytes;
}
