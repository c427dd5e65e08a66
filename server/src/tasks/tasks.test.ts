// runs: test, postgres deep, waits
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTaskProcess, type TaskProcess, until } from '../../test/support/task-process.ts';
import { createTestStore } from '../../test/support/test-store.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Task } from './tasks.ts';

const texts = (count: number, prefix = '') =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

async function endOf({ tasks }: TaskProcess, task: Task): Promise<Task> {
  return tasks.waitUntilEnded(task, 300_000);
}

test('ordered tasks of a project run one after another, and those of other projects and lanes run in parallel', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  const first = await process.accept('gated', 1, { text: 'first' });
  const behind = [];
  for (const text of texts(5)) behind.push(await process.accept('short', 1, { text }));
  await process.accept('beside', 1, { text: 'beside' });
  await process.accept('beside', 1, { text: 'same kind' });
  await endOf(process, await process.accept('short', 2, { text: 'other' }));
  await until('both tasks run', () => process.gates.has('first') && process.gates.has('beside'));
  assert.deepEqual(process.begun.toSorted(), ['beside', 'first', 'other']);
  assert.equal(await process.tasks.hasOpenOrdered(1), true);
  assert.equal(await process.tasks.countWaiting(), 6);
  process.gates.get('first')?.open();
  for (const task of behind) assert.equal((await endOf(process, task)).status, 'FINISHED');
  assert.deepEqual(
    process.begun.filter((text) => /^\d$/.test(text)),
    texts(5),
  );
  assert.equal((await process.tasks.find(first.id))?.progress, 100);
  process.gates.get('beside')?.open();
  await until('the next of the kind runs', () => process.gates.has('same kind'));
  assert.deepEqual([await process.tasks.hasOpenOrdered(1), await process.tasks.countWaiting()], [false, 0]);
});

test('a process runs at most 64 tasks, in order of acceptance, and a project with many tasks delays no other', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  for (const text of texts(20, 'many ')) await process.accept('gated', 1, { text });
  for (const [index, text] of texts(70).entries()) await process.accept('gated', index + 2, { text });
  await until('64 run', () => process.gates.size === 64);
  const expected = ['many 0', ...texts(63)];
  assert.deepEqual(process.begun.toSorted(), expected.toSorted());
  await until('all other tasks ran', () => {
    for (const [text, gate] of process.gates) if (!text.startsWith('many')) gate.open();
    return process.begun.length === 71;
  });
  assert.deepEqual([...process.gates.keys()], ['many 0']);
});

test('tasks that wait for room run in the order of acceptance', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  let accepted = 0;
  // PostgreSQL starts the tasks gradually, while more are accepted.
  for (; process.gates.size < 40; accepted += 1)
    await process.accept('gated', accepted + 1, { text: `${accepted}` });
  const begun = process.begun.toSorted();
  assert.deepEqual(begun, texts(begun.length).toSorted());
});

test('the tasks of a kind respect its limits per process and per project', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  const running = () => [...process.gates.keys()].toSorted();
  for (const text of ['a', 'b', 'c', 'd']) await process.accept('few', 1, { text });
  await until('two tasks of the project run', () => process.gates.size === 2);
  for (const text of ['x', 'y']) await process.accept('few', 2, { text });
  await until('one task of the other project runs', () => process.gates.size === 3);
  assert.deepEqual(running(), ['a', 'b', 'x']);
  process.gates.get('x')?.open();
  await until('the next task of the other project runs', () => process.gates.has('y'));
  assert.deepEqual(running(), ['a', 'b', 'y']);
  process.gates.get('a')?.open();
  await until('the next task of the first project runs', () => process.gates.has('c'));
  assert.deepEqual(running(), ['b', 'c', 'y']);
});

