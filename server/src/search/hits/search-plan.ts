import {
  type AttributeCondition,
  type ComparedAttribute,
  ComparisonProblem,
  checkFilter,
  compileFilter,
  type Filter,
  type FindAttribute,
  OWN,
  type ProductTest,
  toCompared,
} from '../../catalog/filters/filters.ts';
import type { Attribute } from '../../catalog/ontology/ontology.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { parseJson } from '../../kernel/json-scan.ts';
import type { LexemeGroups } from '../search-port.ts';
import {
  keyOfGroup,
  lexemeOf,
  listWords,
  planTiers,
  type SearchTiers,
  type WordedSearch,
} from '../words/words.ts';

/** The products to find. Source: docs/interface §4.13. */
export interface SearchQuestion {
  readonly q?: string | undefined;
  /** A filter in the language of filters as JSON, or a line such as `TDP > 100`. */
  readonly filter?: string | undefined;
  /** The beginning of a category path. */
  readonly category?: readonly string[] | undefined;
  /** An attribute, in descending order with `:desc`. Without it the best hits come first. */
  readonly sort?: string | undefined;
  /** Identifiers, or groups, to which the search is limited. */
  readonly named?: readonly string[] | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface SearchSort {
  readonly attribute: ComparedAttribute;
  readonly isDescending: boolean;
}

export interface SearchPlan {
  readonly worded: WordedSearch;
  readonly tiers: SearchTiers;
  /**
   * Whether only a part of the words was compared with the question, so that products with typing errors may be
   * missing.
   */
  readonly isCut?: boolean;
  /** Tests the conditions that the index cannot check; undefined: the index checks all conditions. */
  readonly test: ProductTest | undefined;
  readonly sort: SearchSort | undefined;
  readonly byKey: ReadonlyMap<string, Attribute>;
}

const WORDS = 16;

/** @throws query_invalid */
export function planSearch(question: SearchQuestion, byKey: SearchPlan['byKey']): SearchPlan {
  const words = listWords(question.q ?? '');
  if (words.length > WORDS) throw refuse(`/q has ${words.length} words, but at most ${WORDS} are allowed`);
  const find = findAmong(byKey);
  try {
    const filters = question.filter?.trim() ? [readFilter(question.filter, byKey)] : [];
    const { category, named } = question;
    const filter = { all: [...filters, ...(category === undefined ? [] : [{ category }])] };
    const test = compileFilter(filter, find);
    const { groups, isExact } = findLexemes(filter, find);
    const ofNamed = named?.flatMap((identifier) => [
      lexemeOf.identifier(identifier),
      lexemeOf.group(keyOfGroup(identifier)),
    ]);
    const worded = { words, narrowing: ofNamed === undefined ? groups : [...groups, ofNamed] };
    return {
      worded,
      tiers: planTiers(worded),
      test: isExact ? undefined : test,
      sort: readSort(question.sort, find),
      byKey,
    };
  } catch (error) {
    if (error instanceof ComparisonProblem) throw refuse(error.message);
    throw error;
  }
}

const refuse = (detail: string) => new ServiceError('query_invalid', detail);

/** Finds an attribute by its name or a synonym. */
function findAmong(byKey: ReadonlyMap<string, Attribute>): FindAttribute {
  return (name) => {
    const attribute = byKey.get(name);
    if (attribute === undefined) throw new ComparisonProblem(`there is no attribute ${JSON.stringify(name)}`);
    const keys = [...byKey].flatMap(([key, { id }]) => (id === attribute.id ? key : []));
    return toCompared(attribute, keys);
  };
}

function readFilter(text: string, byKey: ReadonlyMap<string, Attribute>): Filter {
  const isNumeric = (name: string) => byKey.get(name)?.type === 'NUMERIC_ATTRIBUTE';
  const sent = text.trimStart().startsWith('{') ? parseJson(text) : readFilterText(text, isNumeric);
  if (sent === undefined)
    throw refuse(
      '/filter must be a filter as JSON, such as {"attribute":"TDP","operator":"greater","value":100}, or a line such as TDP > 100 and Brand = Corsair',
    );
  const errors = checkFilter('/filter', sent);
  if (errors.length > 0) throw new ServiceError('query_invalid', { details: errors.slice(0, 20) });
  return sent as Filter;
}

function readSort(sort: string | undefined, find: FindAttribute): SearchSort | undefined {
  if (!sort || sort === 'relevance') return undefined;
  const [, name = sort, direction] = /^(.*):(asc|desc)$/s.exec(sort) ?? [];
  return { attribute: findSorted(name, find), isDescending: direction === 'desc' };
}

/** Finds an attribute, or the name that every product has. */
function findSorted(name: string, find: FindAttribute): ComparedAttribute {
  try {
    return find(name);
  } catch (error) {
    if (name === OWN.name.name && error instanceof ComparisonProblem) return OWN.name;
    throw error;
  }
}

/** The lexemes of a filter. Every product that satisfies the filter has them. */
interface FilterLexemes {
  readonly groups: LexemeGroups;
  /** Whether every product with these lexemes satisfies the filter. */
  readonly isExact: boolean;
}

/** The most lexemes of one group. A longer list of values is compared with each product instead. */
const GROUP = 100;
const NOTHING: FilterLexemes = { groups: [], isExact: false };

function findLexemes(filter: Filter, findAttribute: FindAttribute): FilterLexemes {
  const find = (part: Filter) => findLexemes(part, findAttribute);
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
    keys.flatMap((key) => values.map((text) => lexemeOf.value(key, text))),
    true,
  );
}

