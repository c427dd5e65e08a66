/**
 * Makes products of rows. A mapping is compiled once; `mapRow` is then a pure function of the row and of what the
 * expressions of the mapping gave for it (`mapping-rows.ts` has them evaluated, in a process of their own).
 */
import { Value } from 'typebox/value';
import type { RowProblem, SourceRow } from '../formats/formats.ts';
import type { ExpressionResult } from './expressions/expressions.ts';
import { type CellProblem, MappingProblem, MappingTexts, type RowView } from './mapping-columns.ts';
import { compileRowFilter, type RowFilterTest } from './mapping-filter.ts';
import { type MappedProduct, readText } from './mapping-parts.ts';
import { PatternList } from './mapping-patterns.ts';
import { type ProductPlan, planProduct } from './mapping-product.ts';
import { type Column, ColumnSchema, type Mapping, type PipelineMode } from './mapping-schemas.ts';

export { type ExpressionResult, openExpressions } from './expressions/expressions.ts';
export { type CheckedTexts, createTextChecks, type TextChecks, type TextProblems } from './mapping-check.ts';
export { type CellProblem, MappingProblem } from './mapping-columns.ts';
export type { MappedProduct } from './mapping-parts.ts';
export { createRowMapper, weighRow } from './mapping-rows.ts';
export {
  type Column,
  type Mapping,
  MappingSchema,
  type PipelineMode,
  SentMappingSchema,
} from './mapping-schemas.ts';
export {
  listMissing,
  listWarnings,
  type PreviewWarning,
  type SuggestedFormat,
  type SuggestedMapping,
  suggestFormat,
  suggestLinks,
  suggestMapping,
} from './suggestions/suggestions.ts';

/** Of a mapping that has none. */
export const NO_PATTERNS = new PatternList();

export type RowOutcome =
  | { readonly row: number; readonly product: MappedProduct }
  /** The row makes no product. */
  | { readonly row: number; readonly problems: readonly CellProblem[] }
  /** The filter leaves it out. */
  | { readonly row: number; readonly isFiltered: true };

export interface CompiledMapping {
  /** Columns that a source must have, those of the filter apart: one that no row has is a mistake in the mapping. */
  readonly columns: readonly string[];
  /** JSONata, each once; `mapRow` takes their results in this order. */
  readonly expressions: readonly string[];
  /** Compiled before a row is mapped. */
  readonly patterns: PatternList;
  mapRow(row: SourceRow, results?: readonly ExpressionResult[]): RowOutcome;
}

/** A row with more is reported as far as that. */
const PROBLEMS = 20;

/**
 * @throws MappingProblem for what the schema cannot say; expressions are checked apart, by `checkTexts`
 */
export function compileMapping(mapping: Mapping, mode: PipelineMode): CompiledMapping {
  const planned = planMapping(mapping, mode);
  const wrong = planned.patterns.compile();
  if (wrong === undefined) return planned;
  const { field, pattern, problem } = wrong;
  throw new MappingProblem(`${field}: the pattern ${pattern} cannot be used: ${problem}`);
}

/**
 * The same without its patterns: what the thread that serves can do while others wait.
 * @throws MappingProblem
 */
export function planMapping(mapping: Mapping, mode: PipelineMode): CompiledMapping {
  const texts = new MappingTexts();
  const test =
    mapping.filter === undefined ? undefined : compileRowFilter(mapping.filter, { texts, isColumn });
  const plan = planProduct(mapping, { mode, texts });
  const { expressions, patterns } = texts;
  const isRead = findReads(mapping, { plan, test, expressions });

  return {
    columns: [...plan.needs],
    expressions,
    patterns,
    mapRow(row, results = []) {
      const problems = listRowProblems(row.problems, isRead);
      const view: RowView = { values: row.values, results, problems };
      const product = problems.length === 0 ? mapSound(view, test, plan) : undefined;
      if (problems.length > 0) return { row: row.number, problems: problems.slice(0, PROBLEMS) };
      return product === undefined ? { row: row.number, isFiltered: true } : { row: row.number, product };
    },
  };
}

const isColumn = (column: unknown): column is Column => Value.Check(ColumnSchema, column);

interface Reads {
  readonly plan: ProductPlan;
  readonly test: RowFilterTest | undefined;
  readonly expressions: readonly string[];
}

/** What the reader found wrong with a column matters only where the column is read; what an expression reads is not known. */
function findReads(
  { ignore = [] }: Mapping,
  { plan, test, expressions }: Reads,
): (column: string) => boolean {
  const ignored = new Set(ignore);
  const isByName = (column: string) => plan.uses.has(column) || test?.uses.has(column) === true;
  const takesAny = expressions.length > 0;
  return (column) => isByName(column) || takesAny || (plan.takesRest && !ignored.has(column));
}

/** @returns undefined when the filter leaves the row out */
function mapSound(
  view: RowView,
  test: RowFilterTest | undefined,
  plan: ProductPlan,
): MappedProduct | undefined {
  if (test !== undefined && !test.takes(view)) return undefined;
  const identifier = readText(view, plan.identifier, { field: plan.identifiedBy, isNeeded: true });
  const product: MappedProduct = { identifier: identifier ?? '' };
  for (const part of plan.parts) part(view, product);
  return product;
}

function listRowProblems(
  found: readonly RowProblem[] | undefined,
  isRead: (column: string) => boolean,
): CellProblem[] {
  if (found === undefined) return [];
  return found
    .filter(({ column }) => column === undefined || isRead(column))
    .map(({ column, message }) => ({
      field: 'row',
      ...(column !== undefined && { column }),
      reason: message,
    }));
}
