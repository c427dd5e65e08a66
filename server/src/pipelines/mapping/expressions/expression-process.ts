/**
 * Entry of the process in which the expressions of a mapping run. It is a process and not a thread, because V8 ends the
 * whole process when a single large text or list exceeds the memory of a thread. In a thread, `$pad("x", 500000000)`
 * would crash the service. The process starts without any permissions: no files, no network, no environment, no code
 * made from text. It receives rows and answers with the results of the expressions.
 */
import type jsonataOf from 'jsonata';
import type { Expression, JsonataOptions } from 'jsonata';
import type { RE2JS as Re2js } from 're2js';
import type { ExpressionResult, PatternReading } from '../mapping-columns.ts';
import type { ProcessAnswer, ProcessLimits, ToProcess } from './expression-child.ts';

/** The parent names the only packages that this process may read. */
const [jsonataUrl = '', re2Url = ''] = process.argv.slice(2);
const { default: jsonata } = (await import(jsonataUrl)) as { default: typeof jsonataOf };
const { RE2JS } = (await import(re2Url)) as { RE2JS: typeof Re2js };

/** Answers are sent at least this often, so that the parent can see which rows are done. */
const FLUSH_MS = 50;
/** The limit of nested evaluations. Tail recursion needs only one. */
const STACK = 500;
const SEQUENCE = 100_000;
/** The cache is limited because expressions can create patterns from texts. */
const CACHED_PATTERNS = 1_000;

const patterns = new Map<string, Re2js>();

/** Replaces RegExp, whose time is unbounded. JSONata uses only its `lastIndex` and `exec`. */
class LinearPattern {
  lastIndex = 0;
  readonly #pattern: Re2js;

  constructor({ source, flags }: RegExp) {
    this.#pattern = compilePattern(source, flags);
  }

