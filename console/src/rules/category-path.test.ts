// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listWorstFirst, readPath, writePath } from './category-path.ts';

const READ: readonly (readonly [text: string, path: string[]])[] = [
  ['', []],
  [' > ', []],
  ['Tools', ['Tools']],
  ['Tools > Drills', ['Tools', 'Drills']],
  ['Tools>Drills >', ['Tools', 'Drills']],
  ['  Tools  >  Cordless drills  ', ['Tools', 'Cordless drills']],
  ['"A > B" > C', ['A > B', 'C']],
  ['"A > B', ['"A', 'B']],
  ['"Best" tools > C', ['"Best" tools', 'C']],
  ['5" pipes > C', ['5" pipes', 'C']],
  ['"bad \\x" > C', ['"bad \\x"', 'C']],
];
for (const [text, path] of READ) {
  test(`${JSON.stringify(text)} is the path ${JSON.stringify(path)}`, () => {
    assert.deepEqual(readPath(text), path);
  });
}

test('a written path is read back unchanged, whatever characters its names contain', () => {
  assert.equal(writePath(['Tools', '5" pipes', 'Drills']), 'Tools > 5" pipes > Drills');
  for (const path of [
    ['A > B', '>', 'C'],
    ['"', '"quoted"', '"a" b', '\\"'],
    [' ', ' a', 'b ', 'c  d', '\n'],
    ['Äpfel', '果物', '😀'],
  ])
    assert.deepEqual(readPath(writePath(path)), path);
});

test('lists the attributes of a category by coverage, the lowest first', () => {
  const of = (name: string, withValue: number, withFact = withValue) => ({ name, withValue, withFact });
  const list = listWorstFirst(
    [of('Socket', 8), of('Colour', 3), of('Wheel size', 0), of('Chipset', 8, 0)],
    8,
  );
  assert.deepEqual(list, [
    { name: 'Chipset', share: 0, withoutFact: 8 },
    { name: 'Colour', share: 0.375, withoutFact: 5 },
    { name: 'Socket', share: 1, withoutFact: 0 },
  ]);
  assert.deepEqual(listWorstFirst([], 0), []);
});
