import type { Condition, Filter, Match, MatchedValue, Operator, RelationDefinition } from '@relata/client';
import { t } from '../languages/text.ts';

/** Filters as the builder shows them: groups of a kind, with rows below. Source: docs/interface §12.2. */
export type GroupKind = 'all' | 'any' | 'none';

export interface Group {
  readonly kind: GroupKind;
  readonly filters: readonly Filter[];
}

/** @returns undefined if the filter is a single row */
export function readGroup(filter: Filter): Group | undefined {
  if ('all' in filter) return { kind: 'all', filters: filter.all };
  if ('any' in filter) return { kind: 'any', filters: filter.any };
  if (!('not' in filter)) return undefined;
  const { not } = filter;
  return { kind: 'none', filters: 'any' in not ? not.any : [not] };
}

export function writeGroup({ kind, filters }: Group): Filter {
  const list = [...filters];
  if (kind === 'all') return { all: list };
  return kind === 'any' ? { any: list } : { not: { any: list } };
}

/** A side is always shown as a group, so that a second condition can be added. */
export const asGroup = (filter: Filter): Group => readGroup(filter) ?? { kind: 'all', filters: [filter] };

/** Whether it is a condition on an attribute. */
export const isCondition = (filter: Filter): filter is Condition => 'attribute' in filter;

export const listOperators = (): readonly (readonly [Operator, string])[] => [
  ['equals', t('is')],
  ['notEquals', t('is not')],
  ['less', t('is less than')],
  ['lessOrEqual', t('is at most')],
  ['greater', t('is more than')],
  ['greaterOrEqual', t('is at least')],
  ['in', t('is one of')],
  ['contains', t('contains')],
  ['between', t('is between')],
  ['exists', t('is there')],
];

/** Matches compare two attributes, so operators that take a list or no second value do not apply. */
export const listMatchOperators = () =>
  listOperators().slice(0, 6) as (readonly [Match['operator'], string])[];

/** @returns for example `Rated is at least 50 Nm` */
export const describeComparison = (what: string, operator: string, value: string): string =>
  `${what} ${listOperators().find(([name]) => name === operator)?.[1] ?? operator} ${value}`.trim();

/** @returns the same for two attributes, and `Brand is the same` for one on both sides */
export const describeMatched = (target: string, operator: string, source: string): string =>
  operator === 'equals' && target === source
    ? t('{target} is the same', { target })
    : describeComparison(target, operator, source);

/** A condition's value as text. */
export function showValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** Input as the service takes it: plain numbers of numeric attributes as numbers, lists split at commas. */
export function readValue(text: string, operator: Operator, isNumeric: boolean): unknown {
  if (operator === 'exists') return undefined;
  const parsePart = (part: string): unknown =>
    isNumeric && /^[+-]?\d+(?:\.\d+)?$/.test(part.trim()) ? Number(part) : part.trim();
  if (operator === 'in' || operator === 'between') return text.split(',').map(parsePart);
  return parsePart(text);
}

/** The filter in words, for lists and explanations. */
export function describeFilter(filter: Filter): string {
  if ('category' in filter) return t('category {path}', { path: filter.category.join(' › ') });
  if ('identifiers' in filter)
    return t('one of {identifiers}', { identifiers: filter.identifiers.join(', ') });
  if (isCondition(filter))
    return describeComparison(filter.attribute, filter.operator, showValue(filter.value));
  const group = readGroup(filter);
  if (group === undefined || group.filters.length === 0) return t('every product');
  const inner = group.filters.map(describeFilter);
  if (group.kind === 'all') return inner.join(` ${t('and')} `);
  return group.kind === 'any'
    ? inner.join(` ${t('or')} `)
    : t('not ({conditions})', { conditions: inner.join(` ${t('nor')} `) });
}

/** @returns the filter without incomplete rows, as a preview uses it */
export function pruneFilter(filter: Filter): Filter {
  const group = readGroup(filter);
  if (group === undefined) return filter;
  const filters = group.filters.filter(isWhole).map(pruneFilter);
  return writeGroup({ ...group, filters });
}

export function isWhole(filter: Filter): boolean {
  if ('category' in filter) return filter.category.length > 0;
  if ('identifiers' in filter) return filter.identifiers.length > 0;
  if (!isCondition(filter)) return true;
  const { attribute, operator, value } = filter;
  if (attribute === '') return false;
  if (operator === 'between') return Array.isArray(value) && value.length === 2 && !value.includes('');
  return operator === 'exists' || value !== '';
}

/** Whether both sides are chosen in a match, or in all matches of an element with several. */
export const isWholeMatch = (element: NonNullable<RelationDefinition['match']>[number]): boolean =>
  listMatches([element]).every(
    ({ target, source }) => nameMatched(target) !== '' && nameMatched(source) !== '',
  );

/** @returns the number of incomplete parts of a rule, which its preview ignores */
export function countUnfinished(definition: RelationDefinition): number {
  const { source, target, match = [], sort = [] } = definition;
  const rows = [source, target].flatMap((side) => (side ? listRows(side) : []));
  return [
    ...rows.filter((row) => !isWhole(row)),
    ...match.filter((element) => !isWholeMatch(element)),
    ...sort.filter(({ attribute }) => attribute === ''),
    ...(isWholeTotal(definition) ? [] : [definition]),
  ].length;
}

/** Whether a total names its summand and its limit; other kinds have neither. */
export const isWholeTotal = ({ kind, total, limit }: RelationDefinition): boolean =>
  kind !== 'total' || (Boolean(total?.attribute) && Boolean(limit?.attribute));

const listRows = (filter: Filter): Filter[] => readGroup(filter)?.filters.flatMap(listRows) ?? [filter];

export const EVERY_PRODUCT: Filter = { all: [] };

/** Whether a rule relates every product to every other one, for lack of conditions and matches. */
export const isEveryPair = ({
  source = EVERY_PRODUCT,
  target = EVERY_PRODUCT,
  match = [],
}: RelationDefinition) =>
  match.length === 0 &&
  [source, target].every((side) => JSON.stringify(side) === JSON.stringify(EVERY_PRODUCT));

/** Product fields that a match can compare, in addition to attributes. */
export const OWN_FIELDS = ['identifier', 'groupIdentifier', 'name'];

export const nameMatched = (value: MatchedValue = ''): string =>
  typeof value === 'string' ? value : (value.field ?? value.attribute ?? '');

/** @returns the matches of a definition, including those nested in other elements */
export const listMatches = (match: RelationDefinition['match'] = []): Match[] =>
  match.flatMap((element) => element.any ?? element.together ?? [element as Match]);

/** @returns the names of the attributes that a relation uses in its sides, its matches and its sort */
export function listAttributes({
  source = EVERY_PRODUCT,
  target = EVERY_PRODUCT,
  match = [],
  sort = [],
}: RelationDefinition): Set<string> {
  const names = [
    ...listMatches(match)
      .flatMap((element) => [element.target, element.source])
      .flatMap((side) => (typeof side === 'string' ? side : (side.attribute ?? []))),
    ...sort.map(({ attribute }) => attribute),
  ];
  return new Set([...names, ...attributesOf(source), ...attributesOf(target)]);
}

function attributesOf(filter: Filter): string[] {
  if (isCondition(filter)) return [filter.attribute];
  return readGroup(filter)?.filters.flatMap(attributesOf) ?? [];
}

export const listDirections = (): (readonly ['asc' | 'desc', string])[] => [
  ['asc', t('smallest first')],
  ['desc', t('largest first')],
];
