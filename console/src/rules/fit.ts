import type { FitAnswer } from '@relata/client';
import { t } from '../languages/text.ts';
import { describeComparison } from './filters.ts';
import { readList } from './saved-views.ts';
import { describeNeed, sayMatch } from './verdicts.ts';

/** Products to be judged together, and the verdict on them. Source: docs/interface §12.10. */

export interface SetItem {
  readonly identifier: string;
  readonly quantity: number;
}

export type Pair = FitAnswer['pairs'][number];
export type Total = FitAnswer['totals'][number];
type Word = Pair['verdict'];

/** The most products that are judged at once. */
export const MOST_ITEMS = 100;

/** Reads the address, and skips entries that were cut short or mistyped. */
export function readSet(text: string): SetItem[] {
  const quantities = new Map<string, number>();
  for (const entry of readList(text) ?? []) {
    const [identifier, quantity = 1] = Array.isArray(entry) ? entry : [entry];
    if (typeof identifier !== 'string' || identifier === '' || !Number.isInteger(quantity) || quantity < 1)
      continue;
    quantities.set(identifier, (quantities.get(identifier) ?? 0) + quantity);
  }
  return [...quantities].slice(0, MOST_ITEMS).map(([identifier, quantity]) => ({ identifier, quantity }));
}

/** @returns the text for the address; empty for no products */
export const writeSet = (set: readonly SetItem[]): string =>
  set.length === 0
    ? ''
    : JSON.stringify(
        set.map(({ identifier, quantity }) => (quantity === 1 ? identifier : [identifier, quantity])),
      );

/** @returns the verdict on the whole set in words, with the look of its note */
export const describeVerdict = (
  verdict: FitAnswer['verdict'],
): readonly [look: string, words: string, why: string] =>
  ({
    fits: ['good', t('They fit together'), t('All rules about these products are satisfied.')] as const,
    does_not_fit: ['bad', t('They do not fit together'), t('At least one rule is not satisfied.')] as const,
    unknown: [
      'warn',
      t('It is unknown whether they fit'),
      t('A value that a rule needs is missing.'),
    ] as const,
    no_rule: [
      '',
      t('No rule covers these products'),
      t('Only relations with “Must hold to fit” are checked here.'),
    ] as const,
  })[verdict];

export const describeWord = (verdict: Word): readonly [look: string, words: string] =>
  ({
    fits: ['good', t('fits')] as const,
    does_not_fit: ['bad', t('does not fit')] as const,
    unknown: ['warn', t('unknown')] as const,
  })[verdict];

/** An element of a rule with the values of two products, in words. */
export interface FitReason {
  readonly words: string;
  readonly verdict: Word;
  readonly inner?: readonly FitReason[];
}

type Element = Pair['match'][number];
type Match = NonNullable<Element['any']>[number];

export const listReasons = (match: Pair['match']): FitReason[] =>
  match.map((element) => {
    const { any, together, verdict } = element;
    if (any) return { verdict, words: t('one of these'), inner: any.map(describeReason) };
    if (together) return { verdict, words: t('in one row'), inner: together.map(describeReason) };
    return describeReason(element as Match);
  });

function describeReason({ verdict, ...match }: Match): FitReason {
  return { verdict, words: verdict === 'fits' ? sayMatch(match) : describeNeed(match) };
}

export interface Term {
  readonly times?: number | undefined;
  readonly plus?: number | string | undefined;
}

/** @returns for example `1.2 times its TDP plus 100 W` */
export function describeTerm(what: string, { times, plus }: Term = {}): string {
  const product = times === undefined ? what : t('{times} times {what}', { times: String(times), what });
  if (plus === undefined) return product;
  const text = String(plus);
  return text.startsWith('-')
    ? t('{what} minus {number}', { what: product, number: text.slice(1) })
    : t('{what} plus {number}', { what: product, number: text });
}

/** @returns for example `1.2 times the sum of TDP (355 W) plus 0.1 kW is at most Wattage 650 W` */
export function describeTotal({ total, operator, limit }: Total): string {
  const sum = t('the sum of {attribute} ({sum})', { attribute: total.attribute, sum: total.sum });
  const most = `${limit.attribute} ${limit.values.join(', ') || t('no value')}`;
  return describeComparison(describeTerm(sum, total), operator, describeTerm(most, limit));
}

/** @returns the set with one product replaced by another */
export const replaceIn = (set: readonly SetItem[], former: string, next: string): SetItem[] =>
  readSet(writeSet(set.map((item) => (item.identifier === former ? { ...item, identifier: next } : item))));
