import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beginBelow, readPath, writePath } from './category-path.ts';

const PATHS = [
  ['A'],
  ['A', '\u0001'],
  ['A', '\u0001', 'x'],
  ['A', '\u0001\u0001'],
  ['A', 'B'],
  ['A', 'B', 'C'],
  ['A', 'B\u0001'],
  ['A', 'B C'],
  ['A\u0001', 'B'],
  ['A\u0001\u0001'],
  ['A\u0002'],
  ['A > B'],
  ['A B'],
  ['Ä'],
  ['\ue000'],
  ['😀'],
];

test('a path comes back as it was, whatever its names hold', () => {
  for (const path of PATHS) assert.deepEqual(readPath(writePath(path)), path);
});

test('texts of paths sort with a parent before what is below it, and that before the next sibling', () => {
  const texts = PATHS.map(writePath);
  assert.deepEqual(texts.toReversed().sort(compareBytes), texts);
});

test('a text begins with that of a path exactly when it is below it', () => {
  const isBelow = (path: string[], top: string[]) =>
    path.length > top.length && top.every((name, at) => path[at] === name);
  for (const top of PATHS) {
    for (const path of PATHS)
      assert.equal(writePath(path).startsWith(beginBelow(top)), isBelow(path, top), `${path} below ${top}`);
  }
});

const compareBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));
