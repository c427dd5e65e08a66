/**
 * Makes products of rows. A mapping is compiled once; `mapRow` is then a pure function of the row and of what the
 * expressions of the mapping gave for it (`createRowMapper` has them evaluated, in a process of their own).
 */

import { Value } from 'typebox/value';
import type { RowProblem, SourceRow } from '../formats/formats.ts';
import { type ExpressionLimits, openExpressions } from './expressions/expressions.ts';
import {
  type CellProblem,
  type CompiledColumn,
  compileColumn,
  type ExpressionResult,
  MappingProblem,
  MappingTexts,
  PatternList,
  type RowView,
} from './mapping-columns.ts';
import { compileRowFilter, type RowFilterTest } from './mapping-filter.ts';
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
  type Column,
  ColumnSchema,
  type ImageSpec,
  isOfPairs,
  type Mapping,
  type PathSpec,
  type PipelineMode,
} from './mapping-schemas.ts';

export { CellProblem, type ExpressionResult, MappingProblem } from './mapping-columns.ts';
export type { MappedProduct } from './mapping-parts.ts';

export {
  isOfPairs,
  type Mapping,
  MappingSchema,
  type PipelineMode,
  SentMappingSchema,
} from './mapping-schemas.ts';

/** Of a mapping that has none. */
export const NO_PATTERNS = new PatternList();

export type RowOutcome =
  | { readonly row: number; readonly product: MappedProduct }
  /** The row makes no product. */
  | { readonly row: number; readonly problems: readonly CellProblem[] }
  /** The filter leaves it out. */
  | { readonly row: number; readonly isFiltered: true };

export type CompiledMapping = ReturnType<typeof planMapping>;

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
export function planMapping(mapping: Mapping, mode: PipelineMode) {
  const texts = new MappingTexts();
  const test =
    mapping.filter === undefined ? undefined : compileRowFilter(mapping.filter, { texts, isColumn });
  const plan = planProduct(mapping, { mode, texts });
  const { expressions, patterns } = texts;
  const ignored = new Set(mapping.ignore);
  /** What the reader found wrong with a column matters only where the column is read; what an expression reads is not known. */
  const isRead = (column: string): boolean =>
    plan.uses.has(column) ||
    test?.uses.has(column) === true ||
    expressions.length > 0 ||
    (plan.takesRest && !ignored.has(column));

  return {
    /** Columns that a source must have, those of the filter apart: one that no row has is a mistake in the mapping. */
    columns: [...plan.needs],
    /** JSONata, each once; `mapRow` takes their results in this order. */
    expressions,
    /** Compiled before a row is mapped. */
    patterns,
    mapRow(row: SourceRow, results: readonly ExpressionResult[] = []): RowOutcome {
      const problems = listRowProblems(row.problems, isRead);
      const view: RowView = { values: row.values, rows: row.rows, results, problems };
      const product = problems.length === 0 ? mapSound(view, test, plan) : undefined;
      if (problems.length > 0) return { row: row.number, problems: problems.slice(0, PROBLEMS) };
      return product === undefined ? { row: row.number, isFiltered: true } : { row: row.number, product };
    },
  };
}

const isColumn = (column: unknown): column is Column => Value.Check(ColumnSchema, column);

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

/** Makes products of the rows of a file. Disposing ends the process of the expressions, where there is one. */
export interface RowMapper extends AsyncDisposable {
  /** Columns that a source must have. */
  readonly columns: readonly string[];
  readonly hasExpressions: boolean;
  /**
   * @returns an outcome for each row, in their order
   * @throws MappingProblem when the expressions run away in too many rows
   */
  mapRows(rows: readonly SourceRow[]): Promise<RowOutcome[]>;
}

/** What goes to the process of the expressions at a time. */
const BATCH_ROWS = 200;
const BATCH_CHARACTERS = 1024 * 1024;

export function createRowMapper(mapping: CompiledMapping, limits?: ExpressionLimits): RowMapper {
  const expressions =
    mapping.expressions.length === 0 ? undefined : openExpressions(mapping.expressions, limits);
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

/** @returns the characters of its names and values */
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
  /** The part of the mapping that it is from. */
  readonly identifiedBy: 'identifier' | 'source';
  readonly parts: readonly MapPart[];
  /** Columns that are read by name, filters apart. */
  readonly uses: ReadonlySet<string>;
  /** Of these, columns that a source must have. */
  readonly needs: ReadonlySet<string>;
  /** All columns become attributes but for those in `uses` and those that are ignored. */
  readonly takesRest: boolean;
}

/** @throws MappingProblem */
function planProduct(
  mapping: Mapping,
  { mode, texts }: { readonly mode: PipelineMode; readonly texts: MappingTexts },
): ProductPlan {
  const uses = new Set<string>();
  const needs = new Set<string>();
  const compile: Compile = (column, field) => {
    const compiled = compileColumn(column, { field, texts });
    for (const name of compiled.uses) uses.add(name);
    if (!compiled.isOptional) for (const name of compiled.uses) needs.add(name);
    return compiled;
  };
  if (isOfPairs(mode)) {
    const { source, part } = planLinks(mapping, mode, compile);
    return { identifier: source, identifiedBy: 'source', parts: [part], uses, needs, takesRest: false };
  }
  refuseLinks(mapping, mode);
  if (mapping.identifier === undefined) throw new MappingProblem(`identifier is needed in mode ${mode}`);
  const identifier = compile(mapping.identifier, 'identifier');
  const identifiedBy = 'identifier';
  if (mode === 'delete') return { identifier, identifiedBy, parts: [], uses, needs, takesRest: false };
  if (mode !== 'partial' && mapping.name === undefined)
    throw new MappingProblem(`name is needed in mode ${mode}`);
  const { named, takesRest } = readAttributes(mapping);
  const removesEmpty = mode === 'partial' && mapping.emptyCells === 'remove';
  const parts = planFields(mapping, { compile, isNameNeeded: mode !== 'partial' });
  for (const [key, specs] of named) {
    parts.push(
      mapAttribute(
        key,
        specs.map((spec) => compileValues(key, spec, compile)),
        removesEmpty,
      ),
    );
  }
  parts.push(...planKeyValues(mapping, compile, removesEmpty));
  if (takesRest) {
    const ignored = new Set(mapping.ignore);
    parts.push(mapRest((column) => uses.has(column) || ignored.has(column), removesEmpty));
  }
  if (mapping.attributes !== undefined) parts.push(checkAttributes);
  return { identifier, identifiedBy, parts, uses, needs, takesRest };
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
  if (images !== undefined) parts.push(mapImages(listOf(images).map((spec) => compileImage(spec, compile))));
  if (categories !== undefined) {
    const toPath = ({ from, separator }: PathSpec) => ({ column: compile(from, 'categories'), separator });
    parts.push(mapCategories(listOf(categories).map(toPath)));
  }
  return parts;
}

/** The key `*` with the value `*` stands for the rest; with a column as its value it is a key like any other. */
function readAttributes({ attributes = {} }: Mapping): {
  named: [string, AttributeSpec[]][];
  takesRest: boolean;
} {
  if (typeof attributes === 'string') return { named: [], takesRest: true };
  const all = Object.entries(attributes);
  const named = all.filter(([key, spec]) => key !== '*' || spec !== '*');
  return { named: named.map(([key, spec]) => [key, listOf(spec)]), takesRest: named.length < all.length };
}

const listOf = <Item>(value: Item | Item[]): Item[] => (Array.isArray(value) ? value : [value]);

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
