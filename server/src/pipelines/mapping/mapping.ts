/**
 * Makes products of rows. A mapping is compiled once; `mapRow` is then a pure function of the row and of what the
 * expressions of the mapping gave for it (`createRowMapper` has them evaluated, in a process of their own).
 */

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
import { compileRowFilter } from './mapping-filter.ts';
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
  const test = mapping.filter === undefined ? undefined : compileRowFilter(mapping.filter, texts);
  /** Columns that are read by name, filters apart; of these, columns that a source must have. */
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
  const plan = isOfPairs(mode)
    ? planPairs(mapping, mode, compile)
    : planProduct(mapping, mode, { compile, isUsed });
  const { expressions, patterns } = texts;
  /** What the reader found wrong with a column matters only where the column is read; what an expression reads is not known. */
  const isRead = ({ column }: RowProblem): boolean =>
    column === undefined ||
    uses.has(column) ||
    test?.uses.has(column) === true ||
    expressions.length > 0 ||
    (plan.takesRest && !ignored.has(column));

  return {
    /** Columns that a source must have, those of the filter apart: one that no row has is a mistake in the mapping. */
    columns: [...needs],
    /** JSONata, each once; `mapRow` takes their results in this order. */
    expressions,
    /** Compiled before a row is mapped. */
    patterns,
    mapRow(source: SourceRow, results: readonly ExpressionResult[] = []): RowOutcome {
      const { number: row, values, rows } = source;
      const problems = source.problems?.filter(isRead).map(toCellProblem) ?? [];
      const view: RowView = { values, rows, results, problems };
      const isTaken = problems.length === 0 && (test === undefined || test.takes(view));
      const product = isTaken ? mapSound(view, plan) : undefined;
      if (problems.length > 0) return { row, problems: problems.slice(0, PROBLEMS) };
      return product === undefined ? { row, isFiltered: true } : { row, product };
    },
  };
}

const toCellProblem = ({ column, message: reason }: RowProblem): CellProblem => ({
  ...{ field: 'row', ...(column !== undefined && { column }), reason },
});

function mapSound(
  view: RowView,
  { identifier: column, identifiedBy: field, parts }: ProductPlan,
): MappedProduct {
  const product: MappedProduct = { identifier: readText(view, column, { field, isNeeded: true }) ?? '' };
  for (const part of parts) part(view, product);
  return product;
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
  /** All columns become attributes but for those that are read by name and those that are ignored. */
  readonly takesRest: boolean;
}

/** @throws MappingProblem */
function planPairs(mapping: Mapping, mode: 'links' | 'table', compile: Compile): ProductPlan {
  const { source, part } = planLinks(mapping, mode, compile);
  return { identifier: source, identifiedBy: 'source', parts: [part], takesRest: false };
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
  const valuesOf = ([key, specs]: (typeof named)[number]) =>
    specs.map((spec) => compileValues(key, spec, compile));
  const parts = [
    ...planFields(mapping, { compile, isNameNeeded }),
    ...named.map((attribute) => mapAttribute(attribute[0], valuesOf(attribute), removesEmpty)),
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

/** The key `*` with the value `*` stands for the rest; with a column as its value it is a key like any other. */
function readAttributes({ attributes = {} }: Mapping): {
  named: [string, AttributeSpec[]][];
  takesRest: boolean;
} {
  if (typeof attributes === 'string') return { named: [], takesRest: true };
  const all = Object.entries(attributes);
  const named = all.filter(([key, spec]) => key !== '*' || spec !== '*');
  return { named: named.map(([key, spec]) => [key, [spec].flat()]), takesRest: named.length < all.length };
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
