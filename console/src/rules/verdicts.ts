import type { ExplainedMatch, Filter, RelationExplanation } from '@relata/client';
import { t } from '../languages/text.ts';
import { describeFilter, isCondition, showValue } from './filters.ts';

/** An explanation in words. Source: docs/interface §12.6. */

export interface Verdict {
  readonly words: string;
  readonly holds: boolean;
  /** The values of a condition; a group has inner verdicts instead. */
  readonly values?: string;
  /** The requirement for it to hold. */
  readonly need?: string;
  readonly inner?: readonly Verdict[];
  /** How the inner verdicts are combined. */
  readonly kind?: 'all' | 'any' | 'not';
}

type Side = RelationExplanation['source'];
type Explained = { readonly holds: boolean } & (
  | Side['conditions'][number]
  | { readonly all: readonly Explained[] }
  | { readonly any: readonly Explained[] }
  | { readonly not: Explained }
);

/** @returns the conditions of a side, in groups if they are nested */
export const readSide = ({ filter, conditions }: Side): readonly Verdict[] =>
  filter === undefined ? conditions.map(readExplained) : [readExplained(filter as Explained)];

function readExplained(explained: Explained): Verdict {
  const { holds } = explained;
  if ('condition' in explained)
    return {
      holds,
      words: describeFilter(explained.condition),
      need: describeFilterNeed(explained.condition),
      values: explained.values.join(', '),
    };
  if ('all' in explained)
    return { holds, words: t('all of these'), kind: 'all', inner: explained.all.map(readExplained) };
  if ('any' in explained)
    return { holds, words: t('one of these'), kind: 'any', inner: explained.any.map(readExplained) };
  return { holds, words: t('not this'), kind: 'not', inner: [readExplained(explained.not)] };
}

/** The requirement on one product for a pair to be related. */
export interface Gap {
  readonly identifier: string;
  readonly needs: string;
  /** Empty for no value. */
  readonly has: string;
  /** The alternative of changing the other product. */
  readonly or?: Gap;
}

/** Two identifiers: the requested product, and its result or non-result. */
export interface Pair {
  readonly source: string;
  readonly target: string;
}

/** @returns the changes that would relate the pair, as far as conditions decide that */
export function listMissing(explanation: RelationExplanation, pair: Pair): Gap[] {
  const { source, target }: Pair =
    explanation.matchType === 'SECOND_WAY' ? { source: pair.target, target: pair.source } : pair;
  const ofSide = (identifier: string, side: Side) =>
    readSide(side).flatMap((verdict) => listNeeds(verdict).map((gap) => ({ identifier, ...gap })));
  return [
    ...ofSide(source, explanation.source),
    ...ofSide(target, explanation.target),
    ...listExplained(explanation.match)
      .filter(({ holds }) => !holds)
      .map((element) => describeMatch(element, { source, target })),
  ];
}

function listNeeds({ holds, words, need, values, inner, kind }: Verdict): Omit<Gap, 'identifier'>[] {
  if (holds) return [];
  if (inner === undefined) return [{ needs: need ?? words, has: values ?? '' }];
  if (kind === 'all') return inner.flatMap(listNeeds);
  const has = inner.flatMap((verdict) => verdict.values || []).join(', ');
  const named = (text: (verdict: Verdict) => string) => inner.map(text).join(` ${t('or')} `);
  if (kind === 'any') return [{ needs: named((verdict) => verdict.need ?? verdict.words), has }];
  return [
    { needs: t('This must not hold: {conditions}', { conditions: named((verdict) => verdict.words) }), has },
  ];
}

/** @returns the matches of elements; for alternatives that hold, only those that do */
export const listExplained = (match: RelationExplanation['match']): ExplainedMatch[] =>
  match.flatMap((element) => {
    const inner = element.any ?? element.together;
    if (inner === undefined) return [element as ExplainedMatch];
    return element.any !== undefined && element.holds ? inner.filter(({ holds }) => holds) : inner;
  });

/** The advice of the service: on the side that has no value, or else on either one. */
function describeMatch(match: ExplainedMatch, { source, target }: Pair): Gap {
  const { sourceValues, targetValues, advice = '', sourceAdvice = '' } = match;
  const isBare = sourceValues.length === 0 && targetValues.length === 0;
  const ofSource = {
    identifier: source,
    needs: isBare ? describeCondition(match.source, 'exists', '') : `${match.source} ${sourceAdvice}`,
    has: sourceValues.join(', '),
  };
  if (sourceValues.length === 0) return ofSource;
  const ofTarget = { identifier: target, needs: `${match.target} ${advice}`, has: targetValues.join(', ') };
  return targetValues.length === 0 ? ofTarget : { ...ofTarget, or: ofSource };
}

/** @returns the advice of the service on the target of a match, or on the source if that alone has no value */
export function describeNeed(match: ExplainedMatch): string {
  const { target, source, targetValues, sourceValues, advice = '', sourceAdvice = '' } = match;
  if (sourceValues.length === 0)
    return targetValues.length === 0 ? sayMatch(match) : `${source} ${sourceAdvice}`;
  const need = `${target} ${advice}`;
  if (targetValues.length === 0) return need;
  const value = targetValues.join(` ${t('or')} `);
  return t('{need}; {attribute} is {value}', { need, attribute: target, value });
}

/** @returns the statement of the service on a match, such as `Width and Clearance: 47 mm ≤ 50 mm` */
export function sayMatch(match: ExplainedMatch): string {
  const { target, source, operator, holds, say, targetValues, sourceValues } = match;
  const isSame = targetValues.join() === sourceValues.join() && !match.targetTerm && !match.sourceTerm;
  // A value that is the same on both sides is shown once.
  if (operator === 'equals' && holds && isSame) return `${target}: ${targetValues.join(', ')}`;
  return `${target === source ? target : t('{target} and {source}', { target, source })}: ${say}`;
}

/** @returns for example `Rated would have to be at least 50 Nm` */
function describeCondition(what: string, operator: string, value: string): string {
  if (operator === 'exists') return t('{what} would need a value', { what });
  if (operator === 'contains') return t('{what} would have to contain {value}', { what, value });
  return t(
    '{what} would have to be {operator, select, notEquals {other than } less {less than } lessOrEqual {at most } greater {more than } greaterOrEqual {at least } in {one of } between {between } other {}}{value}',
    { what, operator, value },
  );
}

/** @returns the requirement of a condition on a product */
function describeFilterNeed(filter: Filter): string {
  if ('category' in filter)
    return t('It would have to be in the category {path}', { path: filter.category.join(' › ') });
  if ('identifiers' in filter)
    return t('It would have to be one of {identifiers}', { identifiers: filter.identifiers.join(', ') });
  if (!isCondition(filter)) return describeFilter(filter);
  const { attribute, operator, value } = filter;
  const isRange = operator === 'between' && Array.isArray(value);
  return describeCondition(attribute, operator, isRange ? value.join(` ${t('and')} `) : showValue(value));
}
