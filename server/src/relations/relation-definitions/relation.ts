import type { Static } from 'typebox';
import { type ExpectedStates, markOf } from '../../storage/storage.ts';
import type { Match, MatchElement, RelationDefinition, WireRelation } from './relation-schemas.ts';

/** @returns the matches of an element, which may be one itself */
export function matchesOf(element: MatchElement): readonly Match[] {
  if ('any' in element) return element.any;
  return 'together' in element ? element.together : [element];
}

export const SIDES = ['source', 'target'] as const;
export type Side = (typeof SIDES)[number];

/** `building`: its first index is not complete; a changed relation stays ready and gives the old answers until then. */
type Answered = Pick<Static<typeof WireRelation>, 'state' | 'createdAt' | 'updatedAt'>;

export interface Relation extends Readonly<Answered> {
  /** Unique in its project; never reused. */
  readonly id: number;
  readonly definition: RelationDefinition;
  /** Why it gives no answers. */
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
  readonly at: number;
}

export const isConstraint = ({ kind, constraint = false }: Pick<RelationDefinition, 'kind' | 'constraint'>) =>
  constraint || kind === 'total';

/** Whether products become its members; relations of other kinds are complete as soon as they are defined. */
export const isIndexed = ({ kind = 'rule' }: Pick<RelationDefinition, 'kind'>) => kind === 'rule';

export const isListed = ({ kind }: Pick<RelationDefinition, 'kind'>) => kind === 'links';

/** The number of columns for comparisons in the join index. */
export const COMPARISONS_PER_RULE = 8;

/** The part of a definition that determines which products are related, and in which order. */
export type RelationRule = Pick<RelationDefinition, 'source' | 'target' | 'match' | 'sort'>;

/** A total compares like a match between its two sides. */
export const ruleOf = ({ source, target, match, sort, ...definition }: RelationDefinition): RelationRule => {
  const { total, operator, limit } = definition;
  if (total === undefined || operator === undefined || limit === undefined)
    return { source, target, match, sort };
  const { missing: _, ...added } = total;
  return { source, target, match: [{ target: added, operator, source: limit }], sort };
};

/** @returns the mark of a relation: of its definition, not of its index */
export const markOfRelation = ({ definition }: Pick<Relation, 'definition'>): string => markOf(definition);
