import type { Filter, Operator } from '../../catalog/catalog.ts';
import { markOf } from '../../storage/storage.ts';

/** What goes with what, as a person defines it. Source: docs/interface.md §12. */
export interface RelationDefinition {
  readonly name: string;
  readonly tag: string;
  readonly description?: string;
  readonly twoWay: boolean;
  readonly enabled: boolean;
  readonly source: Filter;
  readonly target: Filter;
  readonly match: readonly Match[];
  readonly sort: readonly Sort[];
  readonly names: readonly RelationName[];
  readonly excludeSameGroup: boolean;
}

/** Read from the target: its attribute, the operator, the attribute of the source. */
export interface Match {
  readonly target: string;
  readonly operator: Operator;
  readonly source: string;
}

export interface Sort {
  readonly attribute: string;
  readonly direction: 'asc' | 'desc';
}

export interface RelationName {
  readonly locale: string;
  readonly name: string;
}

export type Side = 'source' | 'target';

/** `building`: the first answers are not complete yet; a change of a ready one keeps the old answers meanwhile. */
export type RelationState = 'building' | 'ready' | 'misconfigured';

export interface Relation {
  /** Of its project, never given twice. */
  readonly id: number;
  readonly definition: RelationDefinition;
  readonly state: RelationState;
  /** Why it cannot work. */
  readonly problem: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The part of a definition that says which products can be related, and in which order. */
export type RelationRule = Pick<RelationDefinition, 'source' | 'target' | 'match' | 'sort'>;

export const ruleOf = ({ source, target, match, sort }: RelationDefinition): RelationRule => ({
  source,
  target,
  match,
  sort,
});

/** @returns the mark of a relation: of what people write, whatever became of its index */
export const markOfRelation = ({ definition }: Pick<Relation, 'definition'>): string => markOf(definition);
