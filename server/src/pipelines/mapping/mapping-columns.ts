import { RE2JS } from 're2js';
import { type Static, Type } from 'typebox';
import { type ColumnValue, cellOf, type RowCells } from '../../formats/input/input.ts';
import type { Column, ColumnSpec } from './mapping-schemas.ts';

/**
 * Why a row makes no product, or why a part is missing from its product. `field` is the part, such as `name` or
 * `attributes.Price`; it is `filter` for the filter, and `row` for the row itself. `column` is absent for constants,
 * expressions and the row itself.
 */
export const CellProblem = Type.Object(
  { field: Type.String(), column: Type.Optional(Type.String()), reason: Type.String() },
  { title: 'CellProblem' },
);
export type CellProblem = Static<typeof CellProblem>;

/** The result of an expression for a row. */
export type ExpressionResult =
  | null
  | boolean
  | string
  | readonly string[]
  | { readonly problem: string; readonly isRunaway?: boolean };

/** A row during mapping. */
export interface RowView {
  readonly source: RowCells;
  /** The results of the mapping's expressions, in the order of the expressions. */
  readonly results: readonly ExpressionResult[];
  readonly problems: CellProblem[];
}

export interface CompiledColumn {
  /** Names of the columns that this column reads. An expression may read others. */
  readonly uses: readonly string[];
  /** Whether the source may lack these columns. */
  readonly isOptional: boolean;
  /** The columns that it reads, separated by commas, for reports of problems. */
  readonly label: string | undefined;
  /** @returns undefined instead of an empty text; adds values that cannot be read to `problems` */
  read(row: RowView): ColumnValue | undefined;
}

/**
 * Limits for the size of a mapping, because other requests wait while a mapping is compiled, at 3 µs for each part. No
 * catalog needs a tenth of these numbers.
 */
const PARTS = 10_000;
const EXPRESSIONS = 2_000;

/**
 * The components of a mapping: the texts that are compiled separately, each once, and the number of columns and
 * replacements.
 */
export class MappingTexts {
  readonly patterns = new PatternList();
  readonly #expressions = new Map<string, number>();
  #parts = 0;

