import type { ExtractedValue } from '@relata/client';
import { t } from '../languages/text.ts';
import { formatMoney, formatNumber } from './format.ts';

/** Units in which people do not write large numbers: from when on, in which unit, and how much that is. */
const LARGER: Readonly<Record<string, readonly [from: number, unit: string, size: number]>> = {
  g: [1_000, 'kg', 1_000],
  kg: [10_000, 't', 1_000],
  mm: [10_000, 'm', 1_000],
  m: [10_000, 'km', 1_000],
  ml: [1_000, 'l', 1_000],
  W: [10_000, 'kW', 1_000],
  Wh: [10_000, 'kWh', 1_000],
  MB: [1_000, 'GB', 1_000],
  GB: [1_000, 'TB', 1_000],
};

type Fact = NonNullable<ExtractedValue['fact']>;

/** @returns a value as people write it: `Yes`, `13.28 kg` of `13280 g`, `€2,209.00`; any other as it was sent */
export function sayValue({ value, fact }: { value: string; fact?: Partial<Fact> | null }): string {
  if (fact?.type === 'BOOLEAN_ATTRIBUTE') return value.trim().toLowerCase() === 'true' ? t('Yes') : t('No');
  const { number, unit } = fact ?? {};
  if (number === undefined || unit === undefined) return value;
  const [from, larger, size] = LARGER[unit] ?? [Number.POSITIVE_INFINITY, unit, 1];
  if (Math.abs(number) >= from) return `${formatNumber(number / size)} ${larger}`;
  return formatMoney(number, unit) ?? value;
}

/** @returns how a number was understood, `1234.5 g` of `1.234,5 g`; undefined where the value says it itself */
export function readingOf(value: string, { number, unit = '' }: Fact) {
  if (number === undefined) return undefined;
  const bare = value.endsWith(unit) ? value.slice(0, value.length - unit.length) : value;
  return Number(bare) === number ? undefined : `${number} ${unit}`.trim();
}
