/**
 * Reads the expressions and patterns of a mapping as they are read for its rows, in a process without rights: a definition
 * is checked while others wait, and one pattern of ten characters may take a second and half a gigabyte.
 */

import { AccountPlaces, type Asker } from '../account-places.ts';
import {
  type Child,
  EXPRESSION_LIMITS,
  type ExpressionLimits,
  isLost,
  loadExpressions,
  startChild,
} from './expressions/expressions.ts';
import type { CompiledMapping } from './mapping.ts';
import { PATTERN_STEPS, PATTERNS, type PatternReading } from './mapping-patterns.ts';

/** What is wrong with texts of a mapping, by the text. */
export interface TextProblems {
  readonly expressions: ReadonlyMap<string, string>;
  readonly patterns: ReadonlyMap<string, string>;
}

/** Of all patterns together; each takes a millisecond, 30 the worst that are allowed. */
const PATTERNS_MS = 10_000;

const UNREADABLE = 'it cannot be read together with the other expressions: it takes too much time or memory';
const RUNAWAY = 'it takes too much time or memory to be compiled; repeat less, as \\d+ for \\d{1,1000}';

export type CheckedTexts = Pick<CompiledMapping, 'expressions' | 'patterns'>;

/** A process takes up to 224 MiB and 13 s; most take 80 MiB and a fifth of a second. */
const CHECKS = { inProcess: 2, inAccount: 1, waiting: 20 } as const;

export type TextChecks = (asker: Asker) => (texts: CheckedTexts) => Promise<TextProblems>;

/** Checks for callers, as many at a time as the service has places. */
export function createTextChecks(): TextChecks {
  const places = new AccountPlaces(CHECKS);
  return (asker) => async (texts) => {
    if (texts.expressions.length + texts.patterns.texts.length === 0) return NOTHING;
    return places.use(asker, () => checkTexts(texts, asker));
  };
}

const NOTHING: TextProblems = { expressions: new Map(), patterns: new Map() };

/** @param signal  ends the check, which then throws its reason */
export async function checkTexts(
  { expressions, patterns }: CheckedTexts,
  {
    limits = EXPRESSION_LIMITS,
    signal,
  }: { limits?: ExpressionLimits; signal?: AbortSignal | undefined } = {},
): Promise<TextProblems> {
  const texts = patterns.texts.slice(0, PATTERNS);
  signal?.throwIfAborted();
  const child = startChild(limits);
  const stop = () => void child.close();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const problems = await readExpressions(child, expressions, limits);
    const readings = problems === undefined ? [] : await readPatterns(child, texts);
    signal?.throwIfAborted();
    const wrong = [...patterns.listProblems((_, at) => readings[at])];
    return {
      expressions: problems ?? new Map(expressions.map((text) => [text, UNREADABLE])),
      patterns: new Map(wrong.map(({ pattern, problem }) => [pattern, problem])),
    };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    await child.close();
  }
}

/** @returns what is wrong, by the text; undefined when the process was lost */
async function readExpressions(
  child: Child,
  expressions: readonly string[],
  limits: ExpressionLimits,
): Promise<ReadonlyMap<string, string> | undefined> {
  if (expressions.length === 0) return new Map();
  try {
    const loaded = await loadExpressions(child, expressions, limits);
    return new Map(expressions.flatMap((text, at) => (loaded[at] ? [[text, loaded[at]]] : [])));
  } catch (error) {
    if (isLost(error)) return undefined;
    throw error;
  }
}

/** @returns a reading of each, up to the one that goes too far */
async function readPatterns(child: Child, patterns: readonly string[]): Promise<PatternReading[]> {
  const readings: PatternReading[] = [];
  const began = performance.now();
  try {
    for await (const message of child.ask({ patterns, maxSteps: PATTERN_STEPS })) {
      if ('isRead' in message) return readings;
      if ('pattern' in message) readings.push(message.pattern);
      if (performance.now() - began > PATTERNS_MS) break;
    }
  } catch (error) {
    // The process ended at its limit: patterns without an answer are the problem, and are named below.
    if (!isLost(error)) throw error;
  }
  return [...readings, { problem: RUNAWAY }];
}
