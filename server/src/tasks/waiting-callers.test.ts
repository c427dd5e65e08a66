// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller } from '../kernel/caller.ts';
import { createWaitingCallers } from './task-routes.ts';

const key = (keyId: number): Caller => ({
  accountId: 1,
  keyId,
  keyName: '',
  scope: { type: 'account' },
  access: 'write',
});

test('each key may have 1,000 waits at a time, and a wait that ends makes room for another (§4.7 rule 17)', () => {
  const waiting = createWaitingCallers();
  const leaves = Array.from({ length: 1_000 }, () => waiting.enter(key(1)));
  assert.throws(() => waiting.enter(key(1)), { code: 'too_many_waits' });
  waiting.enter(key(2));
  leaves[0]?.();
  waiting.enter(key(1));
  assert.throws(() => waiting.enter(key(1)), { code: 'too_many_waits' });
});
