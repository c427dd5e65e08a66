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
  return { store, one: await startTaskProcess(store, options), two: await startTaskProcess(store) };
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
async function runTwoBeside(one: TaskProcess): Promise<void> {
  for (const text of ['beside 1', 'beside 2']) await endOf(one, await one.accept('short', 2, { text }));
}

test('ordered tasks of two processes run once, in order of acceptance', async (t) => {
  const { one, two } = await startTwo(t);
  const accepted = await Promise.all(
    Array.from({ length: 200 }, async (_, at) => {
      await delay(at * 3);
      return (at % 2 === 0 ? one : two).accept('short', 1 + (at % 4), { text: `${at}` });
    }),
  );
  for (const task of accepted) assert.equal((await endOf(one, task)).status, 'FINISHED');
  const begun = [...one.begun, ...two.begun];
  assert.deepEqual(begun.toSorted(), accepted.map((_, at) => `${at}`).toSorted());
  assert.ok(one.begun.length > 0 && two.begun.length > 0, `${one.begun.length} and ${two.begun.length}`);
  for (const projectId of [1, 2, 3, 4]) {
    const listed = await one.tasks.list({ projectId, limit: 100 });
    const ends = listed.toReversed().map(({ finishedAt }) => Number(finishedAt));
    assert.deepEqual(
      ends,
      ends.toSorted((a, b) => a - b),
    );
    for (const { begun } of [one, two]) {
      const order = begun.map(Number).filter((at) => 1 + (at % 4) === projectId);
      const numbers = order.map((at) => accepted[at]?.number ?? 0);
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      );
    }
  }
});

test('two processes share long tasks', async (t) => {
  const { store, one, two } = await startTwo(t, { runs: false });
  const three = await startTaskProcess(store);
  for (let projectId = 1; projectId <= 20; projectId += 1)
    await one.accept('gated', projectId, { text: `${projectId}` });
  await until('all tasks run', () => two.begun.length + three.begun.length === 20);
  assert.ok(two.begun.length >= 4 && three.begun.length >= 4, `${two.begun.length}, ${three.begun.length}`);
});

test('another process resumes the tasks of a process that is gone within 15 s, in order', async (t) => {
  const { one, two } = await startTwo(t, { runs: true });
  const first = await one.accept('gated', 1, { text: 'first' });
  const behind = await one.accept('short', 1, { text: 'behind' });
  const dead = await runnerOf('first', one, two);
  const alive = dead === one ? two : one;
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
  assert.equal((await endOf(one, first)).status, 'FINISHED');
  assert.equal((await endOf(two, behind)).status, 'FINISHED');
  assert.deepEqual(
    [await alive.tasks.readLog(first), dead.ended.length],
    [[], alive.ended.length === 2 ? 0 : 1],
  );
});

test('a process that hung confirms its lease before a task takes effect', async (t) => {
  const { store, one, two } = await startTwo(t);
  await one.accept('gated', 1, { text: 'first' });
  const runner = await runnerOf('first', one, two);
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
  const { store, one, two } = await startTwo(t);
  const task = await one.accept('gated', 1, { text: 'long' });
  const held = await one.accept('beside', 1, { text: 'held', isHeld: true });
  const runner = await runnerOf('long', one, two);
  const { leasedUntil } = await readLease(store);
  await until('the first lease has expired', () => Date.now() > leasedUntil + 2_000, 60_000);
  assert.deepEqual([...one.begun, ...two.begun], ['long']);
  runner.gates.get('long')?.open();
  await endOf(two, task);
  await one.tasks.release(held);
  await runnerOf('held', one, two);
});

