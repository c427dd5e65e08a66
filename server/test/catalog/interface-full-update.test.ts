// runs: test, postgres test, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';
import { startTestService } from '../support/test-service.ts';

const service = shareService();

const product = (identifier: string, more: object = {}) => ({ identifier, name: identifier, ...more });
const products = (...identifiers: string[]) => ({
  products: identifiers.map((identifier) => product(identifier)),
});
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => product(`P${String(index).padStart(3, '0')}`));
const GUARD_TEXT =
  'The last full update has been rejected because the number of products was significantly lower than before.';

async function initiate(catalog: TestCatalog): Promise<number> {
  const answer = await catalog.post('/products/batch/initiate');
  assert.equal(answer.status, 200);
  return answer.body.fullUpdateId;
}

/** @returns the id of the upload's task */
async function upload(catalog: TestCatalog, ...identifiers: string[]): Promise<string> {
  const answer = await catalog.post('/products/batch/upload', products(...identifiers));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.task.id;
}

test('initiate accepts an absent body, {} and [], and answers its text and the id (§4.4 rules 1 and 2)', async () => {
  const catalog = await createCatalog(service());
  const ids = new Set();
  for (const body of [undefined, '', {}, []]) {
    const answer = await catalog.post('/products/batch/initiate', body);
    assert.equal(answer.status, 200);
    const { fullUpdateId, ...rest } = answer.body;
    assert.deepEqual(rest, { message: 'You can now send batches of the full update', status: 'success' });
    ids.add(fullUpdateId);
  }
  assert.equal(ids.size, 4, 'each begins a new session');
});

test('upload and start answer their texts, counts and tasks (§4.4 rules 4 and 12, §2.4)', async () => {
  const catalog = await createCatalog(service());
  await initiate(catalog);
  const before = Date.now();
  const uploaded = await catalog.post('/products/batch/upload', products('A', 'B', 'A'));
  const { task, ...counts } = uploaded.body;
  assert.deepEqual(counts, { message: 'Upload initiated', status: 'success', nrOfSent: 3, nrOfParsed: 2 });
  const { id, projectName, requestTime, startTime, ...fixed } = task;
  assert.match(id, /^[0-9a-f]{24}$/);
  assert.match(projectName, /^Project \d+$/);
  assert.ok(requestTime >= before && startTime >= requestTime && startTime <= Date.now());
  const unfinished = { finishTime: null, progress: 0, logCounter: 0, failure: false };
  assert.deepEqual(fixed, {
    projectId: catalog.projectId,
    origin: 'LIVE-API',
    taskStatus: 'PENDING',
    name: '',
    taskIncrementType: 'ITEM_BASED',
    ...unfinished,
  });

  const started = await catalog.post('/products/batch/start');
  assert.equal(started.status, 200);
  assert.deepEqual(Object.keys(started.body), ['status', 'data']);
  assert.equal(started.body.status, 'success');
  const { task: commit, ...texts } = started.body.data;
  assert.deepEqual(texts, { message: 'Batch update started', status: 'success' });
  assert.deepEqual(
    { ...commit, id: '', projectName: '', requestTime: 0, startTime: 0 },
    {
      id: '',
      projectId: catalog.projectId,
      projectName: '',
      origin: 'LIVE-API',
      taskStatus: 'RUNNING',
      name: 'Api triggered full update',
      taskIncrementType: 'STEP_BASED',
      requestTime: 0,
      startTime: 0,
      ...unfinished,
    },
  );
  const ended = await catalog.done(started);
  assert.deepEqual([ended.taskStatus, ended.progress, ended.failure], ['FINISHED', 100, false]);
  const uploadEnded = await service().ended(id);
  assert.deepEqual([uploadEnded.taskStatus, uploadEnded.progress], ['FINISHED', 100]);
  const repeated = (await catalog.report(commit)).filter(({ code }) => code === 'repeated_identifier');
  assert.deepEqual(
    repeated.map(({ identifier }) => identifier),
    ['A'],
    'the commit reports the lines of its uploads',
  );
});

test('upload, preview and start without an open full update are refused (§4.4 rules 6, 11 and 14)', async () => {
  const catalog = await createCatalog(service());
  assertRefused(await catalog.post('/products/batch/upload', products('A')), 400);
  assertRefused(await catalog.post('/products/batch/preview'), 400);
  assertRefused(await catalog.post('/products/batch/start'), 400);
  assert.deepEqual(await catalog.tasks(), []);
});

