// runs: test, postgres long, citus long, slow
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';
import { Stops } from '../support/stops.ts';
import { startTestService, TestClock, type TestProduct } from '../support/test-service.ts';
import { createTestStore } from '../support/test-store.ts';

const service = shareService();
const REFUSED = 'You are not allowed to access the requested resource';

interface WireTask {
  id: string;
  taskStatus: string;
  name: string;
  taskIncrementType: string;
  finishTime: number | null;
  requestTime: number;
  progress: number;
  logCounter: number;
}

const numbered = (count: number, name = 'first'): TestProduct[] =>
  Array.from({ length: count }, (_, index) => ({ identifier: `P${index}`, name }));

/** @returns the task of an accepted write */
function taskOf(answer: { status: number; body: { task?: WireTask; data?: { task: WireTask } } }): WireTask {
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.data?.task ?? answer.body.task ?? assert.fail('no task');
}

async function readTask(id: string): Promise<WireTask> {
  return (await service().call('GET', `/tasks/${id}`)).body.task;
}

const initiate = (catalog: TestCatalog) => catalog.post('/products/batch/initiate');
const start = (catalog: TestCatalog) => catalog.post('/products/batch/start');
const upload = (catalog: TestCatalog, products: readonly object[]) =>
  catalog.post('/products/batch/upload', { products });

test('each kind of task has its name, increment type and status as soon as it is answered (§2.4, §3.2 rule 1)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A' });
  const release = await catalog.hold();
  await initiate(catalog);
  const accepted = {
    upload: taskOf(await upload(catalog, [{ identifier: 'A', name: 'A' }])),
    commit: taskOf(await start(catalog)),
    incremental: taskOf(await catalog.post('/products', [{ identifier: 'B', name: 'B' }])),
    partial: taskOf(await catalog.post('/products?partial=true', [{ identifier: 'A', name: 'new' }])),
    delete: taskOf(await catalog.call('DELETE', '/products', { body: ['A'] })),
    restore: taskOf(await catalog.post('/products/batch/restore')),
  };
  const expected = {
    upload: ['PENDING', '', 'ITEM_BASED'],
    commit: ['RUNNING', 'Api triggered full update', 'STEP_BASED'],
    incremental: ['RUNNING', 'incremental partial update', 'STEP_BASED'],
    partial: ['RUNNING', 'incremental partial update', 'STEP_BASED'],
    delete: ['RUNNING', 'delete products', 'STEP_BASED'],
    restore: ['RUNNING', 'restore', 'STEP_BASED'],
  };
  const describe = ({ taskStatus, name, taskIncrementType }: WireTask) => [
    taskStatus,
    name,
    taskIncrementType,
  ];
  const described = Object.entries(accepted).map(([kind, task]) => [kind, describe(task)]);
  assert.deepEqual(Object.fromEntries(described), expected);
  for (const task of Object.values(accepted)) {
    assert.match(task.id, /^[0-9a-f]{24}$/);
    const fresh = { finishTime: null, progress: 0, logCounter: 0, failure: false, origin: 'LIVE-API' };
    for (const [field, value] of Object.entries(fresh)) assert.equal(Reflect.get(task, field), value, field);
    assert.deepEqual(await readTask(task.id), task, 'the task does not change while it waits');
  }
  await release();
  for (const { id } of Object.values(accepted)) {
    const ended = await service().ended(id);
    assert.deepEqual([ended.taskStatus, ended.progress, ended.failure], ['FINISHED', 100, false]);
    assert.ok(ended.startTime >= ended.requestTime && Number(ended.finishTime) >= ended.startTime);
  }
});

