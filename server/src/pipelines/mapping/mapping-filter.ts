/** The filter of a mapping decides which rows make products. */

import { Value } from 'typebox/value';
import {
  CONDITIONS_PER_FILTER,
  type Comparable,
  combineTests,
  compileOperator,
  FILTER_DEPTH,
  type Test,
} from '../../catalog/filters/filters.ts';
import {
  type CompiledColumn,
  compileColumn,
  compileNumber,
  MappingProblem,
  type MappingTexts,
  matchPattern,
  type RowView,
} from './mapping-columns.ts';
import {
  ColumnSchema,
  EXPRESSION_LENGTH,
  PATTERN_LENGTH,
  ROW_OPERATORS,
  type RowCondition,
  type RowOperator,
} from './mapping-schemas.ts';

type RowTest = Test<RowView>;

interface FilterContext {
  readonly texts: MappingTexts;
  /** Columns that conditions read by name. */
  readonly uses: Set<string>;
}

/**
 * Takes a filter in the form in which it was sent, because a filter is recursive. Operators and comparison are the same
 * as in all filters (docs/interface §12.2): no condition holds without a value, and one of several values is enough.
 * `startsWith`, `matches` and expressions exist only for rows.
 * @throws MappingProblem
 */
export function compileRowFilter(filter: unknown, texts: MappingTexts) {
  const context: FilterContext = { texts, uses: new Set() };
  let conditions = 0;
  function compile(given: unknown, depth: number): RowTest {
    if (depth > FILTER_DEPTH) throw new MappingProblem(`filter is nested deeper than ${FILTER_DEPTH} levels`);
    const { kind, filter: parsed } = readFilter(given);
    const compileParts = (parts: unknown) => [parts].flat().map((part) => compile(part, depth + 1));
    if (kind !== 'expression' && kind !== 'column') return combineTests(kind, compileParts(parsed[kind]));
    conditions += 1;
    if (conditions > CONDITIONS_PER_FILTER)
      throw new MappingProblem(`filter has more than ${CONDITIONS_PER_FILTER} conditions`);
    return kind === 'expression'
      ? compileTest(parsed.expression as string, context)
      : compileCondition(parsed as RowCondition, context);
  }
  return { takes: compile(filter, 1), uses: context.uses as ReadonlySet<string> };
}

const KINDS = ['all', 'any', 'not', 'expression', 'column'] as const;
type FilterKind = (typeof KINDS)[number];

function readFilter(given: unknown): { kind: FilterKind; filter: Record<string, unknown> } {
  const filter = { ...(given as Record<string, unknown> | undefined) };
  const kind = KINDS.find((key) => Object.hasOwn(filter, key));
  if (kind === undefined || Array.isArray(given))
    throw new MappingProblem('filter must be an object with all, any, not, expression or column');
  const allowed = kind === 'column' ? ['column', 'operator', 'value'] : [kind];
  const unknown = Object.keys(filter).find((key) => !allowed.includes(key));
  if (unknown !== undefined)
    throw new MappingProblem(`filter: ${JSON.stringify(unknown)} is not allowed beside ${kind}`);
  checkPart(kind, filter[kind]);
  return { kind, filter };
}

function checkPart(kind: FilterKind, part: unknown): void {
  const isList = kind === 'all' || kind === 'any';
  if (isList && !Array.isArray(part)) throw new MappingProblem(`filter: ${kind} must be a list of filters`);
  if (kind === 'not' && Array.isArray(part)) throw new MappingProblem('filter: not takes one filter');
  const isExpression = typeof part === 'string' && part !== '' && part.length <= EXPRESSION_LENGTH;
  if (kind === 'expression' && !isExpression)
    throw new MappingProblem(`filter: expression must be a text of 1 to ${EXPRESSION_LENGTH} characters`);
}

/** An expression without a result, such as a comparison with a missing column, is not true. */
function compileTest(expression: string, { texts }: FilterContext): RowTest {
  const index = texts.addExpression(expression);
  return (row) => {
    const result = row.results[index];
    if (typeof result === 'boolean') return result;
    if (result === null || result === undefined) return false;
    const isProblem = typeof result === 'object' && 'problem' in result;
    const reason = isProblem ? result.problem : 'the expression must give true or false';
    row.problems.push({ field: 'filter', reason });
    return false;
  };
}

function compileCondition({ column, operator, value }: RowCondition, context: FilterContext): RowTest {
  if (!Value.Check(ColumnSchema, column)) throw new MappingProblem('filter: column is not a valid column');
  if (!ROW_OPERATORS.includes(operator))
    throw new MappingProblem(`filter: ${String(operator).slice(0, 50)} is not an operator`);
  const read: CompiledColumn = compileColumn(column, { field: 'filter', texts: context.texts });
  for (const name of read.uses) context.uses.add(name);
  if (operator === 'exists') {
    if (value !== undefined) throw new MappingProblem('filter: exists takes no value');
    return (row) => read.read(row) !== undefined;
  }
  const holds = operator === 'matches' ? compileMatches(value, context) : compileComparison(operator, value);
  return (row) => {
    const present = read.read(row);
    if (present === undefined) return false;
    return typeof present === 'string' ? holds(present) : present.some(holds);
  };
}

function compileComparison(
  operator: Exclude<RowOperator, 'exists' | 'matches'>,
  value: unknown,
): Test<string> {
  if (operator === 'startsWith') {
    const start = readOperandText(operator, value);
    return (present) => present.startsWith(start);
  }
  const operands = readOperands(operator, value);
  const texts = operands.filter((operand) => typeof operand === 'string');
  const numbers = operands.filter((operand) => typeof operand === 'number');
  const tests: Test<string>[] = [];
  if (texts.length > 0) tests.push(compileOperator(operator, texts));
  if (numbers.length > 0) tests.push(compileNumbers(compileOperator(operator, numbers)));
  return combineTests('any', tests);
}

const compileMatches = (pattern: unknown, { texts }: FilterContext): Test<string> =>
  matchPattern(texts.patterns.add(readOperandText('matches', pattern), { field: 'filter' }));

const readPlain = compileNumber({ decimal: 'point', group: '' });

/**
 * A column has no type. A number in the condition makes the column numeric, and a text that is not a number does not
 * satisfy the condition.
 */
function compileNumbers(holds: Test<Comparable>): Test<string> {
  return (present) => {
    const number = readPlain(present);
    return number !== undefined && holds(Number(number));
  };
}

const VALUES = 10_000;

function readOperands(operator: RowOperator, value: unknown): Comparable[] {
  if (operator === 'contains') return [readOperandText(operator, value)];
  if (operator !== 'in' && operator !== 'between') return [readOperand(operator, value)];
  if (!Array.isArray(value) || value.length === 0 || value.length > VALUES)
    throw new MappingProblem(`filter: ${operator} takes a list`);
  const operands = value.map((item) => readOperand(operator, item));
  const kinds = new Set(operands.map((operand) => typeof operand));
  if (operator === 'between' && (operands.length !== 2 || kinds.size > 1))
    throw new MappingProblem('filter: between takes two numbers or two texts');
  return operands;
}

const readOperand = (operator: string, value: unknown): Comparable =>
  typeof value === 'number' && Number.isFinite(value) ? value : readOperandText(operator, value, true);

function readOperandText(operator: string, value: unknown, mayBeEmpty = false): string {
  const isGood = typeof value === 'string' && value.length <= PATTERN_LENGTH && (mayBeEmpty || value !== '');
  if (isGood) return value;
  const accepted = `a number or a text of up to ${PATTERN_LENGTH} characters`;
  throw new MappingProblem(`filter: ${operator} takes ${accepted}`);
}