test('a second initiate discards the open full update and cancels its uploads (§4.4 rule 3)', async () => {
  const catalog = await createCatalog(service());
  await initiate(catalog);
  const first = await upload(catalog, 'A');
  const second = await upload(catalog, 'B');
  await initiate(catalog);
  for (const id of [first, second]) {
    const task = await service().ended(id);
    assert.deepEqual([task.taskStatus, task.failure], ['CANCELLED', false]);
    assert.notEqual(task.finishTime, null);
  }
  assertRefused(await catalog.post('/products/batch/start'), 400, /no products/);
  await upload(catalog, 'C');
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['C'], 'nothing of the discarded session is committed');
});

test('fullUpdateId refuses upload, preview and start of another full update (§4.4 rule 20)', async () => {
  const catalog = await createCatalog(service());
  const old = await initiate(catalog);
  const open = await initiate(catalog);
  for (const path of ['upload', 'preview', 'start']) {
    const answer = await catalog.post(`/products/batch/${path}?fullUpdateId=${old}`, products('A'));
    assertRefused(answer, 400);
    assert.match(answer.body.message, new RegExp(`${open}.*${old}`));
  }
  assertRefused(await catalog.post('/products/batch/upload?fullUpdateId=one', products('A')), 400);
  const accepted = await catalog.post(`/products/batch/upload?fullUpdateId=${open}`, products('A'));
  assert.equal(accepted.status, 200);
  assert.equal((await catalog.post(`/products/batch/preview?fullUpdateId=${open}`)).status, 200);
  await catalog.done(await catalog.post(`/products/batch/start?fullUpdateId=${open}`));
  assert.deepEqual(await catalog.list(), ['A']);
});

test('a failed batch is not stored and blocks the commit until one succeeds (§3.1 rules 2 and 3)', async () => {
  const catalog = await createCatalog(service());
  await initiate(catalog);
  await upload(catalog, 'A');
  const bad: [unknown, number, Record<string, string>?][] = [
    [{ products: [product('B'), { identifier: 'C' }] }, 400],
    ['{"products":[', 400],
    [{ products: [] }, 400],
    [undefined, 400],
    ['not gzip', 400, { 'content-encoding': 'gzip' }],
    [products('B'), 415, { 'content-encoding': 'compress' }],
  ];
  for (const [body, status, headers] of bad) {
    assertRefused(await catalog.post('/products/batch/upload', body, headers), status);
    assertRefused(await catalog.post('/products/batch/start'), 400, /last batch/);
    await upload(catalog, 'D');
    assert.equal((await catalog.post('/products/batch/preview')).body.created.count, 2, 'A and D');
  }
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['A', 'D']);
});

test('a new full update ignores a failed batch of the previous one (§3.1 rule 3)', async () => {
  const catalog = await createCatalog(service());
  await initiate(catalog);
  assertRefused(await catalog.post('/products/batch/upload', [{}]), 400);
  await initiate(catalog);
  await upload(catalog, 'A');
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['A']);
});

test('a commit without an uploaded product is refused, and the session stays open (§4.4 rules 15 and 18)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A' });
  await initiate(catalog);
  assertRefused(await catalog.post('/products/batch/start'), 400);
  assert.deepEqual(await catalog.list(), ['A'], 'an empty commit deletes nothing');
  await upload(catalog, 'B');
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['B']);
});

test('a second start returns the task of the commit, even while that task waits (§4.4 rule 17)', async () => {
  const catalog = await createCatalog(service());
  const release = await catalog.hold();
  await initiate(catalog);
  await upload(catalog, 'A');
  const started = await catalog.post('/products/batch/start');
  const { task } = started.body.data;
  assert.deepEqual((await catalog.post('/products/batch/start')).body, started.body);
  assertRefused(await catalog.post('/products/batch/upload', products('B')), 400);
  await release();
  await catalog.done(started);
  assert.equal((await catalog.post('/products/batch/start')).body.data.task.id, task.id);
  assertRefused(await catalog.post('/products/batch/upload', products('B')), 400, /No full update is open/);
  assertRefused(await catalog.post('/products/batch/preview'), 400);
});

