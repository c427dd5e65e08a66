// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProductRelation } from '@relata/client';
import { findNext, listIdle, listWays, placeBranches, walkTo } from './walk.ts';

const side = (...results: (readonly [identifier: string, groupId: string])[]) => ({
  stands: true,
  results: results.map(([identifier, groupId]) => ({ identifier, groupId })),
});

test('groups results in the order of the relation, separately for each direction', () => {
  const relations = [
    { id: 1, asSource: side(['A1', 'A'], ['B1', 'B'], ['A2', 'A']), asTarget: side(['C1', 'C']) },
    { id: 2, asSource: side(), asTarget: null },
  ] as Partial<ProductRelation>[] as ProductRelation[];
  const ways = listWays(relations).map(({ relation, isBack, groups }) => [
    relation.id,
    isBack,
    ...groups.map((variants) => variants.map(({ identifier }) => identifier).join()),
  ]);
  assert.deepEqual(ways, [
    [1, false, 'A1,A2', 'B1'],
    [1, true, 'C1'],
  ]);
  assert.deepEqual(
    listIdle(relations).map(({ id }) => id),
    [2],
  );
});

test('distributes branches evenly on both sides, and centres the lower side', () => {
  const single = { shown: 1, hasMore: false };
  const { height, right, left } = placeBranches([{ shown: 3, hasMore: true }, single, single]);
  assert.deepEqual([right.branches, left.branches], [[0], [1, 2]]);
  assert.equal(height, 13.75);
  assert.deepEqual(right.nodes, [3.375, 7, 10.625]);
  assert.deepEqual(left.nodes, [4.75, 10.75]);
  assert.deepEqual(placeBranches([single]).left, { branches: [], nodes: [] });
});

test('arrow keys move to the nearest box in their direction', () => {
  const box = (left: number, top: number) => ({ left, right: left + 10, top, bottom: top + 4 });
  const boxes = [box(20, 10), box(0, 0), box(0, 11), box(40, 0), box(40, 5), box(40, 10)];
  const go = (from: number, key: string) => findNext(key, boxes[from] ?? box(0, 0), boxes);
  assert.deepEqual([go(0, 'ArrowLeft'), go(0, 'ArrowRight'), go(0, 'ArrowDown')], [2, 5, -1]);
  assert.deepEqual([go(3, 'ArrowDown'), go(5, 'ArrowUp'), go(3, 'ArrowUp')], [4, 4, -1]);
  assert.deepEqual([go(3, 'ArrowLeft'), go(1, 'ArrowRight'), go(0, 'Enter')], [0, 0, -1]);
});

test('a path grows by each step, is cut back at a visited product, and has a maximum length', () => {
  assert.deepEqual(walkTo(['A', 'B'], 'C'), ['A', 'B', 'C']);
  assert.deepEqual(walkTo(['A', 'B', 'C'], 'B'), ['A', 'B']);
  assert.deepEqual(walkTo(['A', 'B', 'C'], 'A'), ['A']);
  const steps = Array.from({ length: 19 }, (_, index) => String(index));
  assert.deepEqual(walkTo(['A', ...steps], 'X').slice(0, 3), ['A', '1', '2']);
});
