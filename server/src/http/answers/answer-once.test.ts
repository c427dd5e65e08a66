// runs: test, postgres deep
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createTestStore, type TestStore } from '../../../test/support/test-store.ts';
import type { KeyCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { whileCallerWaits } from '../guards/guards.ts';
import { createServer } from '../server/server.ts';
import { createAnswerOnce, dropAnswersBefore as dropOldAnswers } from './answers.ts';

const DAY_MS = 24 * 3_600_000;
const caller: KeyCaller = {
  accountId: 1,
  keyId: 1,
  keyName: 'Key',
  scope: { type: 'account' },
  access: 'manage',
};
const clock = { time: 1_767_225_600_000, now: () => clock.time };

/** Starts a process with one route, which creates an account of the given name or refuses an existing name. */
async function startProcess(store: TestStore) {
  const storage = await store.open();
  const { database } = storage;
  const answerOnce = createAnswerOnce(database, clock);
  const server = createServer(
    { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 16 },
    {
      findCaller: () => caller,
      findUser: () => assert.fail('nobody is signed in'),
      countRequest: async () => undefined,
      chooseProject: () => assert.fail('no route has a project'),
      choosePathProject: () => assert.fail('no route has a project'),
    },
  );
  const gate = { arrived: 0, pass: Promise.resolve() };
  server.post('/waits', { config: { guard: 'key', isOnce: true } }, async (request, reply) =>
    whileCallerWaits(reply, (signal) => {
      gate.arrived += 1;
      const untilLeft = () =>
        new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return answerOnce(request, untilLeft);
    }),
  );
  server.post('/accounts', { config: { guard: 'key', isOnce: true } }, async (request) => {
    const { name, echo } = request.body as { name: string; echo?: string };
    return answerOnce(request, async (record) => {
      gate.arrived += 1;
      await gate.pass;
      const sameName = database.read.selectFrom('account').select('id').where('name', '=', name);
      if ((await sameName.executeTakeFirst()) !== undefined) throw new ServiceError('task_ended');
      return database.write('rows', async (tx) => {
        const row = { name: `${name} ${Math.random()}`, created_at: 0 };
        const { id } = await tx.insertInto('account').values(row).returning('id').executeTakeFirstOrThrow();
        const answer = { id, ...(echo !== undefined && { echo }) };
        await record(tx, answer);
        await tx.updateTable('account').set({ name }).where('id', '=', id).execute();
        return answer;
      });
    });
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  store.onRemove(async () => {
    await server.close();
    await storage.close();
  });
  const { port } = server.server.address() as AddressInfo;
  async function send(name: string, key: string, echo?: string) {
    const response = await fetch(`http://127.0.0.1:${port}/accounts`, {
      method: 'POST',
      headers: { authorization: 'key', 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify({ name, echo }),
    });
    return { status: response.status, body: (await response.json()) as { id: number; echo?: string } };
  }
  const wait = (key: string, signal: AbortSignal | null) =>
    fetch(`http://127.0.0.1:${port}/waits`, {
      method: 'POST',
      headers: { authorization: 'key', 'idempotency-key': key },
      signal,
    });
  const countAccounts = async () => (await database.read.selectFrom('account').select('id').execute()).length;
  const storedAnswers = database.read.selectFrom('idempotent_answer');
  const listKept = () =>
    storedAnswers.select(['idempotency_key as key', 'answer']).orderBy('created_at').execute();
  return { send, wait, gate, countAccounts, database, listKept };
}

async function startTwo(t: TestContext) {
  const store = await createTestStore(t);
  return { processA: await startProcess(store), processB: await startProcess(store) };
}

/** Both requests have found no stored answer and now start their work. */
async function sendTogether(
  { processA, processB }: Awaited<ReturnType<typeof startTwo>>,
  names: [string, string],
  key: string,
) {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const { gate } of [processA, processB]) {
    gate.arrived = 0;
    gate.pass = promise;
  }
  const answers = Promise.all([processA.send(names[0], key), processB.send(names[1], key)]);
  while (processA.gate.arrived + processB.gate.arrived < 2) await new Promise(setImmediate);
  resolve();
  return answers;
}

test('two processes with the same concurrent request do its work once and return equal answers (§7.5 rule 2)', async (t) => {
  const processes = await startTwo(t);
  for (let round = 1; round <= 10; round += 1) {
    const [first, second] = await sendTogether(processes, [`A${round}`, `A${round}`], `key ${round}`);
    assert.deepEqual([first.status, second.status], [200, 200]);
    assert.deepEqual(first.body, second.body);
    assert.equal(await processes.processA.countAccounts(), round);
  }
});

test('of two different requests with one key, one is done and the other is refused without effect (§7.5 rule 3)', async (t) => {
  const processes = await startTwo(t);
  const answers = await sendTogether(processes, ['A', 'B'], 'key');
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 422]);
  assert.equal(await processes.processB.countAccounts(), 1);
});

test('a request that fails because another process did it first gets the first answer (§7.5 rule 2)', async (t) => {
  const { processA, processB } = await startTwo(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  processB.gate.pass = promise;
  const second = processB.send('A', 'key');
  while (processB.gate.arrived === 0) await new Promise(setImmediate);
  const first = await processA.send('A', 'key');
  resolve();
  assert.deepEqual([first.status, await second], [200, first]);
});

test('a refused request can be corrected and sent again with its key, to any process (§7.5)', async (t) => {
  const { processA, processB } = await startTwo(t);
  await processA.send('A', 'key');
  assert.equal((await processB.send('A', 'other key')).status, 409);
  assert.equal((await processA.send('B', 'other key')).status, 200);
});

test('a key can be reused after 24 hours in each process (§7.5 rule 2)', async (t) => {
  const { processA, processB } = await startTwo(t);
  const first = await processA.send('A', 'key');
  clock.time += DAY_MS;
  const second = await processB.send('B', 'key');
  assert.deepEqual([second.status, second.body.id === first.body.id], [200, false]);
  assert.deepEqual(await processA.send('B', 'key'), second);
});

test('a large stored answer is packed (§7.5 rule 9)', async (t) => {
  const { processA, processB } = await startTwo(t);
  const echo = 'Schraube '.repeat(50_000);
  const first = await processA.send('A', 'key', echo);
  assert.deepEqual([first.status, first.body.echo], [200, echo]);
  assert.deepEqual(await processB.send('A', 'key', echo), first);
  assert.equal(await processA.countAccounts(), 1);
  const [storedAnswer] = await processA.listKept();
  assert.ok((storedAnswer?.answer.length ?? Infinity) < 10_000);
});

test('a repetition is refused if the first answer was too large to store, and the work is done only once (§7.5 rule 9)', async (t) => {
  const { processA, processB } = await startTwo(t);
  const echo = randomBytes(220_000).toString('hex');
  assert.deepEqual((await processA.send('A', 'key', echo)).status, 200);
  const second = await processB.send('A', 'key', echo);
  assert.equal(second.status, 409);
  assert.equal((await processA.send('B', 'key', echo)).status, 422);
  assert.equal(await processA.countAccounts(), 1);
  const [storedAnswer] = await processA.listKept();
  assert.ok((storedAnswer?.answer.length ?? Infinity) < 100);
});

test('a key with too many stored answers loses the oldest, and other keys lose none (§7.5 rule 10)', async (t) => {
  const { processA } = await startTwo(t);
  const others = { request_hash: '', answer: '{}', created_at: clock.time - 9 };
  const row = { ...others, caller: 'key 2', idempotency_key: 'other' };
  await processA.database.write('rows', (tx) => tx.insertInto('idempotent_answer').values(row).execute());
  for (const key of ['c', 'a', 'b']) {
    await processA.send(key, key);
    clock.time += 1;
  }
  const keys = async () => (await processA.listKept()).map(({ key }) => key);
  await dropOldAnswers(processA.database, clock.time - DAY_MS, 3_000);
  assert.deepEqual(await keys(), ['other', 'c', 'a', 'b']);
  await dropOldAnswers(processA.database, clock.time - DAY_MS, 1_200);
  assert.deepEqual(await keys(), ['other', 'a', 'b']);
});

test('a repetition is refused with Retry-After if it waits for a request whose caller disconnects (§7.5 rule 11)', async (t) => {
  const { wait, gate } = await startProcess(await createTestStore(t));
  const leaving = new AbortController();
  const left = wait('shared', leaving.signal).catch(() => 'left');
  const shared = wait('shared', null);
  while (gate.arrived < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  leaving.abort();
  assert.equal(await left, 'left');
  const { status, headers } = await shared;
  assert.deepEqual([status, headers.has('retry-after')], [503, true]);
});
