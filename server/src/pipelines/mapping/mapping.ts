/**
 * Makes products from rows. A mapping is compiled once. `mapRow` is then a pure function of the row and of the results
 * of the mapping's expressions for that row. `createRowMapper` evaluates the expressions in a separate process.
 */

import type { RowProblem, SourceRow } from '../../formats/input/input.ts';
import { type ExpressionLimits, RowExpressions } from './expressions/expressions.ts';
import {
  type CellProblem,
  compileColumn,
  type ExpressionResult,
  MappingProblem,
  MappingTexts,
  PatternList,
  type RowView,
} from './mapping-columns.ts';
import { compileRowFilter } from './mapping-filter.ts';
import { type Compile, type MappedProduct, planLinks, readText } from './mapping-parts.ts';
import { isOfPairs, type Mapping, type PipelineMode } from './mapping-schemas.ts';
import { type ProductPlan, planProduct } from './product-plan.ts';

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

/** The maximum number of problems that are reported for a row. */
const PROBLEMS = 20;

/** @throws MappingProblem for mistakes that the schema cannot find; `checkTexts` checks expressions separately */
export function compileMapping(mapping: Mapping, mode: PipelineMode): CompiledMapping {
  const planned = planMapping(mapping, mode);
  const wrong = planned.patterns.compile();
  if (wrong === undefined) return planned;
  const { field, pattern, problem } = wrong;
  throw new MappingProblem(`${field}: the pattern ${pattern} cannot be used: ${problem}`);
}

/**
 * Compiles a mapping except its patterns. The serving thread can do this while other requests wait.
 * @throws MappingProblem
 */
export function planMapping(mapping: Mapping, mode: PipelineMode) {
  const texts = new MappingTexts();
  const test = mapping.filter === undefined ? undefined : compileRowFilter(mapping.filter, texts);
  /** Columns that are read by name, except by filters, and the ones among them that a source must have. */
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
  /**
   * A reader's problem with a column matters only if the column is read. The columns that an expression reads are
   * unknown.
   */
  const isRead = ({ column }: RowProblem): boolean =>
    column === undefined ||
    uses.has(column) ||
    test?.uses.has(column) === true ||
    expressions.length > 0 ||
    (plan.takesRest && !ignored.has(column));

  return {
    /** Columns that a source must have, except those of the filter. If no row has one of them, the mapping is wrong. */
    columns: [...needs],
    /** The JSONata expressions, each once. `mapRow` takes their results in this order. */
    expressions,
    /** Must be compiled before a row is mapped. */
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

/** Makes products from the rows of a file. Disposing it ends the process of the expressions, if there is one. */
export interface RowMapper extends AsyncDisposable {
  /** Columns that a source must have. */
  readonly columns: readonly string[];
  readonly hasExpressions: boolean;
  /**
   * @returns an outcome for each row, in the order of the rows
   * @throws MappingProblem if the expressions exceed their limits in too many rows
   */
  mapRows(rows: readonly SourceRow[]): Promise<RowOutcome[]>;
}

/** The limits of one message to the process of the expressions. */
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
        outcomes.push(...batch.map((row, index) => mapping.mapRow(row, results[index])));
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

/** @returns the number of characters of the row's names and values */
export function weighRow({ values }: SourceRow): number {
  let characters = 0;
  for (const name in values) {
    const value = values[name];
    characters += name.length;
    for (const text of typeof value === 'string' ? [value] : (value ?? [])) characters += text.length;
  }
  return characters;
}
