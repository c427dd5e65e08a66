// runs: postgres deep, waits
import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { query } from '../../test/support/postgres/postgres-server.ts';
import { createDatabase } from '../../test/support/postgres/test-database.ts';
import { startTaskProcess, type TaskProcess, until } from '../../test/support/task-process.ts';
import { findServer, postgresStoreOn, type TestStore } from '../../test/support/test-store.ts';
import { LEASE_MS } from './task-lease-store.ts';
import type { Task } from './tasks.ts';

/** Starts two processes on one database, each with its own tasks and connections. */
async function startTwo(t: TestContext, options?: { runs: boolean }) {
  const dataDir = await mkdtemp(join(tmpdir(), 'relata-test-'));
  const store = postgresStoreOn(await createDatabase(await findServer()), dataDir);
  t.after(store.remove);
  // Creates the projects, because accepting a task locks the row of its project.
  await store.change(`
    insert into account (id, name, created_at) values (1, 'Main', 0);
    insert into project_group (id, account_id, name, created_at) values (1, 1, 'Group', 0);
    insert into project (id, account_id, project_group_id, name, locale, tags, settings, created_at)
      select id, 1, 1, 'Project', 'de-DE', '[]', '{}', 0 from generate_series(1, 20) as id`);
  return { store, processA: await startTaskProcess(store, options), processB: await startTaskProcess(store) };
}

async function endOf({ tasks }: TaskProcess, task: Task): Promise<Task> {
  const ended = await tasks.waitUntilEnded(task, 30_000);
  assert.notEqual(ended.finishedAt, undefined, `${task.kind} did not end`);
  return ended;
}

/** @returns when the only leased task's lease expires, in ms since 1970 */
async function readLease(store: TestStore): Promise<{ leasedUntil: number }> {
  const sql = 'select lease_until from task where leased_by is not null';
  const [row] = await query(store.settings.RELATA_DATABASE_URL ?? assert.fail(), sql);
  return { leasedUntil: Number(row?.lease_until) };
}

/** @returns the process that runs the task */
async function runnerOf(text: string, ...processes: readonly TaskProcess[]): Promise<TaskProcess> {
  await until(`${text} runs`, () => processes.some(({ gates }) => gates.has(text)), 15_000);
  return processes.find(({ gates }) => gates.has(text)) ?? assert.fail();
}

/** Runs two tasks of another project one after the other. By then their process has looked for further tasks. */
async function runTwoBeside(processA: TaskProcess): Promise<void> {
  for (const text of ['beside 1', 'beside 2'])
    await endOf(processA, await processA.accept('short', 2, { text }));
}

test('ordered tasks of two processes run once, in order of acceptance', async (t) => {
  const { processA, processB } = await startTwo(t);
  const accepted = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      await delay(index * 3);
      return (index % 2 === 0 ? processA : processB).accept('short', 1 + (index % 4), { text: `${index}` });
    }),
  );
  for (const task of accepted) assert.equal((await endOf(processA, task)).status, 'FINISHED');
  const begun = [...processA.begun, ...processB.begun];
  assert.deepEqual(begun.toSorted(), accepted.map((_, index) => `${index}`).toSorted());
  assert.ok(
    processA.begun.length > 0 && processB.begun.length > 0,
    `${processA.begun.length} and ${processB.begun.length}`,
  );
  for (const projectId of [1, 2, 3, 4]) {
    const listed = await processA.tasks.list({ projectId, limit: 100 });
    const ends = listed.toReversed().map(({ finishedAt }) => Number(finishedAt));
    assert.deepEqual(
      ends,
      ends.toSorted((a, b) => a - b),
    );
    for (const { begun } of [processA, processB]) {
      const order = begun.map(Number).filter((index) => 1 + (index % 4) === projectId);
      const numbers = order.map((index) => accepted[index]?.number ?? 0);
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      );
    }
  }
});

test('two processes share long tasks', async (t) => {
  const { store, processA, processB } = await startTwo(t, { runs: false });
  const processC = await startTaskProcess(store);
  for (let projectId = 1; projectId <= 20; projectId += 1)
    await processA.accept('gated', projectId, { text: `${projectId}` });
  await until('all tasks run', () => processB.begun.length + processC.begun.length === 20);
  assert.ok(
    processB.begun.length >= 4 && processC.begun.length >= 4,
    `${processB.begun.length}, ${processC.begun.length}`,
  );
});

