import { addAbortListener } from 'node:events';
import { AccountPlaces, type Requester } from '../../account-places.ts';
import { PATTERN_STEPS, PATTERNS, type PatternList, type PatternReading } from '../mapping-columns.ts';
import {
  type Child,
  EXPRESSION_LIMITS,
  type ExpressionLimits,
  loadExpressions,
  startChild,
} from './expression-child.ts';

/** The problems of a mapping's expressions and patterns, by text. */
export interface TextProblems {
  readonly expressions: ReadonlyMap<string, string>;
  readonly patterns: ReadonlyMap<string, string>;
}

/** The time for all patterns together. A pattern takes a millisecond; the slowest permitted pattern takes 30. */
const PATTERNS_MS = 10_000;

const UNREADABLE = 'it takes too much time or memory to be read together with the other expressions';
const RUNAWAY = 'it takes too much time or memory to compile; repeat less, such as \\d+ for \\d{1,1000}';

export interface CheckedTexts {
  readonly expressions: readonly string[];
  readonly patterns: PatternList;
}

/** A process takes up to 224 MiB and 13 s. Most processes take 80 MiB and a fifth of a second. */
const CHECKS = { inProcess: 2, inAccount: 1, waiting: 20 } as const;

export type TextChecks = (requester: Requester) => (texts: CheckedTexts) => Promise<TextProblems>;

/** Checks texts for callers, with as many checks at a time as there are places. */
export function createTextChecks(): TextChecks {
  const places = new AccountPlaces(CHECKS);
  return (requester) => async (texts) => {
    const isEmpty = texts.expressions.length + texts.patterns.texts.length === 0;
    if (isEmpty) return { expressions: new Map(), patterns: new Map() };
    return places.use(requester, () => checkTexts(texts, requester));
  };
}

/**
 * Reads the expressions and patterns of a mapping like a run, in a process without permissions. A definition is checked
 * while other requests wait, and one pattern of ten characters may take a second and half a gigabyte.
 * @param signal aborts the check, which then throws the reason of the signal
 */
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
  using _listening = signal && addAbortListener(signal, () => void child.close());
  try {
    const { answers, lost } = await loadExpressions(child, expressions, limits);
    const readings = lost === undefined ? await readPatterns(child, texts) : [];
    signal?.throwIfAborted();
    const unreadable = expressions.flatMap((text, index) => {
      const problem = lost === undefined ? answers[index] : UNREADABLE;
      return problem ? [[text, problem] as const] : [];
    });
    const wrong = [...patterns.listProblems((_, index) => readings[index] ?? undefined)];
    return {
      expressions: new Map(unreadable),
      patterns: new Map(wrong.map(({ pattern, problem }) => [pattern, problem])),
    };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    await child.close();
  }
}

/** @returns a reading of each pattern; if the process was lost or took too long, the problem is at the next pattern */
async function readPatterns(child: Child, items: readonly string[]) {
  const question = { kind: 'patterns', items, maxSteps: PATTERN_STEPS } as const;
  const { answers, lost } = await child.ask<PatternReading | null>(question, PATTERNS_MS);
  return lost === undefined ? answers : [...answers, { problem: RUNAWAY }];
}
