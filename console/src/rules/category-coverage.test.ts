import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listWorstFirst } from './category-coverage.ts';

test('of what products of a category have, the worst covered attribute comes first', () => {
  const of = (name: string, withValue: number, withFact = withValue) => ({ name, withValue, withFact });
  const list = listWorstFirst(
    [of('Socket', 8), of('Colour', 3), of('Wheel size', 0), of('Chipset', 8, 0)],
    8,
  );
  assert.deepEqual(list, [
    { name: 'Chipset', share: 0, lacking: 8 },
    { name: 'Colour', share: 0.375, lacking: 5 },
    { name: 'Socket', share: 1, lacking: 0 },
  ]);
  assert.deepEqual(listWorstFirst([], 0), []);
});