test('a cancel reaches a task in another process, and is refused while the task takes effect', async (t) => {
  const { one, two } = await startTwo(t);
  const begin = async (kind: 'gated' | 'effect', projectId: number) => {
    const task = await one.accept(kind, projectId, { text: kind });
    const runner = await runnerOf(kind, one, two);
    return { task, runner, other: runner === one ? two : one };
  };
  const gated = await begin('gated', 1);
  const asked = performance.now();
  assert.equal((await gated.other.tasks.cancel(gated.task)).status, 'CANCELLED');
  assert.ok(performance.now() - asked < 3_000);
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
  const { store, one, two } = await startTwo(t);
  const task = await one.accept('gated', 1, { text: 'first' });
  const waiting = await one.accept('short', 1, { text: 'waiting' });
  const dead = await runnerOf('first', one, two);
  const alive = dead === one ? two : one;
  assert.equal((await alive.tasks.cancel(waiting)).status, 'CANCELLED');
  dead.cut();
  await store.change(LEASES_RUN_OUT);
  // Either the lease expires first, or the other process takes the task over and finds that it is cancelled.
  assert.equal((await alive.tasks.cancel(task)).status, 'CANCELLED');
});

test('a waiting caller sees changes that another process makes', async (t) => {
  const { one, two } = await startTwo(t, { runs: false });
  const task = await one.accept('gated', 1, { text: 'first' });
  const states: string[] = [];
  const following = (async () => {
    const { signal } = new AbortController();
    for await (const { status, progress, logCounter } of one.tasks.watch.follow(
      () => one.tasks.find(task.id),
      signal,
    ))
      states.push(`${status} ${progress} ${logCounter}`);
  })();
  const waiting = endOf(one, task);
  const brief = one.tasks.waitUntilEnded(task, 300);
  const { gates } = await runnerOf('first', two);
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
  assert.deepEqual(one.begun, [], 'the role of the first is to serve');
});

test('a waiting caller gets an answer in time while the database is unreachable, and the end after it returns', async (t) => {
  const { one, two } = await startTwo(t, { runs: false });
  const task = await one.accept('gated', 1, { text: 'first' });
  const waiting = endOf(one, task);
  const brief = one.tasks.waitUntilEnded(task, 1_000);
  const { gates } = await runnerOf('first', two);
  one.cut();
  assert.equal((await brief).status, 'RUNNING');
  gates.get('first')?.open();
  await until('the process has failed to read more than three times', () => one.countFailures() > 3, 30_000);
  one.mend();
  assert.equal((await waiting).status, 'FINISHED');
});

test('a held task runs in no process until its release', async (t) => {
  const { one, two } = await startTwo(t, { runs: false });
  const held = await one.accept('beside', 1, { text: 'held', isHeld: true });
  await two.accept('beside', 1, { text: 'behind' });
  await runTwoBeside(one);
  assert.deepEqual(two.begun, ['beside 1', 'beside 2']);
  assert.equal(await one.tasks.release(held), true);
  const { gates } = await runnerOf('held', two);
  gates.get('held')?.open();
  await runnerOf('behind', two);
});

test('a held task of a process that is gone runs, and a later release returns false', async (t) => {
  const { store, one, two } = await startTwo(t, { runs: false });
  const held = await one.accept('beside', 1, { text: 'held', isHeld: true });
  one.cut();
  await store.change(LEASES_RUN_OUT);
  await runnerOf('held', two);
  one.mend();
  assert.equal(await one.tasks.release(held), false);
});

test('an ordered task of an unknown kind keeps its place', async (t) => {
  const { store, one, two } = await startTwo(t, { runs: false });
  await one.accept('gated', 1, { text: 'unknown' });
  const { gates } = await runnerOf('unknown', two);
  const behind = await one.accept('short', 1, { text: 'behind' });
  await store.change(
    "update task set kind = 'of.a.newer.program', leased_by = null, lease_until = null where kind = 'gated'",
  );
  await until('the task is handed back', () => gates.size === 0);
  await runTwoBeside(one);
  assert.deepEqual(two.begun, ['unknown', 'beside 1', 'beside 2']);
  const unknown = (await one.tasks.listOpen(1)).find(({ kind }) => kind === 'of.a.newer.program');
  assert.equal((await one.tasks.cancel(unknown ?? assert.fail())).status, 'CANCELLED');
  assert.equal((await endOf(one, behind)).status, 'FINISHED');
});
