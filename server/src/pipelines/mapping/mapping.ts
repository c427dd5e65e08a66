/**
 * Makes products of rows. A mapping is compiled once; `mapRow` is then a pure function of the row and of the
 * results of the mapping's expressions for it (`createRowMapper` evaluates them, in a process of their own).
 */

import { Value } from 'typebox/value';
import {
  CONDITIONS_PER_FILTER,
  type Comparable,
  combineTests,
  compileOperator,
  FILTER_DEPTH,
  type Test,
} from '../../catalog/filters/filters.ts';
import type { RowProblem, SourceRow } from '../../formats/input/input.ts';
import { type ExpressionLimits, RowExpressions } from './expressions/expressions.ts';
import {
  type CellProblem,
  type CompiledColumn,
  compileColumn,
  compileNumber,
  type ExpressionResult,
  MappingProblem,
  MappingTexts,
  matchPattern,
  PatternList,
  type RowView,
} from './mapping-columns.ts';
import {
  type Compile,
  checkAttributes,
  findTextProblem,
  KEY_LENGTH,
  type MapPart,
  type MappedProduct,
  mapAttribute,
  mapCategories,
  mapImages,
  mapKeyValues,
  mapRest,
  mapText,
  planLinks,
  readText,
  refuseLinks,
  type ValueSource,
} from './mapping-parts.ts';
import {
  type AttributeSpec,
  ColumnSchema,
  EXPRESSION_LENGTH,
  type ImageSpec,
  isOfPairs,
  type Mapping,
  PATTERN_LENGTH,
  type PathSpec,
  type PipelineMode,
  ROW_OPERATORS,
  type RowCondition,
  type RowOperator,
} from './mapping-schemas.ts';

export { CellProblem, type ExpressionResult, MappingProblem } from './mapping-columns.ts';
export type { MappedProduct } from './mapping-parts.ts';

export { isOfPairs, type Mapping, MappingSchema, type PipelineMode } from './mapping-schemas.ts';

/** For a mapping without patterns. */
export const NO_PATTERNS = new PatternList();

export type RowOutcome =
  | { readonly row: number; readonly product: MappedProduct }
  /** The row makes no product. */
  | { readonly row: number; readonly problems: readonly CellProblem[] }
  /** The filter excludes the row. */
  | { readonly row: number; readonly isFiltered: true };

export type CompiledMapping = ReturnType<typeof planMapping>;

/** The most problems that are reported for a row. */
const PROBLEMS = 20;

/** @throws MappingProblem for what the schema cannot express; expressions are checked separately, by `checkTexts` */
export function compileMapping(mapping: Mapping, mode: PipelineMode): CompiledMapping {
  const planned = planMapping(mapping, mode);
  const wrong = planned.patterns.compile();
  if (wrong === undefined) return planned;
  const { field, pattern, problem } = wrong;
  throw new MappingProblem(`${field}: the pattern ${pattern} cannot be used: ${problem}`);
}

/**
 * The same without its patterns, which the serving thread can do while others wait.
 * @throws MappingProblem
 */
export function planMapping(mapping: Mapping, mode: PipelineMode) {
  const texts = new MappingTexts();
  const test = mapping.filter === undefined ? undefined : compileRowFilter(mapping.filter, texts);
  /** Columns that are read by name, except by filters; and those among them that a source must have. */
  const uses = new Set<string>();
  const needs = new Set<string>();
  const compile: Compile = (column, field) => {
    const compiled = compileColumn(column, { field, texts });
    for (const name of compiled.uses) uses.add(name);
    if (!compiled.isOptional) for (const name of compiled.uses) needs.add(name);
    return compiled;
  };
  const ignored = new Set(mapping.ignore);
  const isUsed = (column: string) => uses.has(column) || ignored.has(column);
  const plan: ProductPlan = isOfPairs(mode)
    ? planLinks(mapping, mode, compile)
    : planProduct(mapping, mode, { compile, isUsed });
  const { expressions, patterns } = texts;
  /** A reader's problem with a column only matters if the column is read; which ones an expression reads is unknown. */
  const isRead = ({ column }: RowProblem): boolean =>
    column === undefined ||
    uses.has(column) ||
    test?.uses.has(column) === true ||
    expressions.length > 0 ||
    (plan.takesRest && !ignored.has(column));

  return {
    /** Columns that a source must have, except those of the filter: if no row has one, the mapping is wrong. */
    columns: [...needs],
    /** JSONata, each once; `mapRow` takes their results in this order. */
    expressions,
    /** Compiled before a row is mapped. */
    patterns,
    mapRow(source: SourceRow, results: readonly ExpressionResult[] = []): RowOutcome {
      const { number: row } = source;
      const problems = source.problems?.filter(isRead).map(toCellProblem) ?? [];
      const view: RowView = { source, results, problems };
      const isTaken = problems.length === 0 && (test === undefined || test.takes(view));
      const product = isTaken ? mapSound(view, plan) : undefined;
      if (problems.length > 0) return { row, problems: problems.slice(0, PROBLEMS) };
      return product === undefined ? { row, isFiltered: true } : { row, product };
    },
  };
}