  exec(text: string): (string[] & { index: number }) | null {
    const matcher = this.#pattern.matcher(text);
    if (this.lastIndex > text.length || !matcher.find(this.lastIndex)) {
      this.lastIndex = 0;
      return null;
    }
    this.lastIndex = matcher.end();
    const groups = Array.from(
      { length: this.#pattern.groupCount() + 1 },
      (_, group) => matcher.group(group) ?? '',
    );
    return Object.assign(groups, { index: matcher.start() });
  }
}

function compilePattern(source: string, flags: string): Re2js {
  const key = `${flags}/${source}`;
  const cached = patterns.get(key);
  if (cached !== undefined) return cached;
  const ignoresCase = flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0;
  const pattern = RE2JS.compile(source, ignoresCase | (flags.includes('m') ? RE2JS.MULTILINE : 0));
  if (patterns.size >= CACHED_PATTERNS) patterns.clear();
  patterns.set(key, pattern);
  return pattern;
}

/** JSONata reads `timeout` when an evaluation begins. */
const options: JsonataOptions = {
  // JSONata uses only the members of RegExp that this class has.
  RegexEngine: LinearPattern as unknown as RegExpConstructor,
  timeout: 0,
  stack: STACK,
  sequence: SEQUENCE,
};
let loaded: Expression[] = [];
let limits: ProcessLimits = { rowMs: 0, textLength: 0, listLength: 0 };

/** @returns the problem of each expression, or null if it has none */
function load(texts: readonly string[]): (string | null)[] {
  loaded = [];
  return texts.map((text) => {
    try {
      const expression = jsonata(text, options);
      compilePatternsIn(expression.ast(), new Set());
      loaded.push(expression);
      return null;
    } catch (error) {
      // The expression is user input, so its error is the answer to its author.
      return describeError(error);
    }
  });
}

/**
 * Compiles all patterns, so that a pattern that RE2 does not support is refused when the mapping is written, and not at
 * the first row that uses it.
 */
function compilePatternsIn(node: unknown, visited: Set<unknown>): void {
  if (typeof node !== 'object' || node === null || visited.has(node)) return;
  visited.add(node);
  if (node instanceof RegExp) compilePattern(node.source, node.flags);
  else for (const part of Object.values(node)) compilePatternsIn(part, visited);
}

/** Answers each pattern separately. If a pattern exceeds the limits, it is the one after the last answer. */
async function readPatterns(texts: readonly string[], maxSteps: number): Promise<void> {
  let steps = 0;
  for (const text of texts) {
    const reading = steps > maxSteps ? null : readPattern(text);
    if (reading !== null && 'steps' in reading) steps += reading.steps;
    await send([reading]);
  }
}

function readPattern(text: string): PatternReading {
  try {
    const pattern = RE2JS.compile(text);
    return { steps: pattern.programSize(), groups: pattern.groupCount() };
  } catch (error) {
    // The pattern is user input too, so its error is the answer.
    return { problem: describeError(error) };
  }
}

async function evaluateRow(row: unknown): Promise<ExpressionResult[]> {
  const began = performance.now();
  const results: ExpressionResult[] = [];
  for (const expression of loaded) {
    options.timeout = Math.max(1, limits.rowMs - (performance.now() - began));
    try {
      results.push(toResult(await expression.evaluate(row)));
    } catch (error) {
      // A row that the expression cannot process is reported, and the other rows continue.
      const isRunaway = (error as { code?: unknown }).code === 'D1012';
      results.push({ problem: describeError(error), ...(isRunaway && { isRunaway }) });
    }
  }
  return results;
}

function toResult(value: unknown): ExpressionResult {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return value;
  if (Array.isArray(value)) return toList(value);
  const text = toText(value);
  if (text === undefined)
    return { problem: 'the expression must give a text, a number, true, false or a list of them' };
  return text.length > limits.textLength ? tooLong : text;
}

const tooLong = { problem: 'the expression gives a text that is too long' };

function toList(list: readonly unknown[]): ExpressionResult {
  if (list.length > limits.listLength)
    return { problem: `the expression gives more than ${limits.listLength} values` };
  const texts = list
    .filter((value) => value !== null && value !== undefined)
    .map((value) => (typeof value === 'boolean' ? String(value) : toText(value)));
  if (!texts.every((text) => text !== undefined))
    return { problem: 'the expression gives a list with values that are not texts' };
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  return length > limits.textLength ? tooLong : texts;
}

/** Writes numbers like JSONata, with 15 digits, so that 0.1 + 0.2 is 0.3. */
function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return String(Number(value.toPrecision(15)));
}

/** JSONata throws objects with a code. */
function describeError(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (code === 'D1012') return `the expression takes longer than ${limits.rowMs / 1000} s`;
  if (code === 'D1011' || error instanceof RangeError)
    return 'the expression calls itself too often or needs too much memory';
  if (code === 'D2015' || code === 'D2014') return 'the expression makes a list that is too long';
  return String(message ?? error).slice(0, 300);
}

async function evaluateRows(rows: readonly unknown[]): Promise<void> {
  let results: ExpressionResult[][] = [];
  let flushed = performance.now();
  for (const [index, row] of rows.entries()) {
    results.push(await evaluateRow(row));
    if (index < rows.length - 1 && performance.now() - flushed < FLUSH_MS) continue;
    await send(results);
    results = [];
    flushed = performance.now();
  }
}

/**
 * Waits until the answers are sent. If the parent has gone while rows remain that take a second each, only a failed
 * send shows it, because the event loop has no turn between rows for `disconnect`.
 */
function send(answers: readonly ProcessAnswer[]): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) process.exit();
    process.send(answers, (error: Error | null) => {
      if (error) process.exit();
      setImmediate(resolve);
    });
  });
}

process.on('disconnect', () => process.exit());
process.on('message', (question: ToProcess) => {
  if (question.kind === 'rows') void evaluateRows(question.items);
  else if (question.kind === 'patterns') void readPatterns(question.items, question.maxSteps);
  else {
    limits = question.limits;
    void send(load(question.items));
  }
});
// An empty answer reports that the process is ready for questions.
await send([]);
