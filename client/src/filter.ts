/** How a condition compares. Source: docs/interface.md §12.2. */
export type Operator =
  | 'equals'
  | 'notEquals'
  | 'less'
  | 'lessOrEqual'
  | 'greater'
  | 'greaterOrEqual'
  | 'in'
  | 'contains'
  | 'exists'
  | 'between';

/** One comparison within a filter. */
export interface Condition {
  attribute: string;
  operator: Operator;
  value?: unknown;
}

/** Which products stand on a side of a relation. Source: docs/interface.md §12.2. */
export type Filter =
  | { all: Filter[] }
  | { any: Filter[] }
  | { not: Filter }
  | { category: string[] }
  | { identifiers: string[] }
  | Condition;
