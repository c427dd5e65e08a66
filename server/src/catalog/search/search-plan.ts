import { ServiceError } from '../../kernel/errors.ts';
import {
  type ComparedAttribute,
  ComparisonProblem,
  checkFilter,
  compileFilter,
  type Filter,
  type ProductTest,
  toCompared,
} from '../filters/filters.ts';
import { type Attribute, indexByKey } from '../ontology/ontology.ts';
import { findLexemes } from './filter-lexemes.ts';
import { readFilterText } from './filter-text.ts';
import { planTiers, type SearchTiers } from './tiers.ts';
import { listWords } from './words.ts';

/** Which products are looked for. Source: docs/interface.md §4.13. */
export interface SearchQuestion {
  readonly q?: string | undefined;
  /** The language of filters as JSON, or a line such as `TDP > 100`. */
  readonly filter?: string | undefined;
  /** The top of a category path. */
  readonly category?: readonly string[] | undefined;
  /** An attribute; `:desc` behind it turns the order around. Without it the best hits come first. */
  readonly sort?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface SearchSort {
  readonly attribute: ComparedAttribute;
  readonly isDescending: boolean;
}

export interface SearchPlan {
  readonly tiers: SearchTiers;
  /** For what the index cannot say; undefined: it says all. */
  readonly test: ProductTest | undefined;
  readonly sort: SearchSort | undefined;
  readonly byKey: ReadonlyMap<string, Attribute>;
}

const WORDS = 16;

/** @throws query_invalid */
export function planSearch(question: SearchQuestion, attributes: readonly Attribute[]): SearchPlan {
  const words = listWords(question.q ?? '');
  if (words.length > WORDS) throw refuse(`/q has ${words.length} words, at most ${WORDS} are looked for`);
  const byKey = indexByKey(attributes);
  const find = findAmong(byKey);
  try {
    const filter = joinFilter(question, byKey);
    const test = compileFilter(filter, find);
    const { groups, isExact } = findLexemes(filter, find);
    return {
      tiers: planTiers(words, groups),
      test: isExact ? undefined : test,
      sort: readSort(question.sort, find),
      byKey,
    };
  } catch (error) {
    if (error instanceof ComparisonProblem) throw refuse(error.message);
    throw error;
  }
}

const refuse = (detail: string) => new ServiceError('query_invalid', { details: [detail] });

/** An attribute goes by its name or a synonym. */
function findAmong(byKey: ReadonlyMap<string, Attribute>): (name: string) => ComparedAttribute {
  return (name) => {
    const attribute = byKey.get(name);
    if (attribute === undefined) throw new ComparisonProblem(`there is no attribute ${JSON.stringify(name)}`);
    const keys = [...byKey].flatMap(([key, { id }]) => (id === attribute.id ? key : []));
    return toCompared(attribute, keys);
  };
}

function joinFilter({ filter, category }: SearchQuestion, byKey: ReadonlyMap<string, Attribute>): Filter {
  const read = filter?.trim() ? [readFilter(filter, byKey)] : [];
  return { all: [...read, ...(category === undefined ? [] : [{ category }])] };
}

function readFilter(text: string, byKey: ReadonlyMap<string, Attribute>): Filter {
  const isNumeric = (name: string) => byKey.get(name)?.type === 'NUMERIC_ATTRIBUTE';
  const sent = text.trimStart().startsWith('{') ? parse(text) : readFilterText(text, isNumeric);
  if (sent === undefined)
    throw refuse(
      '/filter must be a filter as JSON, such as {"attribute":"TDP","operator":"greater","value":100}, or a line such as TDP > 100 and Brand = Corsair',
    );
  const errors = checkFilter('/filter', sent);
  if (errors.length > 0) throw new ServiceError('query_invalid', { details: errors.slice(0, 20) });
  return sent as Filter;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Told to the caller with an example, whatever the parser met.
    return undefined;
  }
}

function readSort(
  sort: string | undefined,
  find: (name: string) => ComparedAttribute,
): SearchSort | undefined {
  if (!sort || sort === 'relevance') return undefined;
  const [, name = sort, direction] = /^(.*):(asc|desc)$/s.exec(sort) ?? [];
  return { attribute: find(name), isDescending: direction === 'desc' };
}
