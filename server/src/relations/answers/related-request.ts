import { ServiceError } from '../../kernel/errors.ts';
import type { AnswerForm } from './related-answers.ts';

/** What a request asks of relations, as it was sent. */
export interface IncludedRelations {
  readonly includeRelations?: readonly { readonly id: number; readonly limit?: number }[] | undefined;
  readonly includeTags?: readonly { readonly tag: string; readonly limitPerRelation?: number }[] | undefined;
}

/** What is to be answered for each product, in this order. */
export interface WantedTag {
  readonly tag: string;
  readonly relations: readonly { readonly id: number; readonly limit: number }[];
}

export interface RelatedRequest {
  readonly identifiers: readonly string[];
  readonly tags: readonly WantedTag[];
  readonly form: AnswerForm;
  readonly explain: boolean;
}

export const DEFAULT_LIMIT = 10;
export const LARGEST_LIMIT = 100;
const SOURCES_PER_REQUEST = 1_000;
const GROUPS_PER_REQUEST = 300_000;

/** @returns the identifiers, each once @throws bad_request when more were sent than are answered, repeated or not */
export function checkSources(sent: readonly string[]): readonly string[] {
  if (sent.length <= SOURCES_PER_REQUEST) return [...new Set(sent)];
  const details = [`${sent.length} identifiers, at most ${SOURCES_PER_REQUEST} are answered at once`];
  throw new ServiceError('bad_request', { details });
}

/** @throws bad_request */
export function checkIncluded(included: IncludedRelations): void {
  if ((included.includeRelations ?? []).length + (included.includeTags ?? []).length > 0) return;
  throw new ServiceError('bad_request', { details: ['send includeRelations, includeTags or both'] });
}

/**
 * Tags in the order of their first mention, `includeTags` first; in a tag relations by id, each once with the larger
 * limit. Source: docs/interface.md §4.8 rules 12, 13 and 15.
 */
export function planTags(
  { includeRelations = [], includeTags = [] }: IncludedRelations,
  known: readonly { readonly id: number; readonly tag: string }[],
): WantedTag[] {
  const tags = new Map<string, Map<number, number>>();
  const want = (tag: string, id: number, limit: number) => {
    const relations = tags.get(tag) ?? new Map<number, number>();
    tags.set(tag, relations.set(id, Math.max(relations.get(id) ?? 0, limit)));
  };
  for (const { tag, limitPerRelation = DEFAULT_LIMIT } of includeTags) {
    for (const relation of known) if (relation.tag === tag) want(tag, relation.id, limitPerRelation);
  }
  for (const { id, limit = DEFAULT_LIMIT } of includeRelations) {
    const relation = known.find((one) => one.id === id);
    if (relation !== undefined) want(relation.tag, id, limit);
  }
  return [...tags].map(([tag, relations]) => ({
    tag,
    relations: [...relations].map(([id, limit]) => ({ id, limit })).sort((a, b) => a.id - b.id),
  }));
}

/** @throws query_invalid; a tag counts as its limit × its relations */
export function checkSize(
  identifiers: readonly string[],
  { includeRelations = [], includeTags = [] }: IncludedRelations,
  known: readonly { readonly tag: string }[],
): void {
  const limits =
    includeRelations.reduce((sum, { limit = DEFAULT_LIMIT }) => sum + limit, 0) +
    includeTags.reduce(
      (sum, { tag, limitPerRelation = DEFAULT_LIMIT }) =>
        sum + limitPerRelation * known.filter((one) => one.tag === tag).length,
      0,
    );
  if (identifiers.length * limits <= GROUPS_PER_REQUEST) return;
  throw new ServiceError('query_invalid', {
    details: [
      `${identifiers.length} identifiers × limits of ${limits} are ${identifiers.length * limits} groups, at most ${GROUPS_PER_REQUEST} are answered at once`,
    ],
  });
}
