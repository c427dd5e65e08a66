import type { Columns, ColumnValue } from '../formats/formats.ts';
import type { ExpressionResult } from './expressions/expressions.ts';
import { compileNumber } from './mapping-numbers.ts';
import { PatternList, replacePattern, replaceText, TEXT_LENGTH } from './mapping-patterns.ts';
import type { Column, ColumnSpec } from './mapping-schemas.ts';

/** Why a row makes no product, or which part of it did not make one. */
export interface CellProblem {
  /** The part of the product, as `name` or `attributes.Price`; `filter`, or `row` for the row itself. */
  readonly field: string;
  /** Where the value came from; absent for constants, expressions and the row itself. */
  readonly column?: string;
  readonly reason: string;
}

/** A row while it is mapped. */
export interface RowView {
  readonly values: Columns<ColumnValue>;
  /** Of the expressions of the mapping, in their order. */
  readonly results: readonly ExpressionResult[];
  readonly problems: CellProblem[];
}

export interface CompiledColumn {
  /** Names of the columns it reads; an expression may read others. */
  readonly uses: readonly string[];
  /** The source may lack them. */
  readonly isOptional: boolean;
  /** For problems: the columns it reads, by commas. */
  readonly label: string | undefined;
  /** @returns no empty text; undefined when there is none. What cannot be read is noted in `problems` */
  read(row: RowView): ColumnValue | undefined;
}

/** A mapping is compiled while others wait, 3 µs for each of these. No catalog needs a tenth of them. */
const PARTS = 10_000;
const EXPRESSIONS = 2_000;

/** What a mapping is made of: texts that are compiled apart, each once, and how many columns and replacements. */
export class MappingTexts {
  readonly patterns = new PatternList();
  readonly #expressions = new Map<string, number>();
  #parts = 0;