test('a task has exactly the documented fields, and `error` if it failed (§2.4)', async () => {
  const catalog = await createCatalog(service(), { maxDeletePercent: 10 });
  const fine = await catalog.load(...numbered(10));
  const fields = [
    'failure',
    'finishTime',
    'id',
    'logCounter',
    'name',
    'origin',
    'progress',
    'projectId',
    'projectName',
    'requestTime',
    'startTime',
    'taskIncrementType',
    'taskStatus',
  ];
  assert.deepEqual(Object.keys(fine).sort(), fields);
  await initiate(catalog);
  await upload(catalog, numbered(10));
  const release = await catalog.hold();
  const more = taskOf(await catalog.post('/products', numbered(30)));
  const commit = taskOf(await start(catalog));
  const after = taskOf(await catalog.post('/products', [{ identifier: 'LATER', name: 'later' }]));
  await release();
  assert.equal((await service().ended(more.id)).taskStatus, 'FINISHED');
  const failed = await service().ended(commit.id);
  assert.deepEqual([failed.taskStatus, failed.failure], ['FAILED', true]);
  assert.deepEqual(Object.keys(failed).sort(), ['error', ...fields]);
  assert.match(JSON.stringify(failed), /significantly lower than before/);
  assert.equal((await service().ended(after.id)).taskStatus, 'FINISHED', 'it does not stop later tasks');
  assert.equal((await catalog.list()).length, 31);
});

test('an upload is PENDING until its commit, and CANCELLED if it is discarded (§3.2 rule 2)', async () => {
  const catalog = await createCatalog(service());
  await initiate(catalog);
  const discarded = taskOf(await upload(catalog, numbered(2)));
  await initiate(catalog);
  const keptTask = taskOf(await upload(catalog, numbered(3)));
  assert.equal((await readTask(discarded.id)).taskStatus, 'CANCELLED');
  assert.equal((await readTask(keptTask.id)).taskStatus, 'PENDING');
  await catalog.done(await start(catalog));
  assert.equal((await service().ended(keptTask.id)).taskStatus, 'FINISHED');
});

interface Model {
  readonly products: Map<string, Record<string, string>>;
  undo: Map<string, Record<string, string> | undefined> | undefined;
}

type Change =
  | { kind: 'full' | 'incremental'; products: { identifier: string; attributes: Record<string, string> }[] }
  | { kind: 'partial'; products: { identifier: string; attributes: Record<string, string | null> }[] }
  | { kind: 'delete'; identifiers: string[] }
  | { kind: 'restore' };

type UndoEntry = NonNullable<Model['undo']>;

/** A second implementation of changes. Source: docs/interface §3.3 and §4.5. */
function applyToModel(model: Model, change: Change): void {
  if (change.kind === 'full') replaceAll(model, change);
  else if (change.kind === 'delete') deleteFrom(model, change.identifiers);
  else if (change.kind === 'partial') setAll(model, listPatched(model, change));
  else if (change.kind === 'incremental') setAll(model, listSent(change));
  else {
    setAll(model, model.undo ?? new Map());
    model.undo = undefined;
  }
}

function listSent({ products }: Extract<Change, { kind: 'full' | 'incremental' }>): UndoEntry {
  return new Map(products.map(({ identifier, attributes }) => [identifier, attributes]));
}

function setAll({ products }: Model, values: UndoEntry): void {
  for (const [identifier, value] of values) {
    if (value === undefined) products.delete(identifier);
    else products.set(identifier, value);
  }
}

function listPatched(
  { products }: Model,
  { products: patches }: Extract<Change, { kind: 'partial' }>,
): UndoEntry {
  const existing = patches.filter(({ identifier }) => products.has(identifier));
  return new Map(
    existing.map(({ identifier, attributes }) => [
      identifier,
      patch(products.get(identifier) ?? {}, attributes),
    ]),
  );
}

function deleteFrom(model: Model, identifiers: readonly string[]): void {
  const existing = identifiers.filter((identifier) => model.products.has(identifier));
  if (existing.length === 0) return;
  model.undo = new Map(existing.map((identifier) => [identifier, model.products.get(identifier)]));
  setAll(model, new Map(existing.map((identifier) => [identifier, undefined])));
}

