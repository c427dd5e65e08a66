// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileGlob, globProblem } from './glob.ts';

const cases: { pattern: string; yes: string[]; no: string[] }[] = [
  { pattern: 'a.csv', yes: ['a.csv'], no: ['A.csv', 'b/a.csv', 'a.csv.gz', 'xa.csv'] },
  { pattern: '*.csv', yes: ['a.csv', 'a b.csv', 'ü.csv'], no: ['.csv', '.a.csv', 'd/a.csv', 'a.csv/b'] },
  { pattern: 'a?c', yes: ['abc', 'a*c'], no: ['ac', 'abbc', 'a/c'] },
  { pattern: '*a*b', yes: ['ab', 'xaxbxb'], no: ['ba', 'axbx'] },
  { pattern: 'in/*.csv', yes: ['in/a.csv'], no: ['a.csv', 'in/x/a.csv'] },
  { pattern: '**/*.csv', yes: ['a.csv', 'x/a.csv', 'x/y/a.csv'], no: ['.x/a.csv', 'x/.y/a.csv', 'a.txt'] },
  { pattern: 'x/**/y/*', yes: ['x/y/a', 'x/1/y/a', 'x/1/2/y/y/a'], no: ['y/a', 'x/a', 'x/y'] },
  { pattern: '.*', yes: ['.a'], no: ['a'] },
  { pattern: 'a.(b)+[c]', yes: ['a.(b)+[c]'], no: ['axb', 'a.bbc'] },
];
for (const { pattern, yes, no } of cases) {
  test(`the pattern ${pattern} matches the listed paths and no others`, () => {
    const glob = compileGlob(pattern);
    for (const path of yes) assert.ok(glob.matches(path), path);
    for (const path of no) assert.ok(!glob.matches(path), path);
  });
}

test('a composed and a decomposed umlaut are the same name', () => {
  assert.ok(compileGlob('übersicht.csv').matches('übersicht.csv'.normalize('NFD')));
});

test('patterns that leave the folder or have no meaning are refused', () => {
  const bad = [
    '',
    '/etc/*',
    '../*',
    'a/../b',
    './a',
    'a//b',
    'a/',
    'a\\b',
    'a\0',
    'a**b',
    '**',
    'a/**',
    '*'.repeat(256),
  ];
  for (const pattern of bad) assert.ok(globProblem(pattern) !== undefined, pattern);
  for (const { pattern } of cases) assert.equal(globProblem(pattern), undefined, pattern);
});

test('a pattern that is designed to be slow is fast', () => {
  const glob = compileGlob(`${'a*'.repeat(120)}b`);
  const started = performance.now();
  assert.ok(!glob.matches('a'.repeat(100_000)));
  const deep = compileGlob(`${'**/'.repeat(15)}x`);
  assert.ok(!deep.matches('a/'.repeat(2_000)));
  assert.ok(performance.now() - started < 2_000);
});

test('a name without wildcards matches only itself', () => {
  const name = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !/[*?/\\\0]|^\.+$/.test(text));
  fc.assert(
    fc.property(name, name, (a, b) => {
      assert.ok(compileGlob(a).matches(a));
      assert.equal(compileGlob(a).matches(b), a.normalize('NFC') === b.normalize('NFC'));
    }),
  );
});
