import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseWalked, describePage, type WantedBuild } from './relation-plan.ts';

const wantedBuild = (relationId: number, wanted: number, active: number | null = null): WantedBuild => ({
  ...{ relationId, wanted, active },
  ...{ rule: '{}', last: 10 },
});
const documents = (...ids: number[]) => ids.map((id) => ({ id, productId: id, raw: '{}' }));

test('builds are walked together from their beginning, and one that is wanted later waits for its own walk (§12.4)', () => {
  const first = chooseWalked([wantedBuild(1, 4), wantedBuild(2, 5), wantedBuild(3, 6, 6)], undefined);
  assert.deepEqual(
    first.map(({ wanted }) => wanted),
    [4, 5],
  );
  const { next } = describePage({ builds: [4, 5], last: 10, limit: 2, page: documents(1, 3) });
  assert.deepEqual(next, { builds: [4, 5], document: 3 });
  const second = chooseWalked([wantedBuild(1, 7), wantedBuild(2, 5)], next);
  assert.deepEqual(
    second.map(({ wanted }) => wanted),
    [5],
  );
  const end = describePage({ builds: [5], last: 10, limit: 2, page: documents(9) });
  assert.deepEqual(end, { next: undefined, progress: 90 });
});
