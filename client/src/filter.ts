import type { MappedColumn } from './wire.ts';

/** The operator of a condition. Source: docs/interface §12.2. */
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

type Operand = string | number | boolean;

/** One comparison within a filter. */
export type Condition = { attribute: string } & (
  | { operator: 'exists'; value?: true }
  | { operator: 'in'; value: Operand[] }
  | { operator: 'between'; value: [low: Operand, high: Operand] }
  | { operator: Exclude<Operator, 'exists' | 'in' | 'between'>; value: Operand }
);

/** The products on a side of a relation. Source: docs/interface §12.2. */
export type Filter =
  | { all: Filter[] }
  | { any: Filter[] }
  | { not: Filter }
  | { category: string[] }
  | { identifiers: string[] }
  | Condition;

/** The rows of a file that a pipeline reads. Source: docs/interface §13.3. */
export type RowFilter =
  | { all: RowFilter[] }
  | { any: RowFilter[] }
  | { not: RowFilter }
  | { expression: string }
  | RowCondition;

/** One comparison of a row. If the value is a number, the column is compared as a number. */
export type RowCondition = { column: MappedColumn } & (
  | { operator: 'exists'; value?: never }
  | { operator: 'in'; value: (string | number)[] }
  | { operator: 'between'; value: [low: string | number, high: string | number] }
  | { operator: Exclude<RowOperator, 'exists' | 'in' | 'between'>; value: string | number }
);

type RowOperator = Operator | 'startsWith' | 'matches';
