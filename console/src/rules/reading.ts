import type { ExtractedValue } from '@relata/client';

/** @returns how a number was understood, `1234.5 g` of `1.234,5 g`; undefined where the value says it itself */
export function readingOf(value: string, { number, unit = '' }: NonNullable<ExtractedValue['fact']>) {
  if (number === undefined) return undefined;
  const bare = value.endsWith(unit) ? value.slice(0, value.length - unit.length) : value;
  return Number(bare) === number ? undefined : `${number} ${unit}`.trim();
}
