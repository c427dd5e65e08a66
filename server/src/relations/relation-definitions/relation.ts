import type { Static } from 'typebox';
import { type ExpectedStates, markOf } from '../../storage/storage.ts';
import type { Match, MatchElement, RelationDefinition, WireRelation } from './relation-schemas.ts';

/** @returns the matches of an element; a match is an element too */
export function matchesOf(element: MatchElement): readonly Match[] {
  if ('any' in element) return element.any;
  return 'together' in element ? element.together : [element];
}

export const SIDES = ['source', 'target'] as const;
export type Side = (typeof SIDES)[number];

/**
 * `building` means that the first index of the relation is not complete. A changed relation remains ready and
 * gives its old answers until its new index is complete.
 */
type Answered = Pick<Static<typeof WireRelation>, 'state' | 'createdAt' | 'updatedAt'>;

export interface Relation extends Readonly<Answered> {
  /** Unique in the project and never reused. */
  readonly id: number;
  readonly definition: RelationDefinition;
  /** The reason why the relation gives no answers. */
  readonly problem: string | undefined;
}

export interface RemovedRelation {
  readonly id: number;
  readonly expected?: ExpectedStates;
}

export interface SavedRelation extends Pick<RemovedRelation, 'expected'> {
  /** The id of the relation to replace. */
  readonly id: number | undefined;
  readonly definition: RelationDefinition;
  readonly now: number;
}

export const isConstraint = ({ kind, constraint = false }: Pick<RelationDefinition, 'kind' | 'constraint'>) =>
  constraint || kind === 'total';

/** Whether the relation has an index of its members. Other kinds are complete as soon as they are defined. */
export const isIndexed = ({ kind = 'rule' }: Pick<RelationDefinition, 'kind'>) => kind === 'rule';

export const isListed = ({ kind }: Pick<RelationDefinition, 'kind'>) => kind === 'links';

/** How many columns the join index has for comparisons. */
export const COMPARISONS_PER_RULE = 8;

/** The part of a definition that determines the related products and their order. */
export type RelationRule = Pick<RelationDefinition, 'source' | 'target' | 'match' | 'sort'>;

/** The rule of a total has one match, which compares its sum with its limit. */
export const ruleOf = ({ source, target, match, sort, ...definition }: RelationDefinition): RelationRule => {
  const { total, operator, limit } = definition;
  if (total === undefined || operator === undefined || limit === undefined)
    return { source, target, match, sort };
  const { missing: _, ...added } = total;
  return { source, target, match: [{ target: added, operator, source: limit }], sort };
};

/** @returns the mark of a relation, which depends on its definition and not on its index */
export const markOfRelation = ({ definition }: Pick<Relation, 'definition'>): string => markOf(definition);