function replaceAll(model: Model, change: Extract<Change, { kind: 'full' | 'incremental' }>): void {
  const gone: UndoEntry = new Map([...model.products.keys()].map((identifier) => [identifier, undefined]));
  const wanted: UndoEntry = new Map([...gone, ...listSent(change)]);
  const changed = [...wanted].filter(
    ([identifier, value]) => JSON.stringify(model.products.get(identifier)) !== JSON.stringify(value),
  );
  model.undo = new Map(changed.map(([identifier]) => [identifier, model.products.get(identifier)]));
  setAll(model, wanted);
}

function patch(
  present: Record<string, string>,
  changes: Record<string, string | null>,
): Record<string, string> {
  const patched: [string, string | null][] = Object.entries({ ...present, ...changes });
  return Object.fromEntries(patched.filter(([, value]) => value !== null)) as Record<string, string>;
}

/** The same changes for the same seed. */
function inventChanges(seed: number, count: number): Change[] {
  let state = seed;
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const identifiers = (most: number) => [
    ...new Set(Array.from({ length: 1 + below(most) }, () => `P${below(12)}`)),
  ];
  const kinds = ['full', 'incremental', 'partial', 'partial', 'delete', 'restore'] as const;
  return Array.from({ length: count }, (_, index): Change => {
    const kind = kinds[below(kinds.length)] ?? 'partial';
    if (kind === 'restore') return { kind };
    if (kind === 'delete') return { kind, identifiers: identifiers(3) };
    const key = () => `K${below(4)}`;
    return {
      kind,
      products: identifiers(8).map((identifier) => ({
        identifier,
        attributes: {
          [key()]: `${index}`,
          [key()]: kind === 'partial' && below(3) === 0 ? null : `v${below(5)}`,
        },
      })),
    } as Change;
  });
}

const toUpload = (products: readonly { identifier: string; attributes: Record<string, string | null> }[]) =>
  products.map(({ identifier, attributes }) => ({
    identifier,
    name: identifier,
    attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })),
  }));

async function send(catalog: TestCatalog, change: Change): Promise<string> {
  if (change.kind === 'restore') return taskOf(await catalog.post('/products/batch/restore')).id;
  if (change.kind === 'delete') {
    return taskOf(await catalog.call('DELETE', '/products', { body: change.identifiers })).id;
  }
  if (change.kind === 'partial')
    return taskOf(await catalog.post('/products?partial=true', change.products)).id;
  if (change.kind === 'incremental')
    return taskOf(await catalog.post('/products', toUpload(change.products))).id;
  await initiate(catalog);
  const [first, ...others] = toUpload(change.products);
  assert.equal((await upload(catalog, [first ?? {}])).status, 200);
  if (others.length > 0) assert.equal((await upload(catalog, others)).status, 200);
  return taskOf(await start(catalog)).id;
}

async function readCatalog(catalog: TestCatalog): Promise<Record<string, Record<string, string>>> {
  const { body } = await service().call(
    'GET',
    `/management/projects/${catalog.projectId}/products?limit=1000`,
  );
  const items = body.items as { identifier: string; attributes: { key: string; value: string }[] }[];
  return Object.fromEntries(
    items.map(({ identifier, attributes }) => [
      identifier,
      Object.fromEntries(attributes.map(({ key, value }) => [key, value])),
    ]),
  );
}

