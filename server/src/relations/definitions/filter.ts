import { type Comparable, compareValues, kindOf, type RuleAttribute, readOperand } from './comparable.ts';
import type { AttributeCondition, Filter, FilterOperator, Operator } from './relation.ts';

/** A product as rules see it. */
export interface ProductView {
  readonly identifier: string;
  readonly groupIdentifier: string;
  readonly categories: readonly (readonly string[])[];
  valuesOf(attribute: RuleAttribute): readonly Comparable[];
}

export type Test = (product: ProductView) => boolean;

/** Why a definition cannot work. Source: docs/interface.md §12.4. */
export class RuleProblem extends Error {}

export type FindAttribute = (name: string) => RuleAttribute;

/** @throws RuleProblem */
export function compileFilter(filter: Filter, findAttribute: FindAttribute): Test {
  if ('all' in filter) {
    const tests = filter.all.map((one) => compileFilter(one, findAttribute));
    return (product) => tests.every((test) => test(product));
  }
  if ('any' in filter) {
    const tests = filter.any.map((one) => compileFilter(one, findAttribute));
    return (product) => tests.some((test) => test(product));
  }
  if ('not' in filter) {
    const test = compileFilter(filter.not, findAttribute);
    return (product) => !test(product);
  }
  if ('category' in filter)
    return ({ categories }) => categories.some((path) => beginsWith(path, filter.category));
  if ('identifiers' in filter) {
    const named = new Set(filter.identifiers);
    return ({ identifier }) => named.has(identifier);
  }
  return compileCondition(filter, findAttribute(filter.attribute));
}

function beginsWith(path: readonly string[], start: readonly string[]): boolean {
  return path.length >= start.length && start.every((name, at) => path[at] === name);
}

/** No condition holds without a value; of several values one is enough. Source: docs/interface.md §12.2 rules 8, 9. */
function compileCondition(condition: AttributeCondition, attribute: RuleAttribute): Test {
  if (condition.operator === 'exists') return (product) => product.valuesOf(attribute).length > 0;
  const holds = compileOperand(condition, attribute);
  return (product) => product.valuesOf(attribute).some(holds);
}

function compileOperand(
  { operator, value }: AttributeCondition,
  attribute: RuleAttribute,
): (value: Comparable) => boolean {
  switch (operator) {
    case 'in': {
      const listed = new Set((value as unknown[]).map((one) => getOperand(one, attribute)));
      return (present) => listed.has(present);
    }
    case 'between': {
      const [low, high] = (value as unknown[]).map((one) => getOperand(one, attribute)) as [
        Comparable,
        Comparable,
      ];
      return (present) => compareValues(low, present) <= 0 && compareValues(present, high) <= 0;
    }
    case 'contains': {
      if (kindOf(attribute) !== 'text') throw new RuleProblem(`contains needs text, ${describe(attribute)}`);
      const part = String(getOperand(value, attribute)).toLowerCase();
      return (present) => String(present).toLowerCase().includes(part);
    }
    default: {
      const operand = getOperand(value, attribute);
      const holds = COMPARISONS[operator as Operator];
      return (present) => holds(compareValues(present, operand));
    }
  }
}

function getOperand(value: unknown, attribute: RuleAttribute): Comparable {
  const operand = readOperand(value, attribute);
  if (operand !== undefined) return operand;
  throw new RuleProblem(`the value ${JSON.stringify(value)} does not fit, ${describe(attribute)}`);
}

/** Whether an operator holds, by the sign of the comparison of what stands left of it with what stands right. */
export const COMPARISONS: Readonly<Record<Operator, (order: number) => boolean>> = {
  equals: (order) => order === 0,
  notEquals: (order) => order !== 0,
  less: (order) => order < 0,
  lessOrEqual: (order) => order <= 0,
  greater: (order) => order > 0,
  greaterOrEqual: (order) => order >= 0,
};

const NAMES = { text: 'text', number: 'a number', boolean: 'true or false', date: 'a date' } as const;

/** @returns what an attribute holds, for the reason of a problem */
export function describe(attribute: RuleAttribute): string {
  const unit = attribute.unitName === undefined ? '' : ` with the unit ${attribute.unitName}`;
  return `the attribute ${JSON.stringify(attribute.name)} is ${NAMES[kindOf(attribute)]}${unit}`;
}

const conditionsOf = (filter: Filter): readonly Filter[] => {
  if ('all' in filter) return filter.all.flatMap(conditionsOf);
  if ('any' in filter) return filter.any.flatMap(conditionsOf);
  return 'not' in filter ? conditionsOf(filter.not) : [filter];
};

/** @returns every condition of a filter, in the order written */
export function listConditions(filter: Filter): readonly Filter[] {
  return conditionsOf(filter);
}

/** @returns how deep filters stand in one another; a condition alone is 1 */
export function depthOf(filter: Filter): number {
  if ('all' in filter) return 1 + Math.max(0, ...filter.all.map(depthOf));
  if ('any' in filter) return 1 + Math.max(0, ...filter.any.map(depthOf));
  return 'not' in filter ? 1 + depthOf(filter.not) : 1;
}

export const FILTER_OPERATORS: readonly FilterOperator[] = [
  'equals',
  'notEquals',
  'less',
  'lessOrEqual',
  'greater',
  'greaterOrEqual',
  'in',
  'contains',
  'exists',
  'between',
];
