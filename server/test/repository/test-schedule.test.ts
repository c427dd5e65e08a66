import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Job, runJobs } from '../test-schedule.ts';

/** Jobs that end on demand, and their order of starts. */
function plan() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const make = (name: string, work: Omit<Job, 'run'>): Job => ({
    ...work,
    run: () => {
      begun.push(name);
      return new Promise((resolve) => void ends.set(name, resolve));
    },
  });
  return {
    begun,
    make,
    /** @returns once the jobs that can now start have started */
    async end(name: string) {
      ends.get(name)?.();
      await new Promise(setImmediate);
    },
  };
}

test('the longest begins first, and what waits runs beside what computes', async () => {
  const { make, begun, end } = plan();
  const all = runJobs(
    [
      make('short', { kind: 'computes', seconds: 1 }),
      make('long', { kind: 'computes', seconds: 9 }),
      make('lease', { kind: 'waits', seconds: 2 }),
      make('later', { kind: 'waits', seconds: 1 }),
    ],
    { computes: 1, waits: 1 },
  );
  assert.deepEqual(begun, ['long', 'lease']);
  await end('lease');
  assert.deepEqual(begun, ['long', 'lease', 'later']);
  await end('long');
  assert.deepEqual(begun, ['long', 'lease', 'later', 'short']);
  await end('later');
  await end('short');
  await all;
});

test('a slot that has nothing to compute takes what waits', async () => {
  const { make, begun, end } = plan();
  const all = runJobs(
    [make('first', { kind: 'waits', seconds: 2 }), make('second', { kind: 'waits', seconds: 1 })],
    { computes: 1, waits: 1 },
  );
  assert.deepEqual(begun, ['first', 'second']);
  await end('first');
  await end('second');
  await all;
});

test('a job begins when what it needs has ended, and one that is to be alone at the end', async () => {
  const { make, begun, end } = plan();
  const build = make('build', { kind: 'computes', seconds: 5 });
  const all = runJobs(
    [
      make('alone', { kind: 'alone', seconds: 100 }),
      build,
      make('page', { kind: 'computes', seconds: 50, after: [build] }),
      make('other', { kind: 'computes', seconds: 1 }),
    ],
    { computes: 2, waits: 1 },
  );
  assert.deepEqual(begun, ['build', 'other']);
  await end('other');
  assert.deepEqual(begun, ['build', 'other']);
  await end('build');
  assert.deepEqual(begun, ['build', 'other', 'page']);
  await end('page');
  assert.deepEqual(begun, ['build', 'other', 'page', 'alone']);
  await end('alone');
  await all;
});
