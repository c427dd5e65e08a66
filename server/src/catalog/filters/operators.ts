import { type Comparable, compareValues } from './comparable.ts';

/** Operators by which two values can be compared, in matches and in filters. */
export const OPERATORS = ['equals', 'notEquals', 'less', 'lessOrEqual', 'greater', 'greaterOrEqual'] as const;
export type Operator = (typeof OPERATORS)[number];

export const FILTER_OPERATORS = [...OPERATORS, 'in', 'contains', 'exists', 'between'] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];

/** A filter in whatever it is about: products, or rows of a source. */
export const CONDITIONS_PER_FILTER = 100;
export const FILTER_DEPTH = 10;

/** Whether an operator holds, by the sign of the comparison of what stands left of it with what stands right. */
export const COMPARISONS: Readonly<Record<Operator, (order: number) => boolean>> = {
  equals: (order) => order === 0,
  notEquals: (order) => order !== 0,
  less: (order) => order < 0,
  lessOrEqual: (order) => order <= 0,
  greater: (order) => order > 0,
  greaterOrEqual: (order) => order >= 0,
};

/**
 * @param operands the value of the condition, the list of `in`, or both ends of `between`
 * @returns whether a value satisfies the operator. Source: docs/interface.md §12.2 rules 4 to 7 and 10
 */
export function compileOperator(
  operator: Exclude<FilterOperator, 'exists'>,
  operands: readonly Comparable[],
): Test<Comparable> {
  const [operand = '', end = ''] = operands;
  switch (operator) {
    case 'in': {
      const listed = new Set(operands);
      return (present) => listed.has(present);
    }
    case 'between':
      return (present) => compareValues(operand, present) <= 0 && compareValues(present, end) <= 0;
    case 'contains': {
      const part = String(operand).toLowerCase();
      return (present) => String(present).toLowerCase().includes(part);
    }
    default: {
      const holds = COMPARISONS[operator];
      return (present) => holds(compareValues(present, operand));
    }
  }
}

export type Test<Subject> = (subject: Subject) => boolean;

/** @returns the test of filters that stand in another; `not` has one */
export function combineTests<Subject>(
  kind: 'all' | 'any' | 'not',
  tests: readonly Test<Subject>[],
): Test<Subject> {
  if (kind === 'all') return (subject) => tests.every((test) => test(subject));
  if (kind === 'any') return (subject) => tests.some((test) => test(subject));
  return (subject) => !tests.some((test) => test(subject));
}