  get expressions(): readonly string[] {
    return [...this.#expressions.keys()];
  }

  /** @returns the index of the expression. @throws MappingProblem */
  addExpression(text: string): number {
    const index = this.#expressions.getOrInsert(text, this.#expressions.size);
    if (index >= EXPRESSIONS)
      throw new MappingProblem(
        `a mapping has at most ${EXPRESSIONS.toLocaleString('en')} different expressions`,
      );
    return index;
  }

  /** @throws MappingProblem */
  count(parts: number): void {
    this.#parts += parts;
    if (this.#parts <= PARTS) return;
    throw new MappingProblem(
      `a mapping has at most ${PARTS.toLocaleString('en')} columns and replacements; remove the ones that are not needed`,
    );
  }
}

export class MappingProblem extends Error {
  override readonly name = 'MappingProblem';
}

interface ColumnContext {
  readonly field: string;
  readonly texts: MappingTexts;
}

type Pick = (row: RowView) => ColumnValue | undefined;
/** @returns the text, or the reason why it is invalid */
type Transformation = (text: string) => string | { readonly reason: string };

/** The maximum number of values in one cell. More values suggest a wrong separator. */
const PIECES = 10_000;

/** @throws MappingProblem */
export function compileColumn(column: Column, context: ColumnContext): CompiledColumn {
  const spec: ColumnSpec = typeof column === 'string' ? { column } : column;
  const uses = spec.columns ?? (spec.column === undefined ? [] : [spec.column]);
  const label = uses.length === 0 ? undefined : uses.join(', ');
  const about = { uses, label, isOptional: spec.optional === true };
  context.texts.count(Math.max(1, uses.length) + (spec.replace?.length ?? 0));
  const pick = compilePick(spec, context);
  const transformations = compileTransformations(spec, context);
  const { default: fallback, split } = spec;
  if (transformations.before.length + transformations.after.length === 0 && split === undefined)
    return { ...about, read: fallback === undefined ? pick : (row) => pick(row) ?? (fallback || undefined) };

  const noteIn = (row: RowView) => (reason: string) => {
    row.problems.push({ field: context.field, ...(label !== undefined && { column: label }), reason });
  };
  function transform(picked: ColumnValue, row: RowView): ColumnValue | undefined {
    const note = noteIn(row);
    const values = typeof picked === 'string' ? [picked] : picked;
    const texts = values.map((text) => run(transformations.before, text, note));
    const pieces =
      split !== undefined && texts.some((text) => text.includes(split))
        ? texts.flatMap((text) => splitText(text, split, note))
        : texts;
    const transformed = pieces
      .map((text) => run(transformations.after, text, note))
      .filter((text) => text !== '');
    return transformed.length > 1 ? transformed : transformed[0];
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

function compilePick(spec: ColumnSpec, { field, texts }: ColumnContext): Pick {
  const { column, columns, constant, expression, join } = spec;
  const sources = [column, columns, constant, expression].filter((source) => source !== undefined);
  if (sources.length !== 1)
    throw new MappingProblem(`${field} needs exactly one of column, columns, constant and expression`);
  if (join !== undefined && columns === undefined)
    throw new MappingProblem(`${field} has join without columns`);
  if (column !== undefined) return ({ source }) => withoutEmpty(cellOf(source, column));
  if (columns !== undefined) return compileJoin(columns, join ?? ' ');
  if (constant !== undefined) return () => constant || undefined;
  const index = texts.addExpression(expression ?? '');
  return (row) => readResult(row, index, field);
}

function withoutEmpty(value: ColumnValue | undefined): ColumnValue | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  const filled = value?.filter((text) => text !== '');
  return filled === undefined || filled.length > 1 ? filled : filled[0];
}

function compileJoin(columns: readonly string[], join: string): Pick {
  return ({ source }) => {
    const texts = columns.flatMap((name) => cellOf(source, name) ?? []).filter((text) => text !== '');
    return texts.length === 0 ? undefined : texts.join(join);
  };
}

function readResult(row: RowView, index: number, field: string): ColumnValue | undefined {
  const result = row.results[index];
  if (typeof result === 'boolean') return String(result);
  if (typeof result === 'string' || Array.isArray(result)) return withoutEmpty(result as ColumnValue);
  if (result) row.problems.push({ field, reason: (result as { problem: string }).problem });
  return undefined;
}

function compileTransformations(
  { trim, replace = [], split, case: letters, number, unit }: ColumnSpec,
  context: ColumnContext,
): { before: Transformation[]; after: Transformation[] } {
  const before: Transformation[] = trim ? [(text) => text.trim()] : [];
  const after = split === undefined ? [] : [...before];
  before.push(...replace.map((replacement) => compileReplace(replacement, context)));
  if (letters === 'upper') after.push((text) => text.toUpperCase());
  if (letters === 'lower') after.push((text) => text.toLowerCase());
  if (number !== undefined) {
    const read = compileNumber(number);
    const reason = `is not a number with a decimal ${number.decimal}`;
    after.push((text) => read(text) ?? { reason: `${quote(text)} ${reason}` });
  }
  if (unit !== undefined) after.push((text) => (text.endsWith(` ${unit}`) ? text : `${text} ${unit}`));
  return { before, after };
}

function compileReplace(
  { from, to, regex }: NonNullable<ColumnSpec['replace']>[number],
  { field, texts: { patterns } }: ColumnContext,
): Transformation {
  const replace = regex === true ? replacePattern({ from, to }, { patterns, field }) : replaceText(from, to);
  return (text) =>
    replace(text) ?? { reason: `is longer than ${TEXT_LENGTH} characters after a replacement` };
}

/** An empty text stays empty, because a missing number is not an error. */
function run(
  transformations: readonly Transformation[],
  original: string,
  note: (reason: string) => void,
): string {
  let text = original;
  for (const transform of transformations) {
    if (text === '') return '';
    const result = transform(text);
    if (typeof result !== 'string') {
      note(result.reason);
      return '';
    }
    text = result;
  }
  return text;
}

function splitText(text: string, separator: string, note: (reason: string) => void): string[] {
  const pieces = text.split(separator, PIECES + 1);
  if (pieces.length <= PIECES) return pieces;
  note(`has more than ${PIECES} values`);
  return [];
}

const SHOWN = 60;

/** @returns a value in the form for reports */
export function quote(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
}

/** How a source writes numbers. */
export interface NumberFormat {
  readonly decimal: 'comma' | 'point';
  readonly group?: string;
}

/** Non-breaking spaces separate thousands as often as plain spaces do. */
const SPACES = ' \u00a0\u202f\u2009';
const APOSTROPHES = "'\u2019";

/**
 * @returns a function that reads a number of this format and writes it with only a decimal point: `1.299,00` becomes
 * `1299.00`. It returns undefined for any other text. Groups have three digits and the same separator. With a decimal
 * comma, `1.29` is more likely a price in another format than one hundred and twenty-nine.
 */
export function compileNumber({ decimal, group }: NumberFormat): (text: string) => string | undefined {
  const mark = decimal === 'comma' ? ',' : '.';
  const groups = group ?? `${decimal === 'comma' ? '.' : ','}${SPACES}${APOSTROPHES}`;
  return (text) => {
    const { sign, rest } = readSign(text.trim());
    const [whole = '', fraction, ...more] = rest.split(mark);
    const digits = readWhole(whole, groups);
    const isNumber = more.length === 0 && digits !== undefined && isDigits(fraction ?? '');
    if (!isNumber || (digits === '' && !fraction)) return undefined;
    const plain = digits.replace(/^0+(?=\d)/, '') || '0';
    const decimals = fraction ? `.${fraction}` : '';
    return `${sign}${plain}${decimals}`;
  };
}

/** Business software writes a minus sign after the number. */
function readSign(text: string): { sign: string; rest: string } {
  const first = text[0] ?? '';
  if (first === '-' || first === '\u2212') return { sign: '-', rest: text.slice(1) };
  if (first === '+') return { sign: '', rest: text.slice(1) };
  return text.endsWith('-') ? { sign: '-', rest: text.slice(0, -1) } : { sign: '', rest: text };
}

function readWhole(text: string, groups: string): string | undefined {
  if (isDigits(text)) return text;
  const separator = [...text].find((character) => groups.includes(character));
  if (separator === undefined) return undefined;
  const [first = '', ...others] = text.split(separator);
  const isGrouped = /^\d{1,3}$/.test(first) && others.every((part) => /^\d{3}$/.test(part));
  return isGrouped ? first + others.join('') : undefined;
}

const isDigits = (text: string) => /^\d*$/.test(text);

/**
 * Patterns come from outside, and `(a+)+$` can occupy the engine of JavaScript for years. So patterns run on RE2JS,
 * whose time is linear in the text. Features that RE2 lacks (look-around, back-references) are refused when patterns
 * are compiled.
 */

/** The length of the longest text that is made. Readers return no longer fields either. */
export const TEXT_LENGTH = 1024 * 1024;

/** @returns the text after the replacement; undefined if it would be too long */
type Replace = (text: string) => string | undefined;

/** More or larger patterns than these are a mistake in a mapping. A compiled pattern takes half a KiB per step. */
export const PATTERNS = 500;
export const PATTERN_STEPS = 20_000;

/** The result of compiling a pattern. */
export type PatternReading =
  | { readonly steps: number; readonly groups: number }
  | { readonly problem: string };

interface RequestedPattern {
  readonly field: string;
  groups: number;
  compiled: RE2JS | undefined;
}

interface PatternProblem {
  readonly pattern: string;
  readonly field: string;
  readonly problem: string;
}

type Compiled = () => RE2JS;

/** The patterns of a mapping, each once. They are compiled separately, because some take milliseconds and megabytes. */
export class PatternList {
  readonly #requested = new Map<string, RequestedPattern>();

  get texts(): readonly string[] {
    return [...this.#requested.keys()];
  }

  /**
   * @param groups the number of groups that the pattern must have
   * @returns the compiled pattern, once `compile` was called
   */
  add(pattern: string, { field, groups = 0 }: { field: string; groups?: number }): Compiled {
    const requested = this.#requested.getOrInsert(pattern, { field, groups, compiled: undefined });
    requested.groups = Math.max(requested.groups, groups);
    return () => {
      if (requested.compiled === undefined) throw new Error('The patterns of the mapping are not compiled');
      return requested.compiled;
    };
  }

  /** @param read returns undefined for a pattern that was not read because an earlier pattern is invalid */
  *listProblems(
    read: (pattern: string, index: number) => PatternReading | undefined,
  ): Generator<PatternProblem> {
    let steps = 0;
    let patternIndex = 0;
    for (const [pattern, { field, groups }] of this.#requested) {
      const reading = patternIndex < PATTERNS ? read(pattern, patternIndex) : { problem: TOO_MANY };
      if (reading !== undefined && 'steps' in reading) steps += reading.steps;
      const problem = reading && findProblem(reading, { steps, groups });
      if (problem !== undefined) yield { pattern, field, problem };
      patternIndex += 1;
    }
  }

  /** @returns the first problem; undefined if all patterns can be used */
  compile(): PatternProblem | undefined {
    const [first] = this.listProblems((pattern) => this.#compileOne(pattern)).take(1);
    return first;
  }

  #compileOne(pattern: string): PatternReading {
    try {
      const compiled = RE2JS.compile(pattern);
      const requested = this.#requested.get(pattern);
      if (requested !== undefined) requested.compiled = compiled;
      return { steps: compiled.programSize(), groups: compiled.groupCount() };
    } catch (error) {
      // RE2JS throws only because of the pattern, and its author reads the reason.
      return { problem: (error as Error).message };
    }
  }
}

const TOO_MANY = `a mapping has at most ${PATTERNS} different patterns; use one pattern for several columns`;

function findProblem(
  reading: PatternReading,
  { steps, groups }: { steps: number; groups: number },
): string | undefined {
  if ('problem' in reading) return reading.problem;
  if (steps > PATTERN_STEPS)
    return `it takes ${reading.steps.toLocaleString('en')} of the ${PATTERN_STEPS.toLocaleString('en')} steps that all patterns of a mapping may take; repeat less, such as \\d+ for \\d{1,1000}`;
  return groups > reading.groups ? `the pattern has no group $${groups}` : undefined;
}

/** @param compiled called for the first text */
export function matchPattern(compiled: Compiled): (text: string) => boolean {
  return (text) => compiled().test(text);
}

/** Replaces every occurrence of `from` literally. No character in `to` has a special meaning. */
export function replaceText(from: string, to: string): Replace {
  return (text) => {
    if (!text.includes(from)) return text;
    const parts = text.split(from);
    const length = text.length + (parts.length - 1) * (to.length - from.length);
    return length > TEXT_LENGTH ? undefined : parts.join(to);
  };
}

/** Adds the pattern to the list, and replaces its matches. */
export function replacePattern(
  { from, to }: { from: string; to: string },
  { patterns, field }: { patterns: PatternList; field: string },
): Replace {
  const parts = readTemplate(to);
  const groups = Math.max(0, ...parts.filter((part) => typeof part === 'number'));
  const compiled = patterns.add(from, { field, groups });
  return (text) => joinLimited(replaceMatches(text, parts, compiled()));
}

function* replaceMatches(
  text: string,
  parts: readonly (string | number)[],
  pattern: RE2JS,
): Generator<string> {
  let end = 0;
  for (const match of pattern.matchAll(text)) {
    yield text.slice(end, match.index);
    for (const part of parts) yield typeof part === 'string' ? part : (match[part] ?? '');
    end = (match.index ?? 0) + match[0].length;
  }
  yield text.slice(end);
}

/** @returns undefined as soon as the text is too long */
function joinLimited(pieces: Iterable<string>): string | undefined {
  let text = '';
  for (const piece of pieces) {
    text += piece;
    if (text.length > TEXT_LENGTH) return undefined;
  }
  return text;
}

/** @returns texts, and the numbers of groups to insert; 0 is the whole match */
function readTemplate(to: string): (string | number)[] {
  return to.split(/(\$[1-9&$])/).map((part) => {
    if (!/^\$[1-9&$]$/.test(part)) return part;
    if (part === '$$') return '$';
    return part === '$&' ? 0 : Number(part[1]);
  });
}
