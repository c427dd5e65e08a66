// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  replacePattern as addReplacement,
  matchPattern,
  PATTERN_STEPS,
  PATTERNS,
  PatternList,
  replaceText,
  TEXT_LENGTH,
} from './mapping-columns.ts';

/** A compiled list with one pattern. @throws AssertionError with the pattern's problem */
function compile<Use>(add: (patterns: PatternList) => Use): Use {
  const patterns = new PatternList();
  const use = add(patterns);
  assert.equal(patterns.compile()?.problem, undefined);
  return use;
}
const field = 'name';
const compilePattern = (pattern: string) => compile((list) => matchPattern(list.add(pattern, { field })));
const replacePattern = (from: string, to: string) =>
  compile((patterns) => addReplacement({ from, to }, { patterns, field }));

/** The processor time of this thread. On a busy machine, the clock would also measure other programs. */
const readThreadMs = () => process.threadCpuUsage().user / 1_000;

test('a text is replaced literally, at every occurrence', () => {
  fc.assert(
    fc.property(fc.string(), fc.string({ minLength: 1, maxLength: 3 }), fc.string(), (text, from, to) => {
      assert.equal(
        replaceText(from, to)(text),
        text.replaceAll(from, () => to),
      );
    }),
  );
  assert.equal(replaceText('.', '$&$1')('a.b.'), 'a$&$1b$&$1');
});

const replaced: [string, string, string, string][] = [
  ['a.c', 'x', 'abc adc', 'x x'],
  ['(\\d+) mm', '$1', '12 mm', '12'],
  ['(\\w+)-(\\w+)', '$2-$1', 'a-b c-d', 'b-a d-c'],
  ['b', '[$&]', 'abc', 'a[b]c'],
  ['b', '$$1', 'abc', 'a$1c'],
  ['b', '$', 'abc', 'a$c'],
  ['x*', '-', 'abc', '-a-b-c-'],
  ['^', '> ', 'abc', '> abc'],
  ['(a)|(b)', '<$1$2>', 'ab', '<a><b>'],
  ['(?i)ZOLL', 'in', '3 zoll', '3 in'],
  ['ü', 'ue', 'Tür', 'Tuer'],
  ['\\p{L}+', 'w', 'Straße 1', 'w 1'],
];
for (const [from, to, text, result] of replaced) {
  test(`the pattern ${from} replaced by ${to} turns ${text} into ${result}`, () => {
    assert.equal(replacePattern(from, to)(text), result);
  });
}

test('an invalid pattern, one that RE2 does not support and one that is too large are refused', () => {
  const refused = ['(', '[a', 'a**', '(?=a)', '(?<!a)', '(a)\\1', '(a{1000}){1000}', 'a{1001}', '\\'];
  for (const pattern of refused) {
    assert.throws(() => compilePattern(pattern), Error, pattern);
    assert.throws(() => replacePattern(pattern, ''), Error, pattern);
  }
  assert.throws(() => replacePattern('(a)', '$2'), /has no group \$2/);
});

/** @returns the problem of the first unusable pattern */
function findProblem(...patterns: readonly string[]) {
  const list = new PatternList();
  for (const pattern of patterns) list.add(pattern, { field });
  return list.compile();
}

test("the number and the compiled size of a mapping's patterns are limited, with each pattern counted once", () => {
  const many = Array.from({ length: PATTERNS }, (_, index) => `a${index}`);
  assert.equal(findProblem(...many, ...many), undefined);
  const oneMore = findProblem(...many, 'b');
  assert.deepEqual([oneMore?.pattern, oneMore?.field], ['b', 'name']);
  assert.match(oneMore?.problem ?? '', /at most 500 different patterns/);

  const large = Array.from({ length: 10 }, (_, index) => `(\\pL|\\pN){${1_000 - index}}`);
  assert.equal(findProblem(...large.slice(0, 6)), undefined, '18,000 of the 20,000 steps');
  const tooLarge = findProblem(...large);
  assert.equal(tooLarge?.pattern, large[6]);
  assert.match(tooLarge?.problem ?? '', /takes 2,984 of the 20,000 steps that all patterns .* repeat less/);
  assert.match(findProblem('a{1000}'.repeat(PATTERN_STEPS / 1_000))?.problem ?? '', /takes 20,002 of/);
});

test('patterns that occupy the engine of JavaScript for years run in linear time', () => {
  const slow = [
    '(a+)+$',
    '(a|a)*b',
    '(a|aa)+$',
    '(.*a){20}',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '(a*)*c',
    'a*a*a*a*a*b',
  ];
  const text = `${'a'.repeat(20_000)}!`;
  for (const pattern of slow) {
    const began = readThreadMs();
    compilePattern(pattern)(text);
    replacePattern(pattern, 'x')(text);
    assert.ok(readThreadMs() - began < 5_000, pattern);
  }
});

test('time grows with the text, not with its square', () => {
  const matches = compilePattern('(x+x+)+y');
  const measure = (length: number) => {
    const text = 'x'.repeat(length);
    const began = readThreadMs();
    for (let round = 0; round < 5; round++) matches(text);
    return readThreadMs() - began;
  };
  measure(20_000);
  const ratio = measure(800_000) / Math.max(1, measure(100_000));
  assert.ok(ratio < 32, `eight times the text took ${ratio.toFixed(1)} times as long`);
});

test('a replacement that makes a text too long has no result', () => {
  const text = 'a'.repeat(TEXT_LENGTH / 2);
  assert.equal(replaceText('a', 'bbb')(text), undefined);
  assert.equal(replacePattern('a', 'bbb')(text), undefined);
  assert.equal(replacePattern('(a+)', '$1$1$1')(text), undefined);
  assert.equal(replaceText('a', 'bb')(text)?.length, TEXT_LENGTH);
});
