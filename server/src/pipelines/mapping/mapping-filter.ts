import {
  type CompiledColumn,
  compileColumn,
  MappingProblem,
  type MappingTexts,
  type RowView,
} from './mapping-columns.ts';
import { compileNumber } from './mapping-numbers.ts';
import { matchPattern } from './mapping-patterns.ts';
import {
  type Column,
  EXPRESSION_LENGTH,
  FILTER_CONDITIONS,
  FILTER_DEPTH,
  PATTERN_LENGTH,
  ROW_OPERATORS,
  type RowCondition,
  type RowOperator,
} from './mapping-schemas.ts';

type RowTest = (row: RowView) => boolean;

export interface RowFilterTest {
  readonly takes: RowTest;
  /** Columns that its conditions read by name. */
  readonly uses: ReadonlySet<string>;
}

export interface FilterInput {
  readonly texts: MappingTexts;
  /** The schema of columns: a filter is given as it came, since it stands in itself. */
  isColumn(column: unknown): column is Column;
}

interface FilterPlace extends FilterInput {
  readonly uses: Set<string>;
}

/**
 * The rules are those of relations (docs/interface.md §12.2): no condition holds without a value, and of several values
 * one is enough.
 * @throws MappingProblem
 */
export function compileRowFilter(filter: unknown, input: FilterInput): RowFilterTest {
  const place: FilterPlace = { ...input, uses: new Set() };
  let conditions = 0;
  function compileOne(one: Record<string, unknown>): RowTest {
    conditions += 1;
    if (conditions > FILTER_CONDITIONS)
      throw new MappingProblem(`filter has more than ${FILTER_CONDITIONS} conditions`);
    return 'expression' in one
      ? compileTest(one.expression as string, place)
      : compileCondition(one as unknown as RowCondition, place);
  }
  function compile(given: unknown, depth: number): RowTest {
    if (depth > FILTER_DEPTH) throw new MappingProblem(`filter is deeper than ${FILTER_DEPTH}`);
    const { kind, filter: one } = readFilter(given);
    if (kind === 'expression' || kind === 'column') return compileOne(one);
    const parts = [one[kind]].flat().map((part) => compile(part, depth + 1));
    return combine(kind, parts);
  }
  return { takes: compile(filter, 1), uses: place.uses };
}

/** `not` has one part. */
function combine(kind: 'all' | 'any' | 'not', tests: readonly RowTest[]): RowTest {
  if (kind === 'all') return (row) => tests.every((test) => test(row));
  if (kind === 'any') return (row) => tests.some((test) => test(row));
  return (row) => !tests.some((test) => test(row));
}

type FilterKind = 'all' | 'any' | 'not' | 'expression' | 'column';

const KEYS: Readonly<Record<FilterKind, readonly string[]>> = {
  all: ['all'],
  any: ['any'],
  not: ['not'],
  expression: ['expression'],
  column: ['column', 'operator', 'value'],
};

function readFilter(given: unknown): { kind: FilterKind; filter: Record<string, unknown> } {
  const filter = (typeof given === 'object' ? given : undefined) ?? {};
  const kind = (Object.keys(KEYS) as FilterKind[]).find((key) => Object.hasOwn(filter, key));
  if (kind === undefined || Array.isArray(given))
    throw new MappingProblem('filter is an object with all, any, not, expression or column');
  const unknown = Object.keys(filter).find((key) => !KEYS[kind].includes(key));
  if (unknown !== undefined)
    throw new MappingProblem(`filter: ${JSON.stringify(unknown)} stands beside ${kind}`);
  checkPart(kind, (filter as Record<string, unknown>)[kind]);
  return { kind, filter: filter as Record<string, unknown> };
}

function checkPart(kind: FilterKind, part: unknown): void {
  const isList = kind === 'all' || kind === 'any';
  if (isList && !Array.isArray(part)) throw new MappingProblem(`filter: ${kind} is a list of filters`);
  if (kind === 'not' && Array.isArray(part)) throw new MappingProblem('filter: not takes one filter');
  if (kind === 'expression' && !isText(part, EXPRESSION_LENGTH))
    throw new MappingProblem(`filter: expression is a text of 1 to ${EXPRESSION_LENGTH} characters`);
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value !== '' && value.length <= maxLength;
}

