/**
 * Patterns run on RE2JS, whose time is linear in the text: a pattern comes from outside, and the engine of JavaScript can be
 * kept busy for years by `(a+)+$`. What RE2 has not (look-around, back-references) is refused when its patterns are compiled.
 */
import { RE2JS } from 're2js';

/** A text longer than that is not made: the readers hand over no longer field either. */
export const TEXT_LENGTH = 1024 * 1024;

/** @returns a replaced text; undefined when it would be too long */
export type Replace = (text: string) => string | undefined;

/** A mapping with more of them, or with larger ones, is a mistake; compiled they take half a KiB for each step. */
export const PATTERNS = 500;
export const PATTERN_STEPS = 20_000;

/** What a pattern is compiled to. */
export type PatternReading =
  | { readonly steps: number; readonly groups: number }
  | { readonly problem: string };

interface WantedPattern {
  readonly field: string;
  groups: number;
  compiled: RE2JS | undefined;
}

export interface PatternProblem {
  readonly pattern: string;
  readonly field: string;
  readonly problem: string;
}

type Compiled = () => RE2JS;

/** The patterns of a mapping, each once. They are compiled apart: some take milliseconds and megabytes. */
export class PatternList {
  readonly #requested = new Map<string, WantedPattern>();

  get texts(): readonly string[] {
    return [...this.#requested.keys()];
  }

  /**
   * @param groups  the pattern must have
   * @returns the compiled pattern, once `compile` was called
   */
  add(pattern: string, { field, groups = 0 }: { field: string; groups?: number }): Compiled {
    const requested = this.#requested.get(pattern) ?? { field, groups, compiled: undefined };
    requested.groups = Math.max(requested.groups, groups);
    this.#requested.set(pattern, requested);
    return () => {
      if (requested.compiled === undefined) throw new Error('The patterns of the mapping are not compiled');
      return requested.compiled;
    };
  }

  /** @param read  undefined for a pattern that nobody looked at, since one before it is wrong */
  *listProblems(
    read: (pattern: string, at: number) => PatternReading | undefined,
  ): Generator<PatternProblem> {
    let steps = 0;
    let at = 0;
    for (const [pattern, { field, groups }] of this.#requested) {
      const reading = at < PATTERNS ? read(pattern, at) : { problem: TOO_MANY };
      if (reading !== undefined && 'steps' in reading) steps += reading.steps;
      const problem = reading && findProblem(reading, { steps, groups });
      if (problem !== undefined) yield { pattern, field, problem };
      at += 1;
    }
  }

  /** @returns the first problem; undefined when all patterns can be used */
  compile(): PatternProblem | undefined {
    return this.listProblems((pattern) => this.#compileOne(pattern)).next().value as
      | PatternProblem
      | undefined;
  }

  #compileOne(pattern: string): PatternReading {
    try {
      const compiled = RE2JS.compile(pattern);
      const requested = this.#requested.get(pattern);
      if (requested !== undefined) requested.compiled = compiled;
      return { steps: compiled.programSize(), groups: compiled.groupCount() };
    } catch (error) {
      // RE2JS throws for the pattern alone; the person who wrote it reads why.
      return { problem: (error as Error).message };
    }
  }
}

const TOO_MANY = `a mapping has at most ${PATTERNS} different patterns; use one for several columns`;

function findProblem(
  reading: PatternReading,
  { steps, groups }: { steps: number; groups: number },
): string | undefined {
  if ('problem' in reading) return reading.problem;
  if (steps > PATTERN_STEPS) return describeSteps(reading.steps);
  return groups > reading.groups ? `$${groups} stands for no group of the pattern` : undefined;
}

function describeSteps(steps: number): string {
  const most = PATTERN_STEPS.toLocaleString('en');
  const own = steps.toLocaleString('en');
  return `it takes ${own} of the ${most} steps that all patterns of a mapping may take; repeat less, as \\d+ for \\d{1,1000}`;
}

/** @param compiled  called for the first text */
export function matchPattern(compiled: Compiled): (text: string) => boolean {
  return (text) => compiled().test(text);
}

/** `from` as it stands, every occurrence; nothing in `to` has a meaning of its own. */
export function replaceText(from: string, to: string): Replace {
  return (text) => {
    if (!text.includes(from)) return text;
    const parts = text.split(from);
    const length = text.length + (parts.length - 1) * (to.length - from.length);
    return length > TEXT_LENGTH ? undefined : parts.join(to);
  };
}

/** Has the pattern compiled in the list, and replaces its matches. */
export function replacePattern(
  { from, to }: { from: string; to: string },
  { patterns, field }: { patterns: PatternList; field: string },
): Replace {
  const parts = readTemplate(to);
  const groups = Math.max(0, ...parts.filter((part) => typeof part === 'number'));
  const compiled = patterns.add(from, { field, groups });
  return (text) => {
    const made = new LimitedText();
    let end = 0;
    for (const match of compiled().matchAll(text)) {
      const { index = 0 } = match;
      made.add(text.slice(end, index));
      fillTemplate(parts, match, made);
      if (made.isTooLong()) return undefined;
      end = index + match[0].length;
    }
    made.add(text.slice(end));
    return made.isTooLong() ? undefined : made.text();
  };
}

function fillTemplate(
  parts: readonly (string | number)[],
  match: readonly string[],
  made: LimitedText,
): void {
  for (const part of parts) made.add(typeof part === 'string' ? part : (match[part] ?? ''));
}

class LimitedText {
  readonly #pieces: string[] = [];
  #length = 0;

  add(piece: string): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  isTooLong(): boolean {
    return this.#length > TEXT_LENGTH;
  }

  text(): string {
    return this.#pieces.join('');
  }
}

/** @returns texts, and the numbers of groups whose text stands there; 0 is the whole match */
function readTemplate(to: string): (string | number)[] {
  return to.split(/(\$[1-9&$])/).map((part) => {
    if (!/^\$[1-9&$]$/.test(part)) return part;
    if (part === '$$') return '$';
    return part === '$&' ? 0 : Number(part[1]);
  });
}