test('one of several simultaneous starts commits, and all return its task (§4.4 rule 17)', async () => {
  const catalog = await createCatalog(service());
  const release = await catalog.hold();
  await initiate(catalog);
  await upload(catalog, 'A');
  const answers = await Promise.all(Array.from({ length: 6 }, () => catalog.post('/products/batch/start')));
  const [task] = answers.map(({ body }) => body.data.task);
  for (const answer of answers) assert.deepEqual([answer.status, answer.body.data.task.id], [200, task.id]);
  await release();
  await service().ended(task.id);
  assert.deepEqual(await catalog.list(), ['A']);
});

test('a start that another start overtakes returns the task of that start, or names it if another session has begun (§4.4 rule 17)', async (t) => {
  const held = { until: undefined as Promise<void> | undefined, begun: () => {} };
  const racing = await startTestService(t, {
    replace: {
      storage: (real) => ({
        ...real,
        database: {
          ...real.database,
          async write(of, work) {
            const { until, begun } = held;
            if (of === 1 && until !== undefined) {
              Object.assign(held, { until: undefined });
              begun();
              await until;
            }
            return real.database.write(of, work);
          },
        },
      }),
    },
  });
  const post = (path: string, body?: object) => racing.call('POST', `${path}?projectId=1`, { body });
  for (const beginsAnother of [false, true]) {
    await post('/products/batch/initiate');
    assert.equal((await post('/products/batch/upload', products('A'))).status, 200);
    const [released, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    Object.assign(held, { until: released.promise, begun: begun.resolve });
    const overtaken = post('/products/batch/start');
    await begun.promise;
    const { task } = (await post('/products/batch/start')).body.data;
    if (beginsAnother) await post('/products/batch/initiate');
    released.resolve();
    const answer = await overtaken;
    if (beginsAnother) assertRefused(answer, 400, new RegExp(`already started by task ${task.id}`));
    else assert.deepEqual([answer.status, answer.body.data.task.id], [200, task.id]);
    await racing.ended(task.id);
  }
});

test('several simultaneous initiates leave one session open and discard the others (§3.1)', async () => {
  const catalog = await createCatalog(service());
  const ids = await Promise.all(Array.from({ length: 6 }, () => initiate(catalog)));
  assert.equal(new Set(ids).size, 6);
  const answers = await Promise.all(
    ids.map((id) => catalog.post(`/products/batch/upload?fullUpdateId=${id}`, products(`P${id}`))),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400, 400, 400]);
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.equal((await catalog.list()).length, 1);
});

test('an initiate during a waiting commit opens another session and does not affect the commit (§3.1)', async () => {
  const catalog = await createCatalog(service());
  const release = await catalog.hold();
  await initiate(catalog);
  await upload(catalog, 'A');
  const first = await catalog.post('/products/batch/start');
  await initiate(catalog);
  await upload(catalog, 'B');
  const second = await catalog.post('/products/batch/start');
  await release();
  assert.equal((await catalog.done(first)).taskStatus, 'FINISHED');
  assert.equal((await catalog.done(second)).taskStatus, 'FINISHED');
  assert.deepEqual(await catalog.list(), ['B']);
});

test('the last accepted version of a product wins across batches, and a product in no batch is deleted (§4.4 rules 8 and 13)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A' }, { identifier: 'GONE' });
  const [{ id }] = await catalog.find('A');
  await initiate(catalog);
  for (const name of ['first', 'second', 'third']) {
    const batch = { products: [product('A', { name }), product(`only in ${name}`)] };
    assert.equal((await catalog.post('/products/batch/upload', batch)).status, 200);
  }
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['A', 'only in first', 'only in second', 'only in third']);
  const [a] = await catalog.find('A');
  assert.deepEqual([a.name, a.id], ['third', id], 'the id belongs to the identifier');
});

test('a commit overrides incremental updates that were made between its upload and its commit (§3.2 rule 4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A', name: 'old' });
  await initiate(catalog);
  await catalog.post('/products/batch/upload', { products: [product('A', { name: 'old' })] });
  await catalog.update(product('A', { name: 'between' }), product('B'));
  assert.deepEqual(await catalog.list(), ['A', 'B'], 'an upload has no effect before its commit');
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(
    (await catalog.find('A', 'B')).map(({ name }) => name),
    ['old'],
  );
});

