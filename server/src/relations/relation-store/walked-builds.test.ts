// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseWalked, describePage, type PlannedBuild } from './build-store.ts';

const buildOf = (relationId: number, next: number, active: number | null = null): PlannedBuild => ({
  relationId,
  next,
  active,
  rule: '{}',
  last: 10,
});
const documents = (...ids: number[]) => ids.map((id) => ({ id, productId: id, raw: '{}' }));

test('builds are walked together from the beginning, and a later build waits for its own walk (§12.4)', () => {
  const first = chooseWalked([buildOf(1, 4), buildOf(2, 5), buildOf(3, 6, 6)], undefined);
  assert.deepEqual(
    first.map((build) => build.next),
    [4, 5],
  );
  const { next } = describePage(documents(1, 3), { builds: [4, 5], last: 10, limit: 2 });
  assert.deepEqual(next, { builds: [4, 5], document: 3 });
  const second = chooseWalked([buildOf(1, 7), buildOf(2, 5)], next);
  assert.deepEqual(
    second.map((build) => build.next),
    [5],
  );
  const end = describePage(documents(9), { builds: [5], last: 10, limit: 2 });
  assert.deepEqual(end, { next: undefined, progress: 90 });
});
