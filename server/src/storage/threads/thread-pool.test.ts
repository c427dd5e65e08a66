// runs: test
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ServiceError } from '../../kernel/errors.ts';
import {
  type BudgetTerms,
  createThreadPool,
  createThreadSupply,
  type PoolSettings,
  type QuestionPool,
  type ReplacedThread,
  type ThreadPool,
} from './threads.ts';

const ENTRY = `
import { threadId, workerData } from 'node:worker_threads';
import { ServiceError } from '${new URL('../../kernel/errors.ts', import.meta.url).href}';
import { Passed, serveOperations } from '${new URL('./threads.ts', import.meta.url).href}';
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
serveOperations({
  echo: (input) => ({ input, workerData, threadId }),
  bytes: ({ bytes }) => new Passed(bytes, 0, [bytes.buffer]),
  async span({ ms }) {
    const from = performance.timeOrigin + performance.now();
    await sleep(ms);
    return { from, to: performance.timeOrigin + performance.now(), threadId };
  },
  refuse: () => { throw new ServiceError('full_update_other', { values: [3, 4], details: ['why'] }); },
  fail: () => { throw new TypeError('a bug'); },
  die: () => process.exit(1),
  close: () => {},
  work(ms, budget) {
    const until = performance.now() + ms;
    while (performance.now() < until) if (budget.findEnd() !== undefined) break;
    return performance.now() < until ? 'stopped' : 'done';
  },
  charge(_, budget) { for (;;) budget.charge(); },
  write(bytes, budget) { budget.chargeBytes(bytes); budget.chargeBytes(bytes); return 'written'; },
  forget() { for (;;); },
  hoard() { const all = []; for (;;) all.push(new Array(100_000).fill(all.length)); },
});
`;
const entry = new URL(`data:text/javascript,${encodeURIComponent(ENTRY)}`);

function startPool(t: TestContext, size: number, settings: Partial<PoolSettings> = {}): ThreadPool {
  const pool = createThreadPool(entry, { size, workerData: { folder: '/somewhere' }, ...settings });
  t.after(() => pool.close());
  return pool;
}

interface Span {
  from: number;
  to: number;
  threadId: number;
}

const overlaps = (a: Span, b: Span) => a.from < b.to && b.from < a.to;

test('an operation receives its input and returns its output', async (t) => {
  const pool = startPool(t, 1);
  const output = await pool.run<{ input: object; workerData: object }>('echo', { a: [1, '2'] }, { key: 1 });
  assert.deepEqual([output.input, output.workerData], [{ a: [1, '2'] }, { folder: '/somewhere' }]);
});

test('the first operation uses the thread that was started in advance', async (t) => {
  let started = 0;
  const count = () => {
    started += 1;
  };
  process.on('worker', count);
  t.after(() => process.off('worker', count));
  const pool = startPool(t, 2);
  pool.start();
  pool.start();
  await pool.run('echo', 'a', { key: 1 });
  assert.equal(started, 1);
});

test('a pool transfers a buffer to its thread and back without a copy', async (t) => {
  const pool = startPool(t, 1);
  const bytes = new Uint8Array([1, 2, 3]);
  const output = await pool.run<Uint8Array>('bytes', { bytes }, { key: 1, transfer: [bytes.buffer] });
  assert.deepEqual([...output], [1, 2, 3]);
  assert.equal(bytes.length, 0, 'this thread no longer has the buffer');
});

test('operations of one key run one after another in order, and those of other keys in parallel', async (t) => {
  const pool = startPool(t, 2);
  await Promise.all([1, 2].map((key) => pool.run('span', { ms: 1 }, { key })));
  const run = (key: number) => pool.run<Span>('span', { ms: 40 }, { key });
  const [a1, a2, a3, b1] = (await Promise.all([run(1), run(1), run(1), run(2)])) as [Span, Span, Span, Span];
  assert.ok(a1.to <= a2.from && a2.to <= a3.from);
  assert.ok([a1, a2, a3].some((a) => overlaps(a, b1)));
});

test('unordered operations of one key run in parallel', async (t) => {
  const pool = startPool(t, 2);
  await Promise.all([1, 2].map((key) => pool.run('span', { ms: 1 }, { key })));
  const run = () => pool.run<Span>('span', { ms: 60 }, { key: 1, unordered: true });
  const [a, b] = (await Promise.all([run(), run()])) as [Span, Span];
  assert.ok(overlaps(a, b));
  assert.notEqual(a.threadId, b.threadId);
});