test('a preview reports what a commit would do and changes nothing (§4.4 rule 10)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('gone'), product('kept'), product('renamed'));
  await initiate(catalog);
  const batch = [product('kept'), product('renamed', { name: 'new name' }), product('new')];
  await catalog.post('/products/batch/upload', batch);
  const expected = {
    status: 'success',
    created: { count: 1, identifiers: ['new'] },
    changed: { count: 1, identifiers: ['renamed'] },
    unchanged: { count: 1, identifiers: ['kept'] },
    deleted: { count: 1, identifiers: ['gone'] },
    deletePercent: 100 / 3,
  };
  for (const _ of [1, 2]) {
    const answer = await catalog.post('/products/batch/preview');
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, expected);
  }
  assert.deepEqual(await catalog.list(), ['gone', 'kept', 'renamed']);
});

test('the products that a commit would delete are listed in pages, in the form of a table (§4.4 rule 28)', async () => {
  const catalog = await createCatalog(service());
  const path = '/products/batch/preview/deleted';
  assertRefused(await catalog.call('GET', path), 400, /No full update is open/);
  await catalog.load(
    ...numbered(250),
    product('kept'),
    product('Ä 😀', { categories: [{ path: ['Top', 'Leaf'] }] }),
  );
  const fullUpdateId = await initiate(catalog);
  await catalog.post('/products/batch/upload', [product('kept'), product('new'), ...numbered(7)]);
  const deletions: { identifier: string; category: string[] }[] = [];
  let cursor: string | null = '';
  for (let pages = 0; cursor !== null; pages += 1) {
    const page = await catalog.call('GET', `${path}?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`);
    assert.equal(page.status, 200, JSON.stringify(page.body));
    deletions.push(...page.body.products);
    cursor = page.body.nextCursor;
    assert.equal(cursor === null, pages === 2);
  }
  const expected = [
    ...numbered(250)
      .slice(7)
      .map(({ identifier }) => identifier),
    'Ä 😀',
  ];
  assert.deepEqual(
    deletions.map(({ identifier }) => identifier),
    expected,
  );
  assert.deepEqual(deletions.at(-1)?.category, ['Top', 'Leaf']);
  const { deleted } = (await catalog.post('/products/batch/preview')).body;
  assert.deepEqual(deleted, { count: expected.length, identifiers: expected.slice(0, 100) });
  const other = fullUpdateId + 1;
  assertRefused(await catalog.call('GET', `${path}?fullUpdateId=${other}`), 400, /The open full update is/);
});

test('a preview lists the first 100 identifiers of each kind and counts all (§4.4 rule 10)', async () => {
  const catalog = await createCatalog(service());
  await initiate(catalog);
  await catalog.post('/products/batch/upload', numbered(150));
  const { created, deletePercent } = (await catalog.post('/products/batch/preview')).body;
  assert.equal(created.count, 150);
  assert.deepEqual(
    created.identifiers,
    numbered(100).map(({ identifier }) => identifier),
  );
  assert.equal(deletePercent, 0, 'of an empty catalog');
});

test('a preview counts a product that gains facts of a new attribute as changed, like the commit (§4.4 rule 10)', async () => {
  const catalog = await createCatalog(service());
  const path = `/management/projects/${catalog.projectId}/ontology`;
  await service().call('PUT', path, { body: { mode: 'own', attributes: [] } });
  const uploaded = product('A', { attributes: [{ key: 'Colour', value: 'red' }] });
  await catalog.load(uploaded, product('B'));
  assert.deepEqual((await catalog.find('A'))[0].facts, []);
  await service().call('PUT', path, { body: { mode: 'automatic', attributes: [] } });
  await initiate(catalog);
  await catalog.post('/products/batch/upload', [uploaded, product('B')]);
  const preview = (await catalog.post('/products/batch/preview')).body;
  const commit = await catalog.done(await catalog.post('/products/batch/start'));
  const [a] = await catalog.find('A');
  assert.deepEqual(
    a.facts.map(({ value }: { value: string }) => value),
    ['red'],
  );
  const { body } = await service().call('GET', `/tasks/${commit.id}/log`);
  assert.ok(body.log.some(({ line }: { line: string }) => line.includes('changed 1, unchanged 1')));
  assert.deepEqual(preview.changed, { count: 1, identifiers: ['A'] });
  assert.deepEqual(preview.unchanged, { count: 1, identifiers: ['B'] });
});

