import type { Facet, Filter } from '@relata/client';
import { t } from '../languages/text.ts';
import { readList } from './saved-views.ts';

type Bound = number | null;

/** The choice for an attribute: some of its values, a range, or that it is missing. */
export type ChosenFacet =
  | { readonly attribute: string; readonly in: readonly string[] }
  | { readonly attribute: string; readonly between: readonly [low: Bound, high: Bound] }
  | { readonly attribute: string; readonly lacks: true };

/** @returns the valid facets of an address, without the others */
export const readChosen = (text: string): readonly ChosenFacet[] => readList(text)?.filter(isChosen) ?? [];

function isChosen(value: unknown): value is ChosenFacet {
  if (typeof value !== 'object' || value === null) return false;
  const { attribute, in: values, between, lacks } = value as Record<string, unknown>;
  if (typeof attribute !== 'string') return false;
  if (Array.isArray(values)) return values.length > 0 && values.every(isValue);
  return Array.isArray(between) ? isRangeOf(between) : lacks === true;
}

const isValue = (value: unknown) => typeof value === 'string';
const isBound = (value: unknown) => value === null || typeof value === 'number';
const isRangeOf = (ends: readonly unknown[]) =>
  ends.length === 2 && ends.every(isBound) && ends.some((end) => end !== null);

/** Writes facets so that `readChosen` can read them. */
export const writeChosen = (list: readonly ChosenFacet[]): string =>
  list.length > 0 ? JSON.stringify(list) : '';

/** @returns the filter of a search. Source: docs/interface §12.2 */
export const toFilter = (list: readonly ChosenFacet[]): string | undefined =>
  list.length > 0 ? JSON.stringify({ all: list.map(toCondition) }) : undefined;

function toCondition(chosen: ChosenFacet): Filter {
  const { attribute } = chosen;
  if ('in' in chosen) return { attribute, operator: 'in', value: [...chosen.in] };
  if ('lacks' in chosen) return { not: { attribute, operator: 'exists' } };
  const [low, high] = chosen.between;
  if (low !== null && high !== null) return { attribute, operator: 'between', value: [low, high] };
  return low === null
    ? { attribute, operator: 'lessOrEqual', value: high ?? 0 }
    : { attribute, operator: 'greaterOrEqual', value: low };
}

export const without = (list: readonly ChosenFacet[], attribute: string): readonly ChosenFacet[] =>
  list.filter((facet) => facet.attribute !== attribute);

export const findValues = (list: readonly ChosenFacet[], attribute: string): readonly string[] =>
  list.flatMap((facet) => ('in' in facet && facet.attribute === attribute ? facet.in : []));

export function findRange(list: readonly ChosenFacet[], attribute: string): readonly [Bound, Bound] {
  const range = list.find((facet) => 'between' in facet && facet.attribute === attribute);
  return range && 'between' in range ? range.between : [null, null];
}

/** @returns the list with one value of an attribute added or removed */
export function toggle(
  list: readonly ChosenFacet[],
  attribute: string,
  value: string,
): readonly ChosenFacet[] {
  const before = findValues(list, attribute);
  const values = before.includes(value)
    ? before.filter((chosenValue) => chosenValue !== value)
    : [...before, value];
  return values.length > 0 ? replace(list, { attribute, in: values }) : without(list, attribute);
}

export function withRange(
  list: readonly ChosenFacet[],
  attribute: string,
  between: readonly [Bound, Bound],
): readonly ChosenFacet[] {
  const isOpen = between[0] === null && between[1] === null;
  return isOpen ? without(list, attribute) : replace(list, { attribute, between });
}

/** Replaces in place, so that chips do not jump. */
function replace(list: readonly ChosenFacet[], next: ChosenFacet): readonly ChosenFacet[] {
  const index = list.findIndex(({ attribute }) => attribute === next.attribute);
  return index < 0 ? [...list, next] : list.with(index, next);
}

/** @returns for example `Brand: Bosch, Makita` */
export const describeChosen = (chosen: ChosenFacet, unit = ''): string =>
  `${chosen.attribute}: ${describeWhat(chosen)} ${unit}`.trim();

function describeWhat(chosen: ChosenFacet): string {
  if ('in' in chosen) return chosen.in.join(', ');
  if ('lacks' in chosen) return t('missing');
  const [low, high] = chosen.between;
  if (low === null) return t('up to {high}', { high: high ?? '' });
  return high === null ? t('from {low}', { low }) : t('{low} to {high}', { low, high });
}

const isRange = ({ min, max }: Facet): boolean => min !== undefined && max !== undefined && min < max;
/** An attribute with a different value for every product narrows nothing. */
const repeats = ({ values }: Facet): boolean => values.length > 1 && values.some(({ count }) => count > 1);

/**
 * @returns the facets that can narrow the hits, most frequent first, and chosen ones even if they cannot
 * narrow any further
 */
export const listUseful = (facets: readonly Facet[], chosen: readonly ChosenFacet[]): readonly Facet[] =>
  facets.filter(
    (facet) =>
      chosen.some(({ attribute }) => attribute === facet.attribute) || isRange(facet) || repeats(facet),
  );