test('keys take turns, so a key with many operations does not delay one with a single operation', async (t) => {
  const pool = startPool(t, 1);
  const run = (key: number) => pool.run<Span>('span', { ms: 5 }, { key, unordered: true });
  const many = Promise.all([1, 1, 1, 1, 1, 1].map(run));
  const [b, c] = await Promise.all([run(2), run(3)]);
  const [first, second, third] = (await many) as [Span, Span, Span];
  assert.ok(first.to <= b.from, 'an operation in progress is not interrupted');
  assert.ok(b.to <= c.from && c.to <= second.from && second.to <= third.from);
});

test('a key without a thread goes before one that already has a thread', async (t) => {
  const pool = startPool(t, 2);
  await Promise.all([1, 2].map((key) => pool.run('span', { ms: 1 }, { key })));
  const run = (key: number) => pool.run<Span>('span', { ms: 10 }, { key, unordered: true });
  const many = Promise.all([1, 1, 1, 1, 1, 1].map(run));
  const other = await run(2);
  const before = (await many).filter(({ from }) => from < other.from);
  assert.ok(
    before.length <= 3,
    'only the two in progress, and one that may begin at the same time, are before it',
  );
});

/** Projects 1 to 9 belong to one account, 11 to 19 to another. */
const accountOf = (project: number) => Math.floor(project / 10);

test('accounts take turns, and so do the projects of each account', async (t) => {
  const pool = startPool(t, 1, { accountOf });
  const run = async (project: number) => {
    const { from } = await pool.run<Span>('span', { ms: 5 }, { key: project, unordered: true });
    return { project, from };
  };
  const runs = await Promise.all([1, 1, 1, 2, 3, 11, 12].map(run));
  const order = runs.toSorted((a, b) => a.from - b.from).map(({ project }) => project);
  assert.deepEqual(order, [1, 11, 2, 12, 3, 1, 1]);
});

test('the projects of an account share its threads, so another account gets a free one', async (t) => {
  const pool = startPool(t, 2, { accountOf, share: 1 });
  await Promise.all([1, 11].map((key) => pool.run('span', { ms: 1 }, { key })));
  const run = (key: number) => pool.run<Span>('span', { ms: 40 }, { key, unordered: true });
  const [a, b, c] = (await Promise.all([run(1), run(2), run(11)])) as [Span, Span, Span];
  assert.ok(!overlaps(a, b), 'one thread for both projects');
  assert.ok(overlaps(a, c), 'and one for the other account');
});

test('a refusal keeps its code and facts between threads, and any other error its message and stack', async (t) => {
  const pool = startPool(t, 1);
  await assert.rejects(pool.run('refuse', {}, { key: 1 }), (error) => {
    assert.ok(error instanceof ServiceError);
    assert.deepEqual(
      [error.code, error.facts.values, error.facts.details],
      ['full_update_other', [3, 4], ['why']],
    );
    return true;
  });
  await assert.rejects(pool.run('fail', {}, { key: 1 }), (error: Error) => {
    assert.equal(error instanceof ServiceError, false);
    assert.match(`${error.message} ${error.stack}`, /a bug[\s\S]*serveOperations|a bug[\s\S]*at /);
    return true;
  });
  await assert.rejects(pool.run('no-such', {}, { key: 1 }), /no operation no-such/);
  assert.ok(await pool.run('echo', {}, { key: 1 }), 'the thread continues');
});

test('a thread that dies fails only its own operation and is replaced', async (t) => {
  const pool = startPool(t, 1);
  const dying = pool.run('die', {}, { key: 1 });
  const behind = pool.run<{ input: number }>('echo', 5, { key: 1 });
  await assert.rejects(dying, /thread/);
  assert.equal((await behind).input, 5);
});

test('closing a pool waits for the operation in progress, and refuses waiting and new ones', async (t) => {
  const pool = startPool(t, 1);
  await pool.run('echo', {}, { key: 1 });
  const underWay = pool.run<Span>('span', { ms: 50 }, { key: 1 });
  const waiting = assert.rejects(pool.run('echo', {}, { key: 1 }), { code: 'not_ready' });
  const closed = pool.close();
  await waiting;
  await assert.rejects(pool.run('echo', {}, { key: 1 }), { code: 'not_ready' });
  assert.ok((await underWay).to > 0);
  await closed;
});