test('the delete guard refuses a commit with its text and the figures (§4.4 rules 21 and 22)', async () => {
  const catalog = await createCatalog(service(), { maxDeletePercent: 30 });
  await catalog.load(...numbered(10));
  await initiate(catalog);
  await catalog.post('/products/batch/upload', numbered(6));
  const refused = await catalog.post('/products/batch/start');
  assertRefused(refused, 400, GUARD_TEXT);
  const figures = refused.body.details.join(' ');
  for (const figure of ['4', '10', '40', '30']) assert.match(figures, new RegExp(`\\b${figure}\\b`));
  assert.equal((await catalog.list()).length, 10);
  await upload(catalog, 'P006');
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.equal((await catalog.list()).length, 7, 'exactly maxDeletePercent is allowed');
});

test('the delete guard computes its share exactly for all counts (§4.4 rule 21)', async () => {
  const catalog = await createCatalog(service(), { maxDeletePercent: 7 });
  await catalog.load(...numbered(100));
  await initiate(catalog);
  await catalog.post('/products/batch/upload', numbered(93));
  assert.equal((await catalog.post('/products/batch/preview')).body.deletePercent, 7);
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.equal((await catalog.list()).length, 93);
});

test('allowDeletes overrides the delete guard only with the exact number (§4.4 rule 23)', async () => {
  const guarded = await createCatalog(service(), { maxDeletePercent: 0 });
  const open = await createCatalog(service());
  for (const catalog of [guarded, open]) {
    await catalog.load(...numbered(5));
    await initiate(catalog);
    await catalog.post('/products/batch/upload', numbered(3));
    for (const number of [0, 1, 3, 100]) {
      const refused = await catalog.post(`/products/batch/start?allowDeletes=${number}`);
      assertRefused(refused, 400);
      assert.match(refused.body.details.join(' '), /\b2\b/);
    }
    for (const bad of ['-1', '1.5', 'all', '']) {
      assertRefused(await catalog.post(`/products/batch/start?allowDeletes=${bad}`), 400);
    }
    assert.equal((await catalog.list()).length, 5);
    const task = await catalog.done(await catalog.post('/products/batch/start?allowDeletes=2'));
    assert.equal(task.taskStatus, 'FINISHED');
    assert.equal((await catalog.list()).length, 3);
  }
});

test('a commit that deletes nothing passes allowDeletes=0 and the strictest delete guard (§4.4 rule 23)', async () => {
  const catalog = await createCatalog(service(), { maxDeletePercent: 0 });
  for (const parameter of ['', '?allowDeletes=0']) {
    await initiate(catalog);
    await upload(catalog, 'A');
    await catalog.done(await catalog.post(`/products/batch/start${parameter}`));
  }
  assert.deepEqual(await catalog.list(), ['A']);
});

test('the delete guard checks again when the commit runs: FAILED, same text, unchanged catalog (§4.4 rule 24)', async () => {
  const catalog = await createCatalog(service(), { maxDeletePercent: 50 });
  await catalog.load(product('A'), product('B'));
  const release = await catalog.hold();
  const between = await catalog.post('/products', products('C', 'D', 'E'));
  await initiate(catalog);
  const uploaded = await upload(catalog, 'A');
  const started = await catalog.post('/products/batch/start');
  assert.equal(started.status, 200, 'at the call, one of two products would be deleted');
  await release();
  await catalog.done(between);
  const task = await catalog.done(started);
  assert.deepEqual([task.taskStatus, task.failure], ['FAILED', true]);
  const { body } = await service().call('GET', `/tasks/${task.id}/log`);
  assert.ok(
    body.log.some(({ line }: { line: string }) => line.includes(GUARD_TEXT)),
    JSON.stringify(body),
  );
  assert.deepEqual(await catalog.list(), ['A', 'B', 'C', 'D', 'E']);
  assert.equal((await service().ended(uploaded)).taskStatus, 'CANCELLED');
  assertRefused(await catalog.post('/products/batch/start'), 400, new RegExp(task.id));
  await initiate(catalog);
  await upload(catalog, 'A', 'B', 'C');
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['A', 'B', 'C']);
});

