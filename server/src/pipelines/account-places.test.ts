// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ServiceError } from '../kernel/errors.ts';
import { AccountPlaces } from './account-places.ts';

/** Work that continues until the test ends it. */
function openWork(accountPlaces: AccountPlaces) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string, accountId: number, signal?: AbortSignal) =>
    accountPlaces.use({ accountId, signal }, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await nextTurn();
  };
  return { begun, start, end };
}

const isRefusal = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code;

test('an account gets its share of the places, and waiting accounts take turns', async () => {
  const { begun, start, end } = openWork(new AccountPlaces({ inProcess: 3, inAccount: 2, waiting: 2 }));
  const first = ['a1', 'a2', 'a3', 'a4'].map((name) => start(name, 1));
  await assert.rejects(start('a5', 1), isRefusal('rate_limited'));
  const others = [start('b1', 2), start('b2', 2), start('c1', 3)];
  assert.deepEqual(begun, ['a1', 'a2', 'b1']);
  await end('b1');
  assert.deepEqual(begun.slice(3), ['b2'], 'a3 waits longer, but its account has its share');
  await end('a1');
  await end('a2');
  assert.deepEqual(begun.slice(4), ['a3', 'a4']);
  for (const name of ['b2', 'c1', 'a3', 'a4']) await end(name);
  assert.deepEqual(await Promise.all([...first, ...others]), ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']);
});

test('an aborted wait frees its place in the queue, and a failure frees its place', async () => {
  const accountPlaces = new AccountPlaces({ inProcess: 1, inAccount: 1, waiting: 1 });
  const { begun, start, end } = openWork(accountPlaces);
  const running = start('a1', 1);
  const leaving = new AbortController();
  const left = start('a2', 1, leaving.signal);
  await assert.rejects(start('a3', 1), isRefusal('rate_limited'));
  leaving.abort(new Error('left'));
  await assert.rejects(left, /left/);
  await assert.rejects(start('a4', 1, leaving.signal), /left/);
  const last = start('a5', 1);
  await end('a1');
  await end('a5');
  await Promise.all([running, last]);
  assert.deepEqual(begun, ['a1', 'a5']);
  await assert.rejects(
    accountPlaces.use({ accountId: 1 }, () => Promise.reject(new Error('failed'))),
    /failed/,
  );
  assert.equal(await accountPlaces.use({ accountId: 1 }, async () => 'again'), 'again');
});

test('without a queue, an account with its full share gets rate_limited, and one without a free place not_ready', async () => {
  const { start, end } = openWork(new AccountPlaces({ inProcess: 3, inAccount: 2, waiting: 0 }));
  const running = [start('a1', 1), start('a2', 1), start('b1', 2)];
  await assert.rejects(start('a3', 1), isRefusal('rate_limited'));
  await assert.rejects(start('b2', 2), isRefusal('not_ready'));
  for (const name of ['a1', 'a2', 'b1']) await end(name);
  await Promise.all(running);
});