test('owners take turns, even when one of them has many operations waiting', async (t) => {
  const pool = startPool(t, 1);
  const order: string[] = [];
  const run = async (key: number, name: string) => {
    await pool.run('echo', {}, { key, unordered: true });
    order.push(name);
  };
  await Promise.all([
    ...['a1', 'a2', 'a3', 'a4'].map((name) => run(1, name)),
    ...['b1', 'b2'].map((name) => run(2, name)),
    run(3, 'c1'),
  ]);
  assert.deepEqual(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
});

test('an owner uses no more threads than its share, so another owner gets one immediately', async (t) => {
  const pool = startPool(t, 2, { share: 1 });
  await Promise.all([1, 2].map((key) => pool.run('span', { ms: 1 }, { key })));
  const run = (key: number) => pool.run<Span>('span', { ms: 60 }, { key, unordered: true });
  const [a1, a2, b] = (await Promise.all([run(1), run(1), run(2)])) as [Span, Span, Span];
  assert.ok(!overlaps(a1, a2) && overlaps(a1, b));
});

test('an owner uses half of its share while another owner is active', async (t) => {
  const pool = startPool(t, 3, { share: 2 });
  await Promise.all([1, 1, 1].map((key) => pool.run('span', { ms: 1 }, { key, unordered: true })));
  const run = (key: number) => pool.run<Span>('span', { ms: 60 }, { key, unordered: true });
  const runTwo = async () => (await Promise.all([run(1), run(1)])) as [Span, Span];
  const alone = await runTwo();
  await run(2);
  const beside = await runTwo();
  assert.deepEqual([overlaps(...alone), overlaps(...beside)], [true, false]);
});

const LONG: BudgetTerms = { ms: 600_000, refusal: 'question_too_long' };
const BRIEF: BudgetTerms = { ms: 50, refusal: 'search_too_long' };

test('an aborted question fails immediately, and its thread stops', async (t) => {
  const pool = startPool(t, 1);
  const caller = new AbortController();
  const reason = new Error('the caller left');
  const { signal } = caller;
  const underWay = pool.ask('work', 600_000, { key: 1, terms: LONG, signal });
  const waiting = pool.ask('work', 600_000, { key: 1, terms: LONG, signal });
  caller.abort(reason);
  await assert.rejects(underWay, reason);
  await assert.rejects(waiting, reason);
  await assert.rejects(pool.ask('work', 1, { key: 1, terms: LONG, signal }), reason);
  assert.equal(await pool.run('work', 1, { key: 1 }), 'done', 'the thread is free');
});

test('closing a pool stops a question that checks its budget', async (t) => {
  const pool = startPool(t, 1);
  await pool.run('echo', {}, { key: 1 });
  const underWay = pool.ask('work', 600_000, { key: 1, terms: LONG });
  await pool.close();
  assert.equal(await underWay, 'stopped');
});

test('a question is refused when its loop has used up its time (§7.5)', async (t) => {
  const replaced: ReplacedThread[] = [];
  const pool = startPool(t, 1, { onReplaced: (thread) => replaced.push(thread) });
  await assert.rejects(
    pool.ask('charge', {}, { key: 1, terms: BRIEF }),
    refusedWith('search_too_long', [0.05]),
  );
  const terms: BudgetTerms = { ...BRIEF, refusal: 'question_too_long' };
  await assert.rejects(pool.ask('charge', {}, { key: 1, terms }), refusedWith('question_too_long', [0.05]));
  assert.deepEqual(replaced, [], 'the thread stopped without being replaced');
});

test('a question is refused as soon as the bytes of its answer exceed 32 MiB (§8)', async (t) => {
  const pool = startPool(t, 1);
  const ask = (bytes: number) => pool.ask('write', bytes, { key: 1, terms: LONG });
  assert.equal(await ask(16 * 1024 * 1024), 'written');
  await assert.rejects(ask(16 * 1024 * 1024 + 1), refusedWith('answer_too_large', [32]));
});

test('a pool replaces a thread whose question ignores its budget, and answers another account', async (t) => {
  const replaced: ReplacedThread[] = [];
  const pool = startPool(t, 1, { accountOf, graceMs: 50, onReplaced: (thread) => replaced.push(thread) });
  const forgotten = pool.ask('forget', {}, { key: 1, terms: BRIEF });
  const other = pool.ask<{ input: string }>('echo', 'b', { key: 11, terms: LONG });
  await assert.rejects(forgotten, refusedWith('search_too_long', [0.05]));
  assert.equal((await other).input, 'b');
  assert.deepEqual(
    replaced.map(({ question, key, hasCaller }) => ({ question, key, hasCaller })),
    [{ question: 'forget', key: 1, hasCaller: true }],
  );
});

test('a pool replaces a thread whose question continues after its caller has left', async (t) => {
  const replaced: ReplacedThread[] = [];
  const unanswered: string[] = [];
  const pool = startPool(t, 1, { graceMs: 50, onReplaced: (thread) => replaced.push(thread) });
  const caller = new AbortController();
  const reason = new Error('the caller left');
  const note = (name: string) => ({ onUnanswered: () => void unanswered.push(name), signal: caller.signal });
  await pool.run('echo', {}, { key: 1 });
  const forgotten = pool.ask('forget', {}, { key: 1, terms: LONG, ...note('forgotten') });
  const waiting = pool.ask('echo', 'a', { key: 1, terms: LONG, ...note('waiting') });
  caller.abort(reason);
  await assert.rejects(forgotten, reason);
  await assert.rejects(waiting, reason);
  assert.deepEqual(unanswered, ['waiting'], 'a thread still works on the other question');
  await pool.ask('echo', 'b', { key: 1, terms: LONG });
  await pool.close();
  assert.deepEqual(unanswered, ['waiting', 'forgotten']);
  assert.deepEqual([replaced.length, replaced[0]?.hasCaller], [1, false]);
});

test('closing a pool does not wait for a question that ignores its budget', async (t) => {
  const pool = startPool(t, 1, { graceMs: 50 });
  await pool.run('echo', {}, { key: 1 });
  const refused = assert.rejects(
    pool.ask('forget', {}, { key: 1, terms: LONG }),
    refusedWith('question_too_long', [600]),
  );
  await pool.close();
  await refused;
});

test('a pool never replaces a thread that runs work without a budget', async (t) => {
  const pool = startPool(t, 1, { graceMs: 1 });
  assert.equal(await pool.run('work', 100, { key: 1 }), 'done');
});

test('a pool replaces a thread that exceeds its memory, and the refusal names the limit (§7.5)', async (t) => {
  const pool = startPool(t, 1, { heapMib: 32 });
  await assert.rejects(pool.run('hoard', {}, { key: 1 }), refusedWith('memory_exceeded', [32]));
  await assert.rejects(pool.ask('hoard', {}, { key: 1, terms: LONG }), refusedWith('memory_exceeded', [32]));
  assert.equal(await pool.run('work', 1, { key: 1 }), 'done');
});

const refusedWith = (code: string, values: readonly number[]) => (error: unknown) => {
  assert.ok(error instanceof ServiceError);
  assert.deepEqual([error.code, error.facts.values], [code, values]);
  return true;
};

test('the compiler rejects a question without a budget, and unbudgeted work in a pool of questions', (t) => {
  const pool: QuestionPool = startPool(t, 1);
  // These lines need no run: the type check fails if one of the mistakes compiles.
  const mistakes = [
    // @ts-expect-error A question has terms.
    () => pool.ask('echo', {}, { key: 1 }),
    // @ts-expect-error Terms have a time.
    () => pool.ask('echo', {}, { key: 1, terms: { refusal: 'search_too_long' } }),
    // @ts-expect-error A pool of questions runs no work.
    () => pool.run('echo', {}, { key: 1 }),
  ];
  assert.equal(mistakes.length, 3);
});

test('a refused user does not wait for the read-ahead of its thread, and closing the supply ends the read-ahead', async (t) => {
  const supply = createThreadSupply(entry, { workerData: {} });
  t.after(() => supply.close());
  const ended: string[] = [];
  let ahead: Promise<unknown> | undefined;
  const refused = supply.use(new AbortController().signal, async (thread) => {
    await thread.run('echo', {}, { key: 0 });
    ahead = thread.run('span', { ms: 600_000 }, { key: 0 }).catch(({ message }) => ended.push(message));
    throw new ServiceError('not_ready');
  });
  await assert.rejects(refused, { code: 'not_ready' });
  assert.deepEqual(ended, []);
  await supply.close();
  await ahead;
  assert.deepEqual(ended, ['the thread was ended']);
});

test('a user whose thread exceeds its memory is refused, and the next user gets another thread', async (t) => {
  const supply = createThreadSupply(entry, { workerData: {}, heapMib: 32 });
  t.after(() => supply.close());
  const { signal } = new AbortController();
  await assert.rejects(
    supply.use(signal, (thread) => thread.run('hoard', {}, { key: 0 })),
    refusedWith('memory_exceeded', [32]),
  );
  assert.equal(await supply.use(signal, (thread) => thread.run('work', 1, { key: 0 })), 'done');
});

test('a user that arrives while an idle thread is ending gets another thread', async (t) => {
  const supply = createThreadSupply(entry, { workerData: {} });
  t.after(() => supply.close());
  const use = () =>
    supply.use(new AbortController().signal, (thread) =>
      thread.run<{ threadId: number }>('echo', {}, { key: 0 }),
    );
  const first = await use();
  const closed = supply.close();
  assert.notEqual((await use()).threadId, first.threadId);
  await closed;
});