const oneOf = (lexemes: readonly string[], isExact: boolean): FilterLexemes =>
  lexemes.length === 0 || lexemes.length > GROUP ? NOTHING : { groups: [lexemes], isExact };

const joinAll = (parts: readonly FilterLexemes[]): FilterLexemes => ({
  groups: parts.flatMap(({ groups }) => groups),
  isExact: parts.every(({ isExact }) => isExact),
});

/** Joins conditions with exactly one group each to a single group; other conditions give no lexemes. */
function joinAny(parts: readonly FilterLexemes[]): FilterLexemes {
  if (parts.length === 0 || parts.some(({ groups }) => groups.length !== 1)) return NOTHING;
  return oneOf(
    parts.flatMap(({ groups }) => groups.flat()),
    parts.every(({ isExact }) => isExact),
  );
}

/** A filter in a line, in the form that people and agents write: `TDP > 100 and Brand = Corsair`. */

const PART = /^\s*(?:"([^"]*)"|([^<>=!~"]+?))\s*(?:(<=|>=|!=|<|>|=|~)\s*(?:"([^"]*)"|([^"]*?)))?\s*$/;
const SIGNS = {
  '=': 'equals',
  '!=': 'notEquals',
  '<': 'less',
  '<=': 'lessOrEqual',
  '>': 'greater',
  '>=': 'greaterOrEqual',
  '~': 'contains',
} as const;
/** Matches `and` outside quotes. */
const AND = /\s+and\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/i;

/**
 * @param isNumeric returns whether the numbers of an attribute are compared as numbers
 * @returns undefined if the text is not a filter in a line
 */
function readFilterText(text: string, isNumeric: (attribute: string) => boolean): Filter | undefined {
  const all = text.split(AND).map((part) => readPart(part, isNumeric));
  return all.includes(undefined) ? undefined : { all: all as Filter[] };
}

function readPart(part: string, isNumeric: (attribute: string) => boolean): Filter | undefined {
  const match = PART.exec(part);
  if (match === null) return undefined;
  const attribute = match[1] ?? match[2] ?? '';
  const operator = SIGNS[match[3] as keyof typeof SIGNS];
  if (operator === undefined) return { attribute, operator: 'exists' };
  const value = match[4] ?? match[5] ?? '';
  const isNumber = /^[+-]?\d+(\.\d+)?$/.test(value) && isNumeric(attribute);
  return { attribute, operator, value: isNumber ? Number(value) : value };
}