const toCellProblem = ({ column, message: reason }: RowProblem): CellProblem => ({
  field: 'row',
  ...(column !== undefined && { column }),
  reason,
});

function mapSound(view: RowView, { identifier: column, identifiedBy: field, parts }: ProductPlan) {
  const product: MappedProduct = { identifier: readText(view, column, { field, isNeeded: true }) ?? '' };
  for (const part of parts) part(view, product);
  return product;
}

/** Makes products of the rows of a file. Disposing it ends the process of the expressions, if there is one. */
export interface RowMapper extends AsyncDisposable {
  /** Columns that a source must have. */
  readonly columns: readonly string[];
  readonly hasExpressions: boolean;
  /**
   * @returns an outcome for each row, in their order
   * @throws MappingProblem if the expressions exceed their limits in too many rows
   */
  mapRows(rows: readonly SourceRow[]): Promise<RowOutcome[]>;
}

/** How much is sent to the process of the expressions at a time. */
const BATCH_ROWS = 200;
const BATCH_CHARACTERS = 1024 * 1024;

export function createRowMapper(mapping: CompiledMapping, limits?: ExpressionLimits): RowMapper {
  const expressions =
    mapping.expressions.length === 0 ? undefined : new RowExpressions(mapping.expressions, limits);
  return {
    columns: mapping.columns,
    hasExpressions: expressions !== undefined,
    [Symbol.asyncDispose]: async () => expressions?.close(),
    async mapRows(rows) {
      if (expressions === undefined) return rows.map((row) => mapping.mapRow(row));
      const outcomes: RowOutcome[] = [];
      for (const batch of cutBatches(rows)) {
        const results = await expressions.evaluate(batch.map(({ source, values }) => source ?? values));
        outcomes.push(...batch.map((row, at) => mapping.mapRow(row, results[at])));
      }
      return outcomes;
    },
  };
}