test('within 15 s, another process resumes the tasks of a process that is gone, in order of acceptance', async (t) => {
  const { processA, processB } = await startTwo(t, { runs: true });
  const first = await processA.accept('gated', 1, { text: 'first' });
  const behind = await processA.accept('short', 1, { text: 'behind' });
  const dead = await runnerOf('first', processA, processB);
  const alive = dead === processA ? processB : processA;
  const { run } = dead.gates.get('first') ?? assert.fail();
  const goneAt = performance.now();
  dead.cut();
  await runnerOf('first', alive);
  assert.ok(performance.now() - goneAt < 15_000);
  assert.equal(run.signal.aborted, false);
  assert.deepEqual(alive.begun, ['first']);

  // The process was not dead. It notices that another process has its task, and stores nothing for the task.
  dead.mend();
  await run.log('of the dead');
  await until('the task is handed back', () => run.signal.aborted);
  await assert.rejects(
    run.takeEffect(async () => assert.fail('another process has the task')),
    { name: 'AbortError' },
  );
  assert.equal((await alive.tasks.find(first.id))?.status, 'RUNNING');
  alive.gates.get('first')?.open();
  assert.equal((await endOf(processA, first)).status, 'FINISHED');
  assert.equal((await endOf(processB, behind)).status, 'FINISHED');
  assert.deepEqual(
    [await alive.tasks.readLog(first), dead.ended.length],
    [[], alive.ended.length === 2 ? 0 : 1],
  );
});

test('a process that hung confirms its lease before a task takes effect', async (t) => {
  const { store, processA, processB } = await startTwo(t);
  await processA.accept('gated', 1, { text: 'first' });
  const runner = await runnerOf('first', processA, processB);
  const { run } = runner.gates.get('first') ?? assert.fail();
  const { leasedUntil } = await readLease(store);
  runner.cut();
  // By then, another process may have the lease, because the last renewal is too old.
  await until(
    'the lease is more than half over',
    () => Date.now() > leasedUntil - LEASE_MS / 2 + 500,
    30_000,
  );
  await store.change("update task set leased_by = 'another'");
  runner.mend();
  await assert.rejects(
    run.takeEffect(async () => assert.fail('another process has it')),
    { name: 'AbortError' },
  );
});

test('a process renews its lease as long as it runs', async (t) => {
  const { store, processA, processB } = await startTwo(t);
  const task = await processA.accept('gated', 1, { text: 'long' });
  const held = await processA.accept('beside', 1, { text: 'held', isHeld: true });
  const runner = await runnerOf('long', processA, processB);
  const { leasedUntil } = await readLease(store);
  await until('the first lease has expired', () => Date.now() > leasedUntil + 2_000, 60_000);
  assert.deepEqual([...processA.begun, ...processB.begun], ['long']);
  runner.gates.get('long')?.open();
  await endOf(processB, task);
  await processA.tasks.release(held);
  await runnerOf('held', processA, processB);
});

test('a cancel reaches a task in another process, and is refused while the task takes effect', async (t) => {
  const { processA, processB } = await startTwo(t);
  const begin = async (kind: 'gated' | 'effect', projectId: number) => {
    const task = await processA.accept(kind, projectId, { text: kind });
    const runner = await runnerOf(kind, processA, processB);
    return { task, runner, other: runner === processA ? processB : processA };
  };
  const gated = await begin('gated', 1);
  const requestedAt = performance.now();
  assert.equal((await gated.other.tasks.cancel(gated.task)).status, 'CANCELLED');
  assert.ok(performance.now() - requestedAt < 3_000);
  assert.deepEqual([gated.runner.ended.length, gated.other.ended.length], [1, 0]);

  const effect = await begin('effect', 2);
  await assert.rejects(effect.other.tasks.cancel(effect.task), { code: 'task_taking_effect' });
  await assert.rejects(effect.runner.tasks.cancel(effect.task), { code: 'task_taking_effect' });
  const again = assert.rejects(effect.other.tasks.cancel(effect.task), /task_taking_effect|task_ended/);
  effect.runner.gates.get('effect')?.open();
  await again;
  assert.equal((await endOf(effect.other, effect.task)).status, 'FINISHED');
  await assert.rejects(effect.other.tasks.cancel(effect.task), { code: 'task_ended' });
});

const LEASES_RUN_OUT = 'update task set lease_until = 0 where leased_by is not null';