test('a restore undoes the last commit: ids stay, later changes are overwritten, created products are removed (§4.5 rules 2 to 4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...['A', 'B', 'C', 'D'].map((identifier) => product(identifier, { name: 'before' })));
  const before = await catalog.find('A', 'B', 'C', 'D');
  await catalog.load(
    product('A', { name: 'after' }),
    product('B', { name: 'after' }),
    product('C', { name: 'before' }),
    product('NEW'),
  );
  await catalog.patch({ identifier: 'A', name: 'later' }, { identifier: 'C', name: 'later' });
  await catalog.patch({ identifier: 'NEW', name: 'later' });
  const answer = await catalog.post('/products/batch/restore');
  assert.equal(answer.status, 200);
  assert.deepEqual(Object.keys(answer.body), ['message', 'status', 'task']);
  assert.equal(answer.body.status, 'success');
  assert.equal(answer.body.task.taskStatus, 'RUNNING');
  assert.equal(answer.body.task.taskIncrementType, 'STEP_BASED');
  const task = await catalog.done(answer);
  assert.equal(task.taskStatus, 'FINISHED');
  const after = await catalog.find('A', 'B', 'C', 'D', 'NEW');
  assert.deepEqual(
    after.map(({ identifier }) => identifier),
    ['A', 'B', 'C', 'D'],
  );
  for (const index of [0, 1, 3]) assert.deepEqual(after[index], before[index]);
  assert.equal(after[2].name, 'later', 'the commit did not change it, so its later update stays');
  const overwritten = (await catalog.report(task)).filter(({ code }) => code === 'overwritten_later');
  assert.deepEqual(
    overwritten.map(({ identifier }) => identifier),
    ['A', 'NEW'],
  );
  assertRefused(await catalog.post('/products/batch/restore'), 400);
});

test('a restore undoes a delete with its ids, even if the product was created again since (§4.5 rules 2 and 3)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'), product('B'), product('C'));
  const before = await catalog.find('A', 'B', 'C');
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['A', 'B'] }));
  await catalog.update(product('A', { name: 'made anew' }));
  const [anew] = await catalog.find('A');
  assert.notEqual(anew.id, before[0].id, 'another product of that identifier');
  const task = await catalog.done(await catalog.post('/products/batch/restore'));
  assert.deepEqual(await catalog.find('A', 'B', 'C'), before);
  assert.deepEqual(
    (await catalog.report(task)).map(({ identifier, code }) => [identifier, code]),
    [['A', 'overwritten_later']],
  );
});

test('a restore without an undoable commit is 400, and fails as a task if it had to wait (§4.5 rule 6)', async () => {
  const catalog = await createCatalog(service());
  assertRefused(await catalog.post('/products/batch/restore'), 400);
  await catalog.update(product('A'));
  assertRefused(await catalog.post('/products/batch/restore'), 400, /no commit or delete/);
  const release = await catalog.hold();
  const waiting = await catalog.post('/products/batch/restore');
  await release();
  assert.equal((await catalog.done(waiting)).taskStatus, 'FAILED');
  assert.deepEqual(await catalog.list(), ['A']);
});

test('keptCommits sets how many commits and deletes can be undone (§4.5 rule 5)', async () => {
  const catalog = await createCatalog(service(), { keptCommits: 2 });
  await catalog.load(product('A', { name: 'one' }));
  await catalog.load(product('A', { name: 'two' }));
  await catalog.load(product('A', { name: 'three' }), product('B'));
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['A', 'unknown'] }));
  const states: unknown[] = [];
  for (const _ of [1, 2]) {
    const task = await catalog.done(await catalog.post('/products/batch/restore'));
    assert.deepEqual(await catalog.report(task), [], 'nothing was changed since');
    states.push((await catalog.find('A', 'B')).map(({ name }) => name));
  }
  assert.deepEqual(states, [['three', 'B'], ['two']]);
  assertRefused(await catalog.post('/products/batch/restore'), 400);
});

test('a full update after a restore starts from the restored catalog (§4.5)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A', { name: 'one' }), product('B'));
  const [{ id, lastUpdateTs }] = await catalog.find('A');
  await catalog.load(product('A', { name: 'two' }));
  await catalog.done(await catalog.post('/products/batch/restore'));
  await catalog.load(product('A', { name: 'one' }), product('B'));
  const [a] = await catalog.find('A');
  assert.deepEqual([a.name, a.id, a.lastUpdateTs], ['one', id, lastUpdateTs]);
});