/** What gives nothing, as a comparison with a column that is not there, is not true. */
function compileTest(expression: string, { texts }: FilterPlace): RowTest {
  const at = texts.addExpression(expression);
  return (row) => {
    const result = row.results[at];
    if (typeof result === 'boolean') return result;
    if (result === null || result === undefined) return false;
    const isProblem = typeof result === 'object' && 'problem' in result;
    const reason = isProblem ? result.problem : 'the expression gives neither true nor false';
    row.problems.push({ field: 'filter', reason });
    return false;
  };
}

function compileCondition({ column, operator, value }: RowCondition, place: FilterPlace): RowTest {
  if (!place.isColumn(column)) throw new MappingProblem('filter: column is no column');
  if (!ROW_OPERATORS.includes(operator))
    throw new MappingProblem(`filter: ${String(operator).slice(0, 50)} is no operator`);
  const read: CompiledColumn = compileColumn(column, { field: 'filter', texts: place.texts });
  for (const name of read.uses) place.uses.add(name);
  if (operator === 'exists') {
    if (value !== undefined) throw new MappingProblem('filter: exists takes no value');
    return (row) => read.read(row) !== undefined;
  }
  const holds = operator === 'matches' ? compileMatches(value, place) : compileComparison(operator, value);
  return (row) => {
    const present = read.read(row);
    if (present === undefined) return false;
    return typeof present === 'string' ? holds(present) : present.some(holds);
  };
}

type Holds = (present: string) => boolean;
type Ordered = Exclude<RowOperator, 'between' | 'in' | 'contains' | 'startsWith' | 'matches' | 'exists'>;

const ORDERS: Readonly<Record<Ordered, (order: number) => boolean>> = {
  equals: (order) => order === 0,
  notEquals: (order) => order !== 0,
  less: (order) => order < 0,
  lessOrEqual: (order) => order <= 0,
  greater: (order) => order > 0,
  greaterOrEqual: (order) => order >= 0,
};

const VALUES = 10_000;

function compileComparison(operator: Exclude<RowOperator, 'exists' | 'matches'>, value: unknown): Holds {
  switch (operator) {
    case 'in':
      return compileIn(readList(operator, value));
    case 'between': {
      const [low, high, ...more] = readList(operator, value);
      if (high === undefined || more.length > 0 || typeof low !== typeof high)
        throw new MappingProblem('filter: between takes two numbers or two texts');
      const [from, to] = [compileOrder('greaterOrEqual', low), compileOrder('lessOrEqual', high)];
      return (present) => from(present) && to(present);
    }
    case 'contains': {
      const part = readText(operator, value).toLowerCase();
      return (present) => present.toLowerCase().includes(part);
    }
    case 'startsWith': {
      const start = readText(operator, value);
      return (present) => present.startsWith(start);
    }
    default:
      return compileOrder(operator, value);
  }
}

const compileMatches = (pattern: unknown, { texts }: FilterPlace): Holds =>
  matchPattern(texts.patterns.add(readText('matches', pattern), { field: 'filter' }));

/** As `equals` with each: numbers as numbers, texts as texts. */
function compileIn(values: readonly unknown[]): Holds {
  const numbers = new Set(values.filter((one) => typeof one === 'number' && Number.isFinite(one)));
  const texts = new Set<unknown>();
  for (const one of values) if (!numbers.has(one)) texts.add(readText('in', one, true));
  return (present) => {
    if (texts.has(present)) return true;
    const number = numbers.size === 0 ? undefined : readPlain(present);
    return number !== undefined && numbers.has(Number(number));
  };
}

const readPlain = compileNumber({ decimal: 'point', group: '' });

/** What is no number satisfies no condition with one. Texts are ordered by code unit. */
function compileOrder(operator: Ordered, value: unknown): Holds {
  const holds = ORDERS[operator];
  if (typeof value === 'number' && Number.isFinite(value)) {
    return (present) => {
      const number = readPlain(present);
      return number !== undefined && holds(Number(number) - value);
    };
  }
  const text = readText(operator, value, true);
  return (present) => holds(present === text ? 0 : present < text ? -1 : 1);
}

function readText(operator: string, value: unknown, mayBeEmpty = false): string {
  const isGood = typeof value === 'string' && value.length <= PATTERN_LENGTH && (mayBeEmpty || value !== '');
  if (!isGood)
    throw new MappingProblem(
      `filter: ${operator} takes a number or a text of up to ${PATTERN_LENGTH} characters`,
    );
  return value;
}

function readList(operator: string, value: unknown): unknown[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > VALUES)
    throw new MappingProblem(`filter: ${operator} takes a list`);
  return value;
}
