import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { ServiceError } from '../../kernel/errors.ts';
import { LARGEST_LIMIT } from './answer-plans.ts';
import { refuseMixedUp } from './included-lists.ts';
import type { RelatedRequest } from './related-answers.ts';
import { IncludeRelations, IncludeTags, type SingleBody, type SingleSentQuery } from './related-schemas.ts';

/** Reads what a request includes, from its query and its body. Source: docs/interface §4.8. */

/** A request without its products. */
export type Requested = Omit<RelatedRequest, 'identifiers' | 'form'>;

/** @throws query_invalid */
export function readQuery(query: Omit<Static<typeof SingleSentQuery>, 'identifier'>): Requested {
  const relations = { schema: IncludeRelations, isGood: isRelation };
  const included = {
    includeRelations: readList('includeRelations', query.includeRelations, relations),
    includeTags: readList('includeTags', query.includeTags, { schema: IncludeTags, isGood: isTag }),
  };
  refuseMixedUp('query_invalid', included);
  const { explain, assumed, locale } = query;
  return { ...included, explain, assumed, locale };
}

/** @returns the parts of the body other than the products @throws request_invalid */
export function readBody(body: Static<typeof SingleBody>) {
  const { includeRelations, includeTags, explain, assumed, locale } = body;
  refuseMixedUp('request_invalid', { includeRelations, includeTags });
  return { includeRelations, includeTags, explain, assumed, locale };
}

/** The checks of the schemas as code. */
const isLimit = (value: unknown) =>
  value === undefined || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LARGEST_LIMIT);
const isRelation = (entry: unknown) =>
  isObject(entry) && Number.isSafeInteger(entry.id) && isLimit(entry.limit);
const isTag = (entry: unknown) =>
  isObject(entry) && typeof entry.tag === 'string' && isLimit(entry.limitPerRelation);
const isObject = (entry: unknown): entry is Record<string, unknown> =>
  typeof entry === 'object' && entry !== null && !Array.isArray(entry);

/** @throws query_invalid */
function readList<Schema extends TSchema>(
  name: string,
  text: string | undefined,
  { schema, isGood }: { schema: Schema; isGood: (entry: unknown) => boolean },
): Static<Schema> | undefined {
  if (text === undefined || text === '') return undefined;
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new ServiceError('query_invalid', `/${name} must be a JSON list: ${(error as Error).message}`);
  }
  // Runs the checks in code first, because `Value.Errors` interprets the schema. Interpreting takes longer
  // than the remaining work of a small request.
  if (Array.isArray(list) && list.length <= 1_000 && list.every(isGood)) return list as Static<Schema>;
  const errors = [...Value.Errors(schema, list)].map(
    ({ instancePath, message }) => `/${name}${instancePath} ${message}`,
  );
  if (errors.length > 0) throw new ServiceError('query_invalid', { details: errors.slice(0, 20) });
  return list as Static<Schema>;
}
