import { createHash } from 'node:crypto';
import type { Comparable } from '../../catalog/filters/filters.ts';

/**
 * Encodes values as bytes that a store compares from the left. Equal keys mean equal values, and ranks and
 * compared values sort like the values. A number takes 8 bytes; a text is UTF-8 up to a NUL, which no value
 * contains (docs/interface §2.3). The bytes are bounded, because an index row of PostgreSQL takes at most
 * 2,704 bytes (nbtree, a third of a page).
 */

const PRESENT = Buffer.from([0]);
const MISSING = Buffer.from([1]);

/** The key of a product that is on the side but that no other product can match. */
export const UNMATCHED_KEY = Buffer.from([0]);
const MATCHED = Buffer.from([1]);
const HASHED = Buffer.from([2]);

/** A longer key is replaced by its SHA-256, because keys are only compared for equality. */
const KEY_BYTES = 512;

/**
 * How many bytes of a text determine the position of a product. Ranks of 8 sorts then fit an index row with
 * the longest key.
 */
export const RANK_TEXT_BYTES = 256;

/** Encodes a value for each equality of a rule. */
export function encodeKey(values: readonly Comparable[]): Buffer {
  const key = Buffer.concat([MATCHED, ...values.map(encodeValue)]);
  if (key.length <= KEY_BYTES) return key;
  return Buffer.concat([HASHED, createHash('sha256').update(key).digest()]);
}

/**
 * Encodes the position of a product: its value for each sort. A missing value sorts last in both directions.
 */
export function encodeRank(values: readonly { value: Comparable | undefined; direction: 'asc' | 'desc' }[]) {
  return Buffer.concat(
    values.flatMap(({ value, direction }) => {
      if (value === undefined) return [MISSING];
      const bytes = typeof value === 'number' ? encodeNumber(value) : encodeStart(value);
      if (direction === 'desc')
        for (let index = 0; index < bytes.length; index += 1) bytes[index] = ~(bytes[index] ?? 0);
      return [PRESENT, bytes];
    }),
  );
}

/** @returns bytes that sort like the values; all values must be of one kind */
export function encodeValue(value: Comparable): Buffer {
  return typeof value === 'number' ? encodeNumber(value) : Buffer.from(`${value}\0`);
}

/** May cut a character in two, which is harmless because the bytes are compared but never decoded. */
function encodeStart(text: string): Buffer {
  const bytes = encodeValue(text);
  if (bytes.length <= RANK_TEXT_BYTES + 1) return bytes;
  const cut = Buffer.from(bytes.subarray(0, RANK_TEXT_BYTES + 1));
  cut[RANK_TEXT_BYTES] = 0;
  return cut;
}

/**
 * IEEE 754 numbers sort like their bits after the sign bit is inverted. For negative numbers, all bits are
 * inverted.
 */
function encodeNumber(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(value);
  if (value < 0) for (let index = 0; index < 8; index += 1) bytes[index] = ~(bytes[index] ?? 0);
  else bytes[0] = (bytes[0] ?? 0) | 0x80;
  return bytes;
}