test('a session of one project cannot be used in another (§3.1)', async () => {
  const catalog = await createCatalog(service());
  const other = await createCatalog(service());
  const id = await initiate(catalog);
  assertRefused(await other.post(`/products/batch/upload?fullUpdateId=${id}`, products('A')), 400);
  assertRefused(await other.post('/products/batch/start'), 400);
  await upload(catalog, 'A');
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await other.list(), []);
});

/** A commit in which a product only gains facts keeps its document. The undo log has it before and after. */
const GAINING = [
  {
    next: 'a later commit deletes it',
    change: (catalog: TestCatalog) => catalog.load({ identifier: 'B', name: 'Other' }),
  },
  {
    next: 'a later update changes it',
    change: (catalog: TestCatalog) => catalog.update({ identifier: 'A', name: 'Changed' }),
  },
];

for (const { next, change } of GAINING) {
  test(`a restore brings back a product that had gained facts, when ${next} (§4.5)`, async () => {
    const catalog = await createCatalog(service());
    const product = { identifier: 'A', name: 'One', attributes: [{ key: 'Colour', value: 'red' }] };
    // Only full updates create attributes.
    await catalog.update(product);
    await catalog.load(product, { identifier: 'B', name: 'Other' });
    await change(catalog);
    const open = 'select count(*) as count from garbage_document';
    const { store } = service();
    while (Number((await store.readCatalog<{ count: number }>(catalog.projectId, open))[0]?.count) > 0)
      await delay(20);
    await catalog.done(await catalog.post('/products/batch/restore'));
    const [restored] = await catalog.find('A');
    assert.equal(restored?.name, 'One');
  });
}

test('the staged batches of a discarded full update are removed without another change (§3.1)', async (t) => {
  const held = Promise.withResolvers<void>();
  const staging = Promise.withResolvers<void>();
  const staged = Promise.withResolvers<void>();
  const racing = await startTestService(t, {
    replace: {
      store: (real) => ({
        ...real,
        async stageBatch(projectId, batch) {
          staging.resolve();
          await held.promise;
          try {
            return await real.stageBatch(projectId, batch);
          } finally {
            staged.resolve();
          }
        },
      }),
    },
  });
  const { projectId } = racing;
  const post = (path: string, body?: object) =>
    racing.call('POST', `${path}?projectId=${projectId}`, { body });
  await post('/products/batch/initiate');
  assert.equal((await post('/products/batch/upload', products('A'))).status, 200);
  await staging.promise;
  await post('/products/batch/initiate');
  held.resolve();
  await staged.promise;
  const left = 'select (select count(*) from staged_batch) + (select count(*) from document) as count';
  for (const begun = performance.now(); ; await delay(20)) {
    const [row] = await racing.store.readCatalog<{ count: number }>(projectId, left);
    if (Number(row?.count) === 0) break;
    assert.ok(performance.now() - begun < 30_000, 'the staged batch stays');
  }
});

test('a preview is refused if another call discards its full update during the request (§4.4 rule 3)', async (t) => {
  const held = { until: undefined as Promise<void> | undefined, begun: () => {} };
  const racing = await startTestService(t, {
    replace: {
      store: (real) => ({
        ...real,
        async listStagedBatches(projectId, fullUpdateId) {
          const { until } = held;
          held.begun();
          await until;
          // The staged batches of a discarded full update are removed soon after the answer.
          return until === undefined ? real.listStagedBatches(projectId, fullUpdateId) : [];
        },
      }),
    },
  });
  const ask = (path: string, body?: object, method = 'POST') =>
    racing.call(method, `${path}?projectId=1`, { body });
  const [preview, deleted] = ['/products/batch/preview', '/products/batch/preview/deleted'];
  for (const [method, path] of [
    ['POST', preview],
    ['GET', deleted],
  ] as const) {
    await ask('/products/batch/initiate');
    assert.equal((await ask('/products/batch/upload', products('A'))).status, 200);
    await ask(preview);
    const [released, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    Object.assign(held, { until: released.promise, begun: begun.resolve });
    const asking = ask(path, undefined, method);
    await begun.promise;
    Object.assign(held, { until: undefined, begun: () => {} });
    await ask('/products/batch/initiate');
    released.resolve();
    assertRefused(await asking, 400, /No full update is open|The open full update is/);
  }
});
