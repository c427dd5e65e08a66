import type { Comparable } from './comparable.ts';

/**
 * Values as bytes that a store compares from the left: equal keys are equal values, and ranks sort as the values do.
 * Numbers take 8 bytes; text is UTF-8 up to a NUL, which no value holds (docs/interface.md §2.3).
 */

const PRESENT = 0;
const MISSING = 1;

/** Of one value for each equality of a rule. */
export function encodeKey(values: readonly Comparable[]): Buffer {
  return Buffer.concat([MATCHED, ...values.map(encodeValue)]);
}

/** The key of a product that is on the side but that no other product can match. */
export const UNMATCHED_KEY = Buffer.from([0]);
const MATCHED = Buffer.from([1]);

/** Where a product stands among others: its value for each sort; without one it is last, whatever the direction. */
export function encodeRank(
  values: readonly { readonly value: Comparable | undefined; readonly direction: 'asc' | 'desc' }[],
): Buffer {
  return Buffer.concat(
    values.map(({ value, direction }) => {
      if (value === undefined) return Buffer.from([MISSING]);
      const bytes = encodeValue(value);
      if (direction === 'desc') for (let at = 0; at < bytes.length; at += 1) bytes[at] = ~(bytes[at] ?? 0);
      return Buffer.concat([Buffer.from([PRESENT]), bytes]);
    }),
  );
}

function encodeValue(value: Comparable): Buffer {
  return typeof value === 'number' ? encodeNumber(value) : Buffer.from(`${value}\0`);
}

/** IEEE 754 sorts like its bits once the sign is turned round, and all bits of a negative number. */
function encodeNumber(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  if (value < 0) for (let at = 0; at < 8; at += 1) bytes[at] = ~(bytes[at] ?? 0);
  else bytes[0] = (bytes[0] ?? 0) | 0x80;
  return bytes;
}
