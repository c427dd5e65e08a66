import type { AttributeCondition, ComparedAttribute, Filter } from '../filters/filters.ts';
import type { LexemeGroups } from './tiers.ts';
import { lexemeOf } from './words.ts';

/** What the index can say of a filter: every product that satisfies it has these lexemes. */
export interface FilterLexemes {
  readonly groups: LexemeGroups;
  /** Whether every product with these lexemes satisfies it. */
  readonly isExact: boolean;
}

/** Lexemes of one group; a longer list of values is compared with each product instead. */
const GROUP = 100;
const NOTHING: FilterLexemes = { groups: [], isExact: false };

export function findLexemes(
  filter: Filter,
  findAttribute: (name: string) => ComparedAttribute,
): FilterLexemes {
  const find = (one: Filter) => findLexemes(one, findAttribute);
  if ('all' in filter) return joinAll(filter.all.map(find));
  if ('any' in filter) return joinAny(filter.any.map(find));
  if ('not' in filter) return NOTHING;
  if ('category' in filter)
    return filter.category.length === 0 ? NOTHING : oneOf([lexemeOf.category(filter.category)], true);
  if ('identifiers' in filter) return oneOf(filter.identifiers.map(lexemeOf.identifier), true);
  return findLexemesOf(filter, findAttribute(filter.attribute));
}

function findLexemesOf(
  { operator, value }: AttributeCondition,
  { keys, type }: ComparedAttribute,
): FilterLexemes {
  const isText = type === 'TEXT_ATTRIBUTE' || type === 'UNTYPED_ATTRIBUTE';
  if (!isText || (operator !== 'equals' && operator !== 'in'))
    return oneOf(keys.map(lexemeOf.key), isText && operator === 'exists');
  const values = [value].flat().map(String);
  return oneOf(
    keys.flatMap((key) => values.map((one) => lexemeOf.value(key, one))),
    true,
  );
}

const oneOf = (lexemes: readonly string[], isExact: boolean): FilterLexemes =>
  lexemes.length === 0 || lexemes.length > GROUP ? NOTHING : { groups: [lexemes], isExact };

const joinAll = (parts: readonly FilterLexemes[]): FilterLexemes => ({
  groups: parts.flatMap(({ groups }) => groups),
  isExact: parts.every(({ isExact }) => isExact),
});

/** Only conditions of one group each have a group together. */
function joinAny(parts: readonly FilterLexemes[]): FilterLexemes {
  if (parts.length === 0 || parts.some(({ groups }) => groups.length !== 1)) return NOTHING;
  return oneOf(
    parts.flatMap(({ groups }) => groups.flat()),
    parts.every(({ isExact }) => isExact),
  );
}