test('a task of a process that is gone can be cancelled after its lease has expired', async (t) => {
  const { store, processA, processB } = await startTwo(t);
  const task = await processA.accept('gated', 1, { text: 'first' });
  const waiting = await processA.accept('short', 1, { text: 'waiting' });
  const dead = await runnerOf('first', processA, processB);
  const alive = dead === processA ? processB : processA;
  assert.equal((await alive.tasks.cancel(waiting)).status, 'CANCELLED');
  dead.cut();
  await store.change(LEASES_RUN_OUT);
  // Either the lease expires first, or the other process takes the task over and finds that it is cancelled.
  assert.equal((await alive.tasks.cancel(task)).status, 'CANCELLED');
});

test('a waiting caller sees changes that another process makes', async (t) => {
  const { processA, processB } = await startTwo(t, { runs: false });
  const task = await processA.accept('gated', 1, { text: 'first' });
  const states: string[] = [];
  const following = (async () => {
    const { signal } = new AbortController();
    for await (const { status, progress, logCounter } of processA.tasks.watch.follow(
      () => processA.tasks.find(task.id),
      signal,
    ))
      states.push(`${status} ${progress} ${logCounter}`);
  })();
  const waiting = endOf(processA, task);
  const brief = processA.tasks.waitUntilEnded(task, 300);
  const { gates } = await runnerOf('first', processB);
  const { run, open } = gates.get('first') ?? assert.fail();
  assert.equal((await brief).status, 'RUNNING');
  await run.log('a line');
  await until('the caller sees the line', () => states.length > 1);
  const endedAt = performance.now();
  open();
  assert.equal((await waiting).status, 'FINISHED');
  assert.ok(performance.now() - endedAt < 3_000);
  await following;
  assert.deepEqual(states, ['RUNNING 0 0', 'RUNNING 0 1', 'FINISHED 100 1']);
  assert.deepEqual(processA.begun, [], 'the role of the first is to serve');
});

test('a waiting caller gets an answer in time while the database is unreachable, and sees the end once it is back', async (t) => {
  const { processA, processB } = await startTwo(t, { runs: false });
  const task = await processA.accept('gated', 1, { text: 'first' });
  const waiting = endOf(processA, task);
  const brief = processA.tasks.waitUntilEnded(task, 1_000);
  const { gates } = await runnerOf('first', processB);
  processA.cut();
  assert.equal((await brief).status, 'RUNNING');
  gates.get('first')?.open();
  await until(
    'the process has failed to read more than three times',
    () => processA.countFailures() > 3,
    30_000,
  );
  processA.mend();
  assert.equal((await waiting).status, 'FINISHED');
});

test('a held task runs in no process until its release', async (t) => {
  const { processA, processB } = await startTwo(t, { runs: false });
  const held = await processA.accept('beside', 1, { text: 'held', isHeld: true });
  await processB.accept('beside', 1, { text: 'behind' });
  await runTwoBeside(processA);
  assert.deepEqual(processB.begun, ['beside 1', 'beside 2']);
  assert.equal(await processA.tasks.release(held), true);
  const { gates } = await runnerOf('held', processB);
  gates.get('held')?.open();
  await runnerOf('behind', processB);
});

test('a held task of a process that is gone runs, and a later release returns false', async (t) => {
  const { store, processA, processB } = await startTwo(t, { runs: false });
  const held = await processA.accept('beside', 1, { text: 'held', isHeld: true });
  processA.cut();
  await store.change(LEASES_RUN_OUT);
  await runnerOf('held', processB);
  processA.mend();
  assert.equal(await processA.tasks.release(held), false);
});

test('an ordered task of an unknown kind keeps its place in the order of acceptance', async (t) => {
  const { store, processA, processB } = await startTwo(t, { runs: false });
  await processA.accept('gated', 1, { text: 'unknown' });
  const { gates } = await runnerOf('unknown', processB);
  const behind = await processA.accept('short', 1, { text: 'behind' });
  await store.change(
    "update task set kind = 'of.a.newer.program', leased_by = null, lease_until = null where kind = 'gated'",
  );
  await until('the task is handed back', () => gates.size === 0);
  await runTwoBeside(processA);
  assert.deepEqual(processB.begun, ['unknown', 'beside 1', 'beside 2']);
  const unknown = (await processA.tasks.listOpen(1)).find(({ kind }) => kind === 'of.a.newer.program');
  assert.equal((await processA.tasks.cancel(unknown ?? assert.fail())).status, 'CANCELLED');
  assert.equal((await endOf(processA, behind)).status, 'FINISHED');
});