test('a held task waits for its release, and so does the task behind it', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  const held = await process.accept('beside', 1, { text: 'held', isHeld: true });
  await process.accept('beside', 1, { text: 'behind' });
  await endOf(process, await process.accept('short', 1));
  assert.deepEqual([held.status, process.begun], ['PENDING', ['']]);
  const pending = await process.tasks.list({ projectId: 1, status: 'PENDING', limit: 10 });
  assert.equal(pending.length, 2);
  assert.equal(await process.tasks.release(held), true);
  await until('the held task runs', () => process.gates.has('held'));
  process.gates.get('held')?.open();
  assert.equal((await endOf(process, held)).status, 'FINISHED');
  await until('the next task runs', () => process.gates.has('behind'));
});

test('a held task can be cancelled, and a later release runs nothing', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  const held = await process.accept('beside', 1, { text: 'held', isHeld: true });
  assert.equal((await process.tasks.cancel(held)).status, 'CANCELLED');
  assert.equal(await process.tasks.release(held), true);
  await endOf(process, await process.accept('short', 1));
  assert.deepEqual(process.begun, ['']);
});

test('a release that the store refuses is retried', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  const held = await process.accept('beside', 1, { text: 'held', isHeld: true });
  process.cut();
  assert.equal(await process.tasks.release(held), true);
  process.mend();
  await until('the task runs', () => process.gates.has('held'), 15_000);
});

test('the next process runs the tasks that a stopped process held or ran', async (t) => {
  const store = await createTestStore(t);
  const first = await startTaskProcess(store);
  const held = await first.accept('beside', 1, { text: 'held', isHeld: true });
  const ran = await first.accept('gated', 1, { text: 'ran' });
  const behind = await first.accept('short', 1, { text: 'behind' });
  await until('the task runs', () => first.gates.has('ran'));
  await first.stop();
  const second = await startTaskProcess(store);
  await until('both tasks run', () => second.gates.size === 2);
  assert.deepEqual(second.begun.toSorted(), ['held', 'ran']);
  for (const gate of second.gates.values()) gate.open();
  for (const task of [held, ran, behind]) assert.equal((await endOf(second, task)).status, 'FINISHED');
});

test('a waiting or running task can be cancelled until it takes effect', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  const { tasks } = process;
  const running = await process.accept('gated', 1, { text: 'running' });
  const waiting = await process.accept('short', 1, { text: 'waiting' });
  const effect = await process.accept('effect', 1, { text: 'effect' });
  await until('the task runs', () => process.gates.has('running'));
  assert.equal((await tasks.cancel(waiting)).status, 'CANCELLED');
  assert.equal((await tasks.cancel(running)).status, 'CANCELLED');
  await until('the task takes effect', () => process.gates.has('effect'));
  await assert.rejects(tasks.cancel(effect), { code: 'task_taking_effect' });
  process.gates.get('effect')?.open();
  assert.equal((await endOf(process, effect)).status, 'FINISHED');
  await assert.rejects(tasks.cancel(effect), { code: 'task_ended' });
  const carried = await process.accept('carried', 1);
  await assert.rejects(tasks.cancel(carried), { code: 'task_uploading' });
  assert.deepEqual(process.begun, ['running', 'effect']);
});

test('a task that may have taken effect is cancelled only after another run has checked (§4.7 rule 15)', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  const { tasks } = process;
  const begin = async (text: string, error: ServiceError) => {
    const task = await process.accept('effect', 1, { text });
    await until('the task takes effect', () => process.gates.has(text));
    const waits = process.logged.filter((line) => /a task cannot continue/.test(line)).length;
    process.gates.get(text)?.fail(error);
    await until(
      'the task waits',
      () => process.logged.filter((line) => /a task cannot continue/.test(line)).length > waits,
    );
    return task;
  };
  const refused = await begin('certainly not stored', new ServiceError('storage_full'));
  assert.equal((await tasks.cancel(refused)).status, 'CANCELLED');
  const lost = await begin('perhaps stored', new ServiceError('not_ready'));
  await assert.rejects(tasks.cancel(lost), { code: 'task_taking_effect' });
  await until('the task checks again', () => process.gates.has('perhaps stored'), 15_000);
  process.gates.get('perhaps stored')?.fail(new ServiceError('storage_full'));
  await until(
    'the task has checked',
    () => process.logged.filter((line) => /a task cannot continue/.test(line)).length === 3,
  );
  assert.equal((await tasks.cancel(lost)).status, 'CANCELLED');
});

