import { t } from '../languages/text.ts';
import { formatCount, formatPercent } from './format.ts';

/** The number of products that were counted, and of all products. They differ if the counts are of a sample. */
export interface Extent {
  readonly looked: number;
  readonly of: number;
}

export const isSample = ({ looked, of }: Extent): boolean => looked < of;

/** The digits of an estimate that a sample of some 10,000 products supports. */
const DIGITS = 2;

/** @returns the count of all products, estimated from the count in the sample */
export function estimate(count: number, { looked, of }: Extent): number {
  if (looked <= 0 || looked >= of) return count;
  return Math.round(Number(((count * of) / looked).toPrecision(DIGITS)));
}

/** @returns an exact count as it is, and an estimate as `≈ 840` */
export const formatCounted = (count: number, extent: Extent): string =>
  isSample(extent) ? approximately(formatCount(estimate(count, extent))) : formatCount(count);

/** @returns an exact share as it is, and that of a sample as `≈ 47 %` */
export const formatShare = (share: number, extent: Extent): string =>
  isSample(extent) ? approximately(formatPercent(share)) : formatPercent(share);

/** @returns `≈ from 50,000 of 66,778 products`; nothing if every product was looked at */
export const describeExtent = (extent: Extent): string =>
  isSample(extent)
    ? t('≈ from {looked, number} of {of, plural, one {# product} other {# products}}', { ...extent })
    : '';

export const approximately = (text: string): string => `≈ ${text}`;