function* cutBatches(rows: readonly SourceRow[]): Generator<SourceRow[]> {
  let batch: SourceRow[] = [];
  let characters = 0;
  for (const row of rows) {
    batch.push(row);
    characters += weighRow(row);
    if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

/** @returns the number of characters of its names and values */
export function weighRow({ values }: SourceRow): number {
  let characters = 0;
  for (const name in values) {
    const value = values[name];
    characters += name.length;
    for (const text of typeof value === 'string' ? [value] : (value ?? [])) characters += text.length;
  }
  return characters;
}

interface ProductPlan {
  readonly identifier: CompiledColumn;
  /** The part of the mapping that has the identifier. */
  readonly identifiedBy: 'identifier' | 'source';
  readonly parts: readonly MapPart[];
  /** Whether all columns become attributes, except those that are read by name and those that are ignored. */
  readonly takesRest: boolean;
}

/** @throws MappingProblem */
function planProduct(
  mapping: Mapping,
  mode: Exclude<PipelineMode, 'links' | 'table'>,
  { compile, isUsed }: { readonly compile: Compile; isUsed(column: string): boolean },
): ProductPlan {
  refuseLinks(mapping, mode);
  if (mapping.identifier === undefined) throw new MappingProblem(`identifier is needed in mode ${mode}`);
  const identifier = compile(mapping.identifier, 'identifier');
  const identifiedBy = 'identifier';
  if (mode === 'delete') return { identifier, identifiedBy, parts: [], takesRest: false };
  const isNameNeeded = mode !== 'partial';
  if (isNameNeeded && mapping.name === undefined) throw new MappingProblem(`name is needed in mode ${mode}`);
  const { named, takesRest } = readAttributes(mapping);
  const removesEmpty = mode === 'partial' && mapping.emptyCells === 'remove';
  const planValues = ([key, spec]: (typeof named)[number]) => {
    const sources = [spec].flat().map((one) => compileValues(key, one, compile));
    return mapAttribute(key, sources, removesEmpty);
  };
  const parts = [
    ...planFields(mapping, { compile, isNameNeeded }),
    ...named.map(planValues),
    ...planKeyValues(mapping, compile, removesEmpty),
    ...(takesRest ? [mapRest(isUsed, removesEmpty)] : []),
    ...(mapping.attributes === undefined ? [] : [checkAttributes]),
  ];
  return { identifier, identifiedBy, parts, takesRest };
}

function planKeyValues({ keyValues = [] }: Mapping, compile: Compile, removesEmpty: boolean): MapPart[] {
  const parts = keyValues.map((spec) => {
    const { column, optional = false } = spec;
    return mapKeyValues(compile({ column, optional }, 'keyValues'), spec, removesEmpty);
  });
  return parts.length === 0 ? [] : [...parts, checkAttributes];
}

function planFields(
  mapping: Mapping,
  { compile, isNameNeeded }: { compile: Compile; isNameNeeded: boolean },
): MapPart[] {
  const { images, categories } = mapping;
  const parts: MapPart[] = [];
  for (const field of ['groupIdentifier', 'name', 'productUrl'] as const) {
    const column = mapping[field];
    const isNeeded = field === 'name' && isNameNeeded;
    if (column !== undefined) parts.push(mapText(field, compile(column, field), isNeeded));
  }
  if (images !== undefined) parts.push(mapImages([images].flat().map((spec) => compileImage(spec, compile))));
  if (categories !== undefined) {
    const toPath = ({ from, separator }: PathSpec) => ({ column: compile(from, 'categories'), separator });
    parts.push(mapCategories([categories].flat().map(toPath)));
  }
  return parts;
}

/** The key `*` with the value `*` means the rest; with a column as its value it is an ordinary key. */
function readAttributes({ attributes = {} }: Mapping) {
  const all = Object.entries(typeof attributes === 'string' ? { '*': attributes } : attributes);
  const named = all.filter(([key, spec]) => key !== '*' || spec !== '*');
  return { named, takesRest: named.length < all.length };
}

function compileImage(spec: ImageSpec, compile: Compile) {
  if (typeof spec === 'string') return { column: compile(spec, 'images'), type: undefined };
  const { type, ...column } = spec;
  return { column: compile(column, 'images'), type };
}

function compileValues(key: string, spec: AttributeSpec, compile: Compile): ValueSource {
  const field = `attributes.${key}`;
  const groups = typeof spec === 'string' ? [] : (spec.userGroups ?? []);
  const reason = [key, ...groups].map((text) => findTextProblem(text, KEY_LENGTH)).find(Boolean);
  if (reason !== undefined) throw new MappingProblem(`${field}: a key or user group ${reason}`);
  if (typeof spec === 'string') return { column: compile(spec, field), userGroups: undefined };
  const { userGroups, ...column } = spec;
  return { column: compile(column, field), userGroups };
}

type RowTest = Test<RowView>;

interface FilterPlace {
  readonly texts: MappingTexts;
  /** Columns that conditions read by name. */
  readonly uses: Set<string>;
}

/**
 * Takes a filter as it was sent, because it is recursive. Operators and comparison are those of all filters
 * (docs/interface §12.2): no condition holds without a value, and of several values one suffices.
 * `startsWith`, `matches` and expressions only exist for rows.
 * @throws MappingProblem
 */
function compileRowFilter(filter: unknown, texts: MappingTexts) {
  const place: FilterPlace = { texts, uses: new Set() };
  let conditions = 0;
  function compile(given: unknown, depth: number): RowTest {
    if (depth > FILTER_DEPTH) throw new MappingProblem(`filter is deeper than ${FILTER_DEPTH}`);
    const { kind, filter: one } = readFilter(given);
    const compileParts = (parts: unknown) => [parts].flat().map((part) => compile(part, depth + 1));
    if (kind !== 'expression' && kind !== 'column') return combineTests(kind, compileParts(one[kind]));
    conditions += 1;
    if (conditions > CONDITIONS_PER_FILTER)
      throw new MappingProblem(`filter has more than ${CONDITIONS_PER_FILTER} conditions`);
    return kind === 'expression'
      ? compileTest(one.expression as string, place)
      : compileCondition(one as RowCondition, place);
  }
  return { takes: compile(filter, 1), uses: place.uses as ReadonlySet<string> };
}

const KINDS = ['all', 'any', 'not', 'expression', 'column'] as const;
type FilterKind = (typeof KINDS)[number];

function readFilter(given: unknown): { kind: FilterKind; filter: Record<string, unknown> } {
  const filter = { ...(given as Record<string, unknown> | undefined) };
  const kind = KINDS.find((key) => Object.hasOwn(filter, key));
  if (kind === undefined || Array.isArray(given))
    throw new MappingProblem('filter is an object with all, any, not, expression or column');
  const allowed = kind === 'column' ? ['column', 'operator', 'value'] : [kind];
  const unknown = Object.keys(filter).find((key) => !allowed.includes(key));
  if (unknown !== undefined)
    throw new MappingProblem(`filter: ${JSON.stringify(unknown)} stands beside ${kind}`);
  checkPart(kind, filter[kind]);
  return { kind, filter };
}

function checkPart(kind: FilterKind, part: unknown): void {
  const isList = kind === 'all' || kind === 'any';
  if (isList && !Array.isArray(part)) throw new MappingProblem(`filter: ${kind} is a list of filters`);
  if (kind === 'not' && Array.isArray(part)) throw new MappingProblem('filter: not takes one filter');
  const isExpression = typeof part === 'string' && part !== '' && part.length <= EXPRESSION_LENGTH;
  if (kind === 'expression' && !isExpression)
    throw new MappingProblem(`filter: expression is a text of 1 to ${EXPRESSION_LENGTH} characters`);
}

/** An expression without a result, as a comparison with a missing column, is not true. */
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
  if (!Value.Check(ColumnSchema, column)) throw new MappingProblem('filter: column is no column');
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

function compileComparison(
  operator: Exclude<RowOperator, 'exists' | 'matches'>,
  value: unknown,
): Test<string> {
  if (operator === 'startsWith') {
    const start = readOperandText(operator, value);
    return (present) => present.startsWith(start);
  }
  const operands = readOperands(operator, value);
  const texts = operands.filter((one) => typeof one === 'string');
  const numbers = operands.filter((one) => typeof one === 'number');
  const tests: Test<string>[] = [];
  if (texts.length > 0) tests.push(compileOperator(operator, texts));
  if (numbers.length > 0) tests.push(compileNumbers(compileOperator(operator, numbers)));
  return combineTests('any', tests);
}

const compileMatches = (pattern: unknown, { texts }: FilterPlace): Test<string> =>
  matchPattern(texts.patterns.add(readOperandText('matches', pattern), { field: 'filter' }));

const readPlain = compileNumber({ decimal: 'point', group: '' });

/** A column has no type: a number in the condition makes it numeric, and text that is no number does not satisfy it. */
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
  const operands = value.map((one) => readOperand(operator, one));
  const kinds = new Set(operands.map((one) => typeof one));
  if (operator === 'between' && (operands.length !== 2 || kinds.size > 1))
    throw new MappingProblem('filter: between takes two numbers or two texts');
  return operands;
}

const readOperand = (operator: string, value: unknown): Comparable =>
  typeof value === 'number' && Number.isFinite(value) ? value : readOperandText(operator, value, true);

function readOperandText(operator: string, value: unknown, mayBeEmpty = false): string {
  const isGood = typeof value === 'string' && value.length <= PATTERN_LENGTH && (mayBeEmpty || value !== '');
  if (isGood) return value;
  const taken = `a number or a text of up to ${PATTERN_LENGTH} characters`;
  throw new MappingProblem(`filter: ${operator} takes ${taken}`);
}