for (const seed of [1, 2]) {
  test(`changes sent without waiting take effect in order of acceptance, seed ${seed} (§3.2 rule 3)`, async () => {
    const catalog = await createCatalog(service());
    const model: Model = { products: new Map(), undo: undefined };
    const changes = inventChanges(seed, 40);
    const release = await catalog.hold();
    const sent: string[] = [];
    for (const [index, change] of changes.entries()) {
      sent.push(await send(catalog, change));
      // The first half waits behind one task. The second half is accepted while other tasks take effect.
      if (index === 20) void release();
    }
    for (const [position, id] of sent.entries()) {
      const { taskStatus } = await service().ended(id);
      const change = changes[position] as Change;
      const isVoid = change.kind === 'restore' && model.undo === undefined;
      assert.equal(
        taskStatus,
        isVoid ? 'FAILED' : 'FINISHED',
        `change ${position}: ${JSON.stringify(change)}`,
      );
      applyToModel(model, change);
    }
    assert.deepEqual(await readCatalog(catalog), Object.fromEntries(model.products));
    const ends = await Promise.all(sent.map((id) => service().ended(id)));
    const finished = ends.map(({ finishTime }) => Number(finishTime));
    assert.deepEqual(
      finished,
      finished.toSorted((a, b) => a - b),
    );
  });
}

test('simultaneous changes take effect in their listed order (§3.2 rule 3)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...numbered(12));
  const changes = inventChanges(77, 80).filter(({ kind }) => kind === 'incremental' || kind === 'partial');
  const sent = await Promise.all(
    changes.map(async (change) => [await send(catalog, change), change] as const),
  );
  const changeOf = new Map(sent);
  for (const id of changeOf.keys()) await service().ended(id);
  const model: Model = {
    products: new Map(numbered(12).map(({ identifier }) => [identifier, {}])),
    undo: undefined,
  };
  for (const { id } of (await catalog.tasks()).toReversed()) {
    const change = changeOf.get(id);
    if (change !== undefined) applyToModel(model, change);
  }
  assert.deepEqual(await readCatalog(catalog), Object.fromEntries(model.products));
});

test('no project waits for another (§3.2 rule 8)', async () => {
  const large = await createCatalog(service());
  const small = await createCatalog(service());
  const release = await large.hold();
  const held = taskOf(await large.post('/products', numbered(1)));
  assert.equal((await small.update({ identifier: 'A', name: 'A' })).taskStatus, 'FINISHED');
  assert.equal((await readTask(held.id)).taskStatus, 'RUNNING');
  await release();

  // The writer of the large catalog is also busy, because its catalog is locked.
  const unlock = await service().store.lockCatalog(large.projectId);
  const busy = taskOf(await large.post('/products', numbered(2)));
  assert.equal((await small.update({ identifier: 'B', name: 'B' })).taskStatus, 'FINISHED');
  assert.equal((await readTask(busy.id)).taskStatus, 'RUNNING');
  await unlock();
  assert.equal((await service().ended(busy.id)).taskStatus, 'FINISHED');
});

test('wait delays the answer until the task has ended or the time is over (§4.7 rule 2)', async () => {
  const catalog = await createCatalog(service());
  const release = await catalog.hold();
  const { id } = taskOf(await catalog.post('/products', numbered(1)));
  const begun = performance.now();
  const { body } = await service().call('GET', `/tasks/${id}?wait=1`);
  assert.equal(body.task.taskStatus, 'RUNNING');
  assert.ok(performance.now() - begun >= 950);
  assert.equal((await service().call('GET', `/tasks/${id}?wait=0`)).body.task.taskStatus, 'RUNNING');
  const waiting = service().call('GET', `/tasks/${id}?wait=60`);
  await release();
  assert.equal((await waiting).body.task.taskStatus, 'FINISHED');
  assert.ok(performance.now() - begun < 30_000);
  for (const wait of ['61', '-1', '1.5', 'x']) {
    assertRefused(await service().call('GET', `/tasks/${id}?wait=${wait}`), 400);
  }
});