  get expressions(): readonly string[] {
    return [...this.#expressions.keys()];
  }

  /** @returns its place. @throws MappingProblem */
  addExpression(text: string): number {
    const at = this.#expressions.get(text) ?? this.#expressions.size;
    this.#expressions.set(text, at);
    if (at >= EXPRESSIONS)
      throw new MappingProblem(
        `a mapping has at most ${EXPRESSIONS.toLocaleString('en')} different expressions`,
      );
    return at;
  }

  /** @throws MappingProblem */
  count(parts: number): void {
    this.#parts += parts;
    if (this.#parts <= PARTS) return;
    throw new MappingProblem(
      `a mapping has at most ${PARTS.toLocaleString('en')} columns and replacements; leave out what is not needed`,
    );
  }
}

export class MappingProblem extends Error {
  override readonly name = 'MappingProblem';
}

interface Place {
  readonly field: string;
  readonly texts: MappingTexts;
}

type Pick = (row: RowView) => ColumnValue | undefined;
/** @returns the text, or what is wrong with it */
type Transformation = (text: string) => string | { readonly reason: string };

/** Several values in one cell; more is a wrong separator. */
const PIECES = 10_000;

/** @throws MappingProblem */
export function compileColumn(column: Column, place: Place): CompiledColumn {
  const spec: ColumnSpec = typeof column === 'string' ? { column } : column;
  const uses = spec.columns ?? (spec.column === undefined ? [] : [spec.column]);
  const label = uses.length === 0 ? undefined : uses.join(', ');
  const about = { uses, label, isOptional: spec.optional === true };
  place.texts.count(Math.max(1, uses.length) + (spec.replace?.length ?? 0));
  const pick = compilePick(spec, place);
  const transformations = compileTransformations(spec, place);
  const { default: fallback, split } = spec;
  if (transformations.before.length + transformations.after.length === 0 && split === undefined)
    return {
      ...about,
      read: fallback === undefined ? pick : (row) => pick(row) ?? (fallback || undefined),
    };

  function transform(picked: ColumnValue, row: RowView): ColumnValue | undefined {
    const note = (reason: string) => {
      row.problems.push({ field: place.field, ...(label !== undefined && { column: label }), reason });
    };
    const texts = [picked].flat().map((text) => run(transformations.before, text, note));
    const pieces = split === undefined ? texts : texts.flatMap((text) => splitText(text, split, note));
    const done = pieces.map((text) => run(transformations.after, text, note)).filter((text) => text !== '');
    return done.length > 1 ? done : done[0];
  }

  return {
    ...about,
    read(row) {
      const picked = pick(row);
      const value = picked === undefined ? undefined : transform(picked, row);
      return value ?? (fallback || undefined);
    },
  };
}

function compilePick(spec: ColumnSpec, { field, texts }: Place): Pick {
  const { column, columns, constant, expression, join } = spec;
  const given = [column, columns, constant, expression].filter((one) => one !== undefined);
  if (given.length !== 1)
    throw new MappingProblem(`${field} needs exactly one of column, columns, constant and expression`);
  if (join !== undefined && columns === undefined)
    throw new MappingProblem(`${field} has join without columns`);
  if (column !== undefined) return (row) => withoutEmpty(row.values[column]);
  if (columns !== undefined) return compileJoin(columns, join ?? ' ');
  if (constant !== undefined) return () => constant || undefined;
  const at = texts.addExpression(expression ?? '');
  return (row) => readResult(row, at, field);
}

function withoutEmpty(value: ColumnValue | undefined): ColumnValue | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  const filled = value?.filter((text) => text !== '');
  return filled === undefined || filled.length > 1 ? filled : filled[0];
}

function compileJoin(columns: readonly string[], join: string): Pick {
  return ({ values }) => {
    const texts = columns.flatMap((name) => values[name] ?? []).filter((text) => text !== '');
    return texts.length === 0 ? undefined : texts.join(join);
  };
}

function readResult(row: RowView, at: number, field: string): ColumnValue | undefined {
  const result = row.results[at];
  if (typeof result === 'boolean') return String(result);
  if (typeof result === 'string' || Array.isArray(result)) return withoutEmpty(result as ColumnValue);
  if (result) row.problems.push({ field, reason: (result as { problem: string }).problem });
  return undefined;
}

function compileTransformations(
  spec: ColumnSpec,
  place: Place,
): { before: Transformation[]; after: Transformation[] } {
  const trim: Transformation[] = spec.trim ? [(text) => text.trim()] : [];
  const replaces = (spec.replace ?? []).map((one) => compileReplace(one, place));
  const after = spec.split === undefined ? [] : [...trim];
  if (spec.case === 'upper') after.push((text) => text.toUpperCase());
  if (spec.case === 'lower') after.push((text) => text.toLowerCase());
  if (spec.number !== undefined) after.push(transformNumber(spec.number));
  if (spec.unit !== undefined) after.push(addUnit(spec.unit));
  return { before: [...trim, ...replaces], after };
}

function compileReplace(
  { from, to, regex }: NonNullable<ColumnSpec['replace']>[number],
  { field, texts: { patterns } }: Place,
): Transformation {
  const replace = regex === true ? replacePattern({ from, to }, { patterns, field }) : replaceText(from, to);
  return (text) =>
    replace(text) ?? { reason: `is longer than ${TEXT_LENGTH} characters after a replacement` };
}

function transformNumber(format: NonNullable<ColumnSpec['number']>): Transformation {
  const read = compileNumber(format);
  return (text) => read(text) ?? { reason: `${quote(text)} is no number with a decimal ${format.decimal}` };
}

function addUnit(unit: string): Transformation {
  const ending = ` ${unit}`;
  return (text) => (text.endsWith(ending) ? text : text + ending);
}

/** An empty text stays empty: nothing is wrong with a number that is not there. */
function run(
  transformations: readonly Transformation[],
  given: string,
  note: (reason: string) => void,
): string {
  let text = given;
  for (const transform of transformations) {
    if (text === '') return '';
    const made = transform(text);
    if (typeof made !== 'string') {
      note(made.reason);
      return '';
    }
    text = made;
  }
  return text;
}

function splitText(text: string, separator: string, note: (reason: string) => void): string[] {
  const pieces = text.split(separator, PIECES + 1);
  if (pieces.length <= PIECES) return pieces;
  note(`holds more than ${PIECES} values`);
  return [];
}

const SHOWN = 60;

/** @returns a value as it may stand in a report */
export function quote(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
}
