import { BoundedMap } from '../../kernel/bounded-map.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Relation } from '../relation-definitions/relation-definitions.ts';
import type { RequestedTag } from './relate-request.ts';

/** Plans which relations a request gets for each product, and checks that the request is not too large. */

/** The relations that a request names, as sent. */
export interface IncludedRelations {
  readonly includeRelations?: readonly { readonly id: number; readonly limit?: number }[] | undefined;
  readonly includeTags?: readonly { readonly tag: string; readonly limitPerRelation?: number }[] | undefined;
}

export const DEFAULT_LIMIT = 10;
export const LARGEST_LIMIT = 100;
export const SOURCES_PER_REQUEST = 1_000;
const GROUPS_PER_REQUEST = 300_000;

/**
 * @returns the identifiers without repetition
 * @throws bad_request for too many identifiers; repeated ones count too
 */
export function checkSources(sent: readonly string[]): readonly string[] {
  if (sent.length <= SOURCES_PER_REQUEST) return [...new Set(sent)];
  const detail = `${sent.length} identifiers are too many: at most ${SOURCES_PER_REQUEST} are answered at once`;
  throw new ServiceError('bad_request', detail);
}

/** @throws bad_request */
export function checkIncluded(included: IncludedRelations): void {
  if ((included.includeRelations ?? []).length + (included.includeTags ?? []).length > 0) return;
  throw new ServiceError('bad_request', 'send includeRelations, includeTags or both');
}

/** The relations to answer for each product. */
interface AnswerPlan {
  readonly tags: readonly RequestedTag[];
  /** The number of groups requested for one product. A relation counts once for each mention. */
  readonly groups: number;
}

/** The most cached plans over all projects, and the most characters in the request of a cached plan. */
const PLANS = { most: 1_000, longest: 1_000 };

/**
 * Caches plans of answers. The pages of a shop request the same relations for one product after another.
 * Planning each request again took a tenth of the time of a cached answer.
 */
export class AnswerPlans {
  private readonly plans = new BoundedMap<string, AnswerPlan & { readonly relations: readonly Relation[] }>({
    most: PLANS.most,
  });

  /** @param relations the relations of the present catalog version */
  find(
    projectId: number,
    { includeTags, includeRelations }: IncludedRelations,
    relations: readonly Relation[],
  ): AnswerPlan {
    const included = { includeTags, includeRelations };
    const requested = JSON.stringify([projectId, includeTags, includeRelations]);
    const cached = this.plans.get(requested);
    if (cached?.relations === relations) return cached;
    const plan = planAnswer(included, relations);
    if (requested.length > PLANS.longest) return plan;
    this.plans.set(requested, { ...plan, relations });
    return plan;
  }
}

/**
 * Tags are in the order of their first mention, and those of `includeTags` come first. Within a tag, each
 * relation occurs once by id, with its largest limit. Source: docs/interface §4.8 rules 12, 13 and 15.
 */
function planAnswer(requested: IncludedRelations, relations: readonly Relation[]): AnswerPlan {
  const included = listIncluded(requested, relations);
  const groups = included.reduce((sum, { limit }) => sum + limit, 0);
  const tags = new Map<string, Map<number, number>>();
  for (const { id, tag, limit } of included) {
    if (tag === undefined) continue;
    const limits = tags.getOrInsertComputed(tag, () => new Map<number, number>());
    limits.set(id, Math.max(limits.get(id) ?? 0, limit));
  }
  const planned = [...tags].map(([tag, limits]) => ({
    tag,
    relations: [...limits].map(([id, limit]) => ({ id, limit })).sort((a, b) => a.id - b.id),
  }));
  return { tags: planned, groups };
}

/**
 * @returns each mention of a relation, by its id or by its tag; a tag without relations that give answers has
 * none
 */
function listIncluded(
  { includeRelations = [], includeTags = [] }: IncludedRelations,
  relations: readonly Relation[],
): { readonly id: number; readonly tag: string | undefined; readonly limit: number }[] {
  const enabled = relations.filter(({ definition }) => definition.enabled);
  const tagOf = (id: number) => enabled.find((relation) => relation.id === id)?.definition.tag;
  return [
    ...includeTags.flatMap(({ tag, limitPerRelation: limit = DEFAULT_LIMIT }) =>
      enabled.filter(({ definition }) => definition.tag === tag).map(({ id }) => ({ id, tag, limit })),
    ),
    ...includeRelations.map(({ id, limit = DEFAULT_LIMIT }) => ({ id, tag: tagOf(id), limit })),
  ];
}

/** @throws query_invalid */
export function checkSize(identifiers: number, limits: number): void {
  const groups = identifiers * limits;
  if (groups <= GROUPS_PER_REQUEST) return;
  throw new ServiceError(
    'query_invalid',
    `${identifiers} identifiers × limits of ${limits} are ${groups} groups: at most ${GROUPS_PER_REQUEST} are answered at once`,
  );
}