test('tasks are listed newest first, by status, in pages (§4.7 rule 3)', async () => {
  const catalog = await createCatalog(service());
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1)
    ids.unshift((await catalog.update({ identifier: 'A', name: `${index}` })).id);
  const release = await catalog.hold();
  const open = taskOf(await catalog.post('/products', numbered(1))).id;
  const list = async (query: string) => {
    const { status, body } = await catalog.call('GET', `/tasks?${query}`);
    assert.deepEqual([status, body.status], [200, 'success']);
    return { ids: body.tasks.map(({ id }: WireTask) => id), next: body.nextCursor };
  };
  const finished = await list('status=FINISHED');
  assert.deepEqual(finished, { ids, next: null });
  assert.equal((await list('status=RUNNING')).ids[0], open);
  assert.deepEqual(await list('status=FAILED'), { ids: [], next: null });
  const first = await list('status=FINISHED&limit=2');
  const second = await list(`status=FINISHED&limit=2&cursor=${first.next}`);
  const third = await list(`status=FINISHED&limit=2&cursor=${second.next}`);
  assert.deepEqual([...first.ids, ...second.ids, ...third.ids], ids);
  assert.equal(third.next, null);
  for (const bad of ['limit=0', 'limit=1001', 'limit=x', 'status=DONE', 'cursor=%00']) {
    assertRefused(await catalog.call('GET', `/tasks?${bad}`), 400);
  }
  await release();
});

test('the log describes the work of a task in as many lines as logCounter says (§4.7 rule 4)', async () => {
  const catalog = await createCatalog(service());
  const task = await catalog.load(...numbered(3));
  const { body } = await service().call('GET', `/tasks/${task.id}/log`);
  assert.equal(body.status, 'success');
  assert.equal(body.log.length, task.logCounter);
  for (const { at, line } of body.log) {
    assert.ok(at >= task.requestTime && at <= Number(task.finishTime));
    assert.equal(typeof line, 'string');
  }
  assert.match(JSON.stringify(body.log), /created 3/);
});

test('the report is NDJSON, and empty if there are no findings (§4.7 rule 5)', async () => {
  const catalog = await createCatalog(service());
  const { id } = await catalog.load(...numbered(1));
  const answer = await service().call('GET', `/tasks/${id}/report`);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/x-ndjson/);
  assert.deepEqual([answer.status, answer.body], [200, '']);
});

test('a report ends at 100,000 lines and counts the others (§4.7 rule 7)', async () => {
  const catalog = await createCatalog(service());
  const names = Array.from({ length: 11 }, (_, index) => `N${index}`);
  const attributes = names.map((name) => ({ name, type: 'NUMERIC_ATTRIBUTE' }));
  const path = `/management/projects/${catalog.projectId}/ontology`;
  assert.equal((await service().call('PUT', path, { body: { mode: 'own', attributes } })).status, 200);
  const values = names.map((key) => ({ key, value: 'none' }));
  const products = numbered(10_000).map((product) => ({ ...product, attributes: values }));
  const report = await catalog.report(await catalog.update(...products));
  assert.equal(report.length, 100_001);
  assert.deepEqual(report.at(-1), { more: 10_000 });
  await initiate(catalog);
  await upload(catalog, products);
  await upload(
    catalog,
    products.map((product) => ({ ...product, identifier: `Q${product.identifier}` })),
  );
  const both = await catalog.report(await catalog.done(await start(catalog)));
  assert.equal(both.length, 100_001);
  assert.deepEqual(both.at(-1), { more: 120_000 });
});

test('the events of a task are its states until it has ended (§4.7 rule 10)', async () => {
  const catalog = await createCatalog(service());
  const release = await catalog.hold();
  const { id } = taskOf(await catalog.post('/products', numbered(1)));
  const following = await fetch(`${service().address}/tasks/${id}/events`, {
    headers: { authorization: `Bearer ${service().key}` },
  });
  assert.equal(following.status, 200);
  assert.match(following.headers.get('content-type') ?? '', /^text\/event-stream/);
  let body = '';
  for await (const chunk of following.body ?? assert.fail('a stream')) {
    if (body === '') await release();
    body += Buffer.from(chunk).toString();
  }
  const events = body.split('\n\n').filter((event) => event !== '' && !event.startsWith(':'));
  const tasks = events.map((event) => {
    const [kind, data = ''] = event.split('\n');
    assert.equal(kind, 'event: task');
    return JSON.parse(data.replace(/^data: /, '')) as WireTask;
  });
  assert.ok(tasks.length >= 2);
  assert.ok(tasks.every((task) => task.id === id));
  assert.equal(tasks[0]?.taskStatus, 'RUNNING');
  assert.deepEqual(tasks.at(-1), await readTask(id));
  const ended = await service().call('GET', `/tasks/${id}/events`);
  assert.match(ended.body, /^event: task\ndata: \{.*"taskStatus":"FINISHED".*\}\n\n$/);
});

