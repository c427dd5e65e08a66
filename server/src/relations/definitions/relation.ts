import type { Computation, Filter, Operator, OwnField } from '../../catalog/filters/filters.ts';
import { type ExpectedStates, markOf } from '../../storage/storage.ts';

/**
 * `links`: a person lists the pairs; the filters then hold every product, and nothing is matched or sorted. `total`: a sum over
 * the products of the target side is compared with each one of the source side; it relates no products.
 */
export type RelationKind = 'rule' | 'links' | 'total';

/** A relation as a person defines it. Source: docs/interface.md §12. */
export interface RelationDefinition {
  /** Absent: a rule. */
  readonly kind?: RelationKind;
  readonly name: string;
  readonly tag: string;
  readonly description?: string;
  readonly twoWay: boolean;
  readonly enabled: boolean;
  readonly source: Filter;
  readonly target: Filter;
  readonly match: readonly MatchElement[];
  readonly sort: readonly Sort[];
  readonly names: readonly RelationName[];
  readonly excludeSameGroup: boolean;
  /** Whether products on its two sides must satisfy it to be used together. Absent: no. */
  readonly constraint?: boolean;
  /** Of a total: what is added up, how it must compare, and with what. */
  readonly total?: TotalValue;
  readonly operator?: TotalOperator;
  readonly limit?: ComputedValue;
}

/** `passes`: a product without a value counts nothing. */
export interface TotalValue extends ComputedValue, Pick<Match, 'missing'> {}

/** Of a sum that several values of a product could make, one that compares so is enough. */
export const TOTAL_OPERATORS = ['less', 'lessOrEqual', 'greater', 'greaterOrEqual'] as const;
export type TotalOperator = (typeof TOTAL_OPERATORS)[number];

/**
 * An attribute by its name, or a field that every product has; its name alone means the attribute, if there is one. Or what
 * is computed of a numeric attribute: times the factor first.
 */
export type MatchedValue = string | { readonly field: OwnField } | ComputedValue;

export interface ComputedValue extends Computation {
  readonly attribute: string;
}

/** Read from the target: its value, the operator, the value of the source. */
export interface Match {
  readonly target: MatchedValue;
  readonly operator: Operator;
  readonly source: MatchedValue;
  /** `passes`: it holds where the target or the source has no value. */
  readonly missing?: 'fails' | 'passes';
  /** Of equalities: a table whose pairs hold too. */
  readonly table?: string;
}

/** `any`: one of the matches must hold. `together`: one row of the target satisfies all of them with one row of the source. */
export type MatchElement =
  | Match
  | { readonly any: readonly Match[] }
  | { readonly together: readonly Match[] };

/** @returns the matches of an element; what it is itself, when it is one */
export function matchesOf(element: MatchElement): readonly Match[] {
  if ('any' in element) return element.any;
  return 'together' in element ? element.together : [element];
}

/** A list of pairs of values that go together. Source: docs/interface.md §12.9. */
export interface ValueTable {
  readonly name: string;
  readonly pairs: readonly (readonly [source: string, target: string])[];
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

/** `building`: its first index is not complete; a ready relation that was changed gives the old answers until then. */
export type RelationState = 'building' | 'ready' | 'misconfigured';

export interface Relation {
  /** Unique in its project; never reused. */
  readonly id: number;
  readonly definition: RelationDefinition;
  readonly state: RelationState;
  /** Why it gives no answers. */
  readonly problem: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface RemovedRelation {
  readonly id: number;
  readonly expected?: ExpectedStates;
}

export interface SavedRelation extends Pick<RemovedRelation, 'expected'> {
  /** Of the one that is replaced. */
  readonly id: number | undefined;
  readonly definition: RelationDefinition;
  readonly at: number;
}

export const isConstraint = ({ kind, constraint = false }: Pick<RelationDefinition, 'kind' | 'constraint'>) =>
  constraint || kind === 'total';

/** Whether products become its members; the others are complete as soon as they are defined. */
export const isIndexed = ({ kind = 'rule' }: Pick<RelationDefinition, 'kind'>) => kind === 'rule';

export const isListed = ({ kind }: Pick<RelationDefinition, 'kind'>) => kind === 'links';

/** The part of a definition that says which products can be related, and in which order. */
export type RelationRule = Pick<RelationDefinition, 'source' | 'target' | 'match' | 'sort'>;

/** A total compares as a match between its two sides would. */
export const ruleOf = ({ source, target, match, sort, ...definition }: RelationDefinition): RelationRule => {
  const { total, operator, limit } = definition;
  if (total === undefined || operator === undefined || limit === undefined)
    return { source, target, match, sort };
  const { missing: _, ...added } = total;
  return { source, target, match: [{ target: added, operator, source: limit }], sort };
};

/** @returns the mark of a relation: of its definition, not of its index */
export const markOfRelation = ({ definition }: Pick<Relation, 'definition'>): string => markOf(definition);