test('a task that has accepted its parts cannot be cancelled without them (§13.2 rule 4)', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  const task = await process.accept('passed', 1, { text: 'parts write' });
  await until('the task has accepted its parts', () => process.gates.has('parts write'));
  // The test cancels the task alone, as a cancel does that looked for parts before any were accepted.
  await assert.rejects(process.tasks.cancel(task), { code: 'task_taking_effect' });
  process.gates.get('parts write')?.open();
  assert.equal((await endOf(process, task)).status, 'FINISHED');
});

test('tasks wait while the store is unreachable, and a finished run is not repeated', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  const task = await process.accept('gated', 1, { text: 'first' });
  const behind = await process.accept('short', 1, { text: 'behind' });
  await until('the task runs', () => process.gates.has('first'));
  process.cut();
  process.gates.get('first')?.open();
  await until('the end of the task is refused', () =>
    process.logged.some((line) => /end of a task/.test(line)),
  );
  process.mend();
  assert.equal((await endOf(process, task)).status, 'FINISHED');
  assert.equal((await endOf(process, behind)).status, 'FINISHED');
  assert.deepEqual(process.begun, ['first', 'behind']);
});

test('a stopping process does not retry a run that waits for the store', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  await process.accept('gated', 1, { text: 'first' });
  await until('the task runs', () => process.gates.has('first'));
  process.gates.get('first')?.fail(new ServiceError('not_ready'));
  await until('the task waits', () => process.logged.some((line) => /a task cannot continue/.test(line)));
  const begunAt = performance.now();
  await process.stop();
  assert.ok(performance.now() - begunAt < 4_000);
  assert.deepEqual([process.begun, process.ended], [['first'], []]);
});

test('dropping old tasks also deletes their logs and reports, and keeps those of other tasks', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  const { tasks } = process;
  const run = async (text: string) => {
    const task = await process.accept('gated', 1, { text });
    await until('the task runs', () => process.gates.has(text));
    const gate = process.gates.get(text) ?? assert.fail(text);
    await gate.run.log(`line of ${text}`);
    gate.run.report({ code: text, message: text });
    gate.open();
    return endOf(process, task);
  };
  const [old, young] = [await run('old'), await run('young')];
  const read = async (task: Task) => {
    const report = [];
    for await (const part of tasks.readReport(task)) report.push(part);
    return [(await tasks.readLog(task)).map(({ line }) => line), report.join('')];
  };
  const youngs = [['line of young'], '{"code":"young","message":"young"}\n'];
  assert.deepEqual(await read(young), youngs);
  assert.equal((await read(old))[0]?.length, 1);
  assert.ok(Number(young.finishedAt) > Number(old.finishedAt));
  assert.equal(await tasks.dropEndedBefore(Number(young.finishedAt)), 1);
  assert.deepEqual([await tasks.find(old.id), await read(old)], [undefined, [[], '']]);
  assert.deepEqual(await read(young), youngs);
});

test('reading a long report yields to other work between two parts (§4.7)', async (t) => {
  const process = await startTaskProcess(await createTestStore(t));
  const task = await process.accept('gated', 1, { text: 'long' });
  await until('the task runs', () => process.gates.has('long'));
  const gate = process.gates.get('long') ?? assert.fail('the task does not run');
  for (const code of texts(20_000)) gate.run.report({ code, message: code });
  gate.open();
  await endOf(process, task);
  let turns = 0;
  let parts = 0;
  const turn = () => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  for await (const part of process.tasks.readReport(task)) {
    parts += 1;
    assert.equal(part.split('\n').length, 2_001);
  }
  clearImmediate(next);
  assert.equal(parts, 10);
  assert.ok(turns >= parts - 1, `${turns} turns of other work between ${parts} parts`);
});