test('cancelling a waiting task changes nothing, and later tasks continue (§4.7 rule 11)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...numbered(3));
  const before = await readCatalog(catalog);
  const release = await catalog.hold();
  await initiate(catalog);
  const uploaded = taskOf(await upload(catalog, [{ identifier: 'NEW', name: 'new' }]));
  const cancelled = [
    taskOf(await start(catalog)),
    taskOf(await catalog.post('/products', [{ identifier: 'P0', name: 'changed' }])),
    taskOf(await catalog.post('/products?partial=true', [{ identifier: 'P1', attributes: { A: 'b' } }])),
    taskOf(await catalog.call('DELETE', '/products', { body: ['P2'] })),
    taskOf(await catalog.post('/products/batch/restore')),
  ];
  const behind = taskOf(await catalog.post('/products', [{ identifier: 'LAST', name: 'last' }]));
  for (const { id } of cancelled) {
    const { status, body } = await service().call('POST', `/tasks/${id}/cancel`);
    assert.deepEqual([status, body.status, body.task.id], [200, 'success', id]);
    assert.deepEqual([body.task.taskStatus, body.task.failure], ['CANCELLED', false]);
    assert.equal(typeof body.task.finishTime, 'number');
  }
  await release();
  assert.equal((await service().ended(behind.id)).taskStatus, 'FINISHED');
  for (const { id } of cancelled) assert.equal((await readTask(id)).taskStatus, 'CANCELLED');
  assert.equal(
    (await service().ended(uploaded.id)).taskStatus,
    'CANCELLED',
    'an upload ends with its commit',
  );
  assert.deepEqual(await readCatalog(catalog), { ...before, LAST: {} });
  assertRefused(await start(catalog), 400);
});

test('cancelling an upload or an ended task is refused (§4.7 rule 12)', async () => {
  const catalog = await createCatalog(service());
  await initiate(catalog);
  const uploaded = taskOf(await upload(catalog, numbered(1)));
  assertRefused(await service().call('POST', `/tasks/${uploaded.id}/cancel`), 409);
  const committed = await catalog.done(await start(catalog));
  for (const id of [uploaded.id, committed.id]) {
    assertRefused(await service().call('POST', `/tasks/${id}/cancel`), 409);
  }
  const release = await catalog.hold();
  const waiting = taskOf(await catalog.post('/products', numbered(1)));
  assert.equal((await service().call('POST', `/tasks/${waiting.id}/cancel`)).status, 200);
  assertRefused(await service().call('POST', `/tasks/${waiting.id}/cancel`), 409);
  await release();
});

test('a cancel always answers the final status of its task (§4.7 rules 11 and 12)', async () => {
  const catalog = await createCatalog(service());
  for (let index = 0; index < 25; index += 1) {
    const { id } = taskOf(await catalog.post('/products', [{ identifier: `P${index}`, name: 'x' }]));
    if (index % 5 > 0) await new Promise((resolve) => setTimeout(resolve, index));
    const { status, body } = await service().call('POST', `/tasks/${id}/cancel`);
    const { taskStatus } = await service().ended(id);
    const isThere = (await catalog.find(`P${index}`)).length === 1;
    if (status === 200)
      assert.deepEqual([body.task.taskStatus, taskStatus, isThere], ['CANCELLED', 'CANCELLED', false]);
    else assert.deepEqual([status, taskStatus, isThere], [409, 'FINISHED', true]);
  }
});

test('unknown and foreign tasks are not found, and keys without write access cancel nothing (§4.7 rule 13, §5.2)', async () => {
  const mine = await createCatalog(service());
  const theirs = await createCatalog(service());
  const task = await mine.load(...numbered(1));
  const makeKey = async (projectId: number, access: string) => {
    const scope = { type: 'project', id: projectId };
    const { body } = await service().call('POST', '/management/api-keys', {
      body: { name: 'k', scope, access },
    });
    return body.key as string;
  };
  const foreign = await makeKey(theirs.projectId, 'write');
  const reader = await makeKey(mine.projectId, 'read');
  const writer = await makeKey(mine.projectId, 'write');
  const paths: readonly [method: string, path: string][] = [
    ['GET', ''],
    ['GET', '?wait=1'],
    ['GET', '/log'],
    ['GET', '/report'],
    ['GET', '/events'],
    ['POST', '/cancel'],
  ];
  for (const [method, path] of paths) {
    const ask = (id: string, key?: string) =>
      service().call(method, `/tasks/${id}${path}`, key === undefined ? {} : { key });
    for (const unknown of ['0123456789abcdef01234567', 'x', '%20', '%00', '__proto__']) {
      assertRefused(await ask(unknown), 404);
    }
    assertRefused(await ask(task.id, foreign), 404);
    // A key with read access may read tasks.
    if (method === 'GET') assert.equal((await ask(task.id, reader)).status, 200, path);
    else assertRefused(await ask(task.id, reader), 401, REFUSED);
    assert.equal((await ask(task.id, writer)).status, method === 'GET' ? 200 : 409);
  }
  assertRefused(await mine.call('GET', '/tasks', { key: foreign }), 401, REFUSED);
  assert.equal((await mine.call('GET', '/tasks', { key: reader })).status, 200);
  const own = await service().call('GET', '/tasks', { key: writer });
  assert.ok(own.body.tasks.every(({ projectId }: { projectId: number }) => projectId === mine.projectId));
});

test('ended tasks are removed after the configured days, and open tasks never are (§10.5)', async (t) => {
  const store = await createTestStore(t);
  const clock = new TestClock();
  const settings = { RELATA_TASK_RETENTION_DAYS: '7' };
  const ids: string[] = [];
  /** Starts on the store, does the work and stops. */
  async function serve(work: (running: Awaited<ReturnType<typeof startTestService>>) => Promise<void>) {
    const stops = new Stops();
    await work(await startTestService(stops, { store, clock, settings }));
    await stops.stopAll();
  }
  const DAY_MS = 86_400_000;
  await serve(async (running) => {
    ids.push((await running.loadCatalog(numbered(2))).id);
    clock.pass(6 * DAY_MS);
    const { body } = await running.call('POST', '/products', { body: numbered(1) });
    ids.push((await running.ended(body.task.id)).id);
    await running.call('POST', '/products/batch/initiate');
    ids.push((await running.call('POST', '/products/batch/upload', { body: numbered(2) })).body.task.id);
  });
  clock.pass(2 * DAY_MS);
  await serve(async (running) => {
    const [old, recent, open] = ids;
    // The start removes old tasks in the background.
    while ((await running.call('GET', `/tasks/${old}`)).status === 200) await new Promise(setImmediate);
    assertRefused(await running.call('GET', `/tasks/${old}/report`), 404);
    assert.equal((await running.call('GET', `/tasks/${recent}`)).body.task.taskStatus, 'FINISHED');
    assert.equal((await running.call('GET', `/tasks/${open}`)).body.task.taskStatus, 'PENDING');
    assert.equal((await running.lookUp(['P0', 'P1'])).length, 2, 'their effect stays');
  });
});
