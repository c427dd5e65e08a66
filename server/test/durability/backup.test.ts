// runs: deep, slow (not on postgres: PostgreSQL is backed up with its own tools)
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test as runTest, type TestContext } from 'node:test';
import { createBackup, restoreBackup } from '../../src/backup/backup.ts';
import { listNeededPayloads, listOwnedPayloads } from '../../src/transfer/transfer.ts';
import { createChannelProject, sold } from '../support/channels/channel-project.ts';
import { byUpload, CSV, createPipelineProject } from '../support/pipelines/pipeline-project.ts';
import { runRelata } from '../support/relata-command.ts';
import { createCatalog, type TestCatalog } from '../support/shared-service.ts';
import { until } from '../support/task-process.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { embeddedOnly, embeddedStoreAt } from '../support/test-store.ts';

/** Backup while the service writes, and both ways to restore (docs/operating/backup.md, "Backup and restore"). */

const ofFiles = embeddedOnly('PostgreSQL is backed up with its own tools');
const test = (name: string, work: (t: TestContext) => Promise<void>) => void runTest(name, ofFiles, work);

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'relata-backup-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const product = (identifier: string, name: string) => ({ identifier, name });

async function nameOf(
  service: TestService,
  projectId: number,
  identifier: string,
): Promise<string | undefined> {
  return (await service.lookUp([identifier], projectId))[0]?.name;
}

async function statusOf(service: TestService, taskId: string): Promise<string> {
  return (await service.call('GET', `/tasks/${taskId}?wait=60`)).body.task.taskStatus;
}

/** A service on a restored backup. */
async function startRestored(t: TestContext, backup: string): Promise<TestService> {
  const dataDir = join(await makeFolder(t), 'data');
  await restoreBackup(backup, dataDir);
  return startTestService(t, { store: embeddedStoreAt(dataDir) });
}

/** An update of a project whose tasks have to wait. */
async function post(catalog: TestCatalog, ...products: readonly object[]): Promise<string> {
  const answer = await catalog.post('/products', { products });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.task.id;
}

test('a task that ends during a backup is completely in it: it neither runs twice nor is lost', async (t) => {
  const service = await startTestService(t);
  const backup = join(await makeFolder(t), 'backup');
  const catalog = await createCatalog(service);
  await catalog.load(product('A', 'first'), product('B', 'first'));
  const release = await catalog.hold();
  const update = await post(catalog, product('A', 'second'));
  const deletion = (await catalog.call('DELETE', '/products', { body: ['B'] })).body.task.id;
  const restored = (await catalog.post('/products/batch/restore')).body.task.id;
  const failed = (await catalog.post('/products/batch/restore')).body.task.id;
  const last = await post(catalog, product('C', 'first'));

  await createBackup(service.store.dataDir, backup, async () => {
    await release();
    for (const taskId of [update, deletion, restored, failed, last]) await service.ended(taskId);
    await catalog.update(product('A', 'unknown to the copy'));
  });

  const copy = await startRestored(t, backup);
  for (const taskId of [update, deletion, restored, last])
    assert.equal(await statusOf(copy, taskId), 'FINISHED');
  assert.equal(
    await statusOf(copy, failed),
    'FAILED',
    'a restore that failed, because nothing was left, does not succeed later',
  );
  assert.equal(await nameOf(copy, catalog.projectId, 'A'), 'unknown to the copy');
  assert.equal(await nameOf(copy, catalog.projectId, 'C'), 'first');
  const { body } = await copy.call('GET', `/tasks/${deletion}/log`);
  assert.match(body.log[0].line, /deleted 1 products/, 'the log is that of the original');

  const path = `/products?projectId=${catalog.projectId}`;
  const next = await copy.call('POST', path, { body: [product('D', 'after the restore')] });
  assert.equal((await copy.ended(next.body.task.id)).taskStatus, 'FINISHED');
  assert.equal(await nameOf(copy, catalog.projectId, 'D'), 'after the restore', 'its number is new');
});

test('tasks that are open during a backup run after the restore', async (t) => {
  const service = await startTestService(t);
  const backup = join(await makeFolder(t), 'backup');
  const catalog = await createCatalog(service);
  const open = await createCatalog(service);
  await catalog.load(product('A', 'first'));
  const release = await catalog.hold();
  const update = await post(catalog, product('A', 'second'));
  await open.post('/products/batch/initiate');
  for (const identifier of ['X', 'Y']) {
    await open.post('/products/batch/upload', { products: [product(identifier, 'uploaded')] });
  }
  assert.deepEqual(await runRelata(service.store.dataDir, 'backup', backup), {
    code: 0,
    output: `2 catalogs and 3 bodies of open tasks were copied to ${backup}`,
  });
  await release();

  const copy = await startRestored(t, backup);
  await cancelHeld(copy, catalog.projectId);
  assert.equal(await statusOf(copy, update), 'FINISHED');
  assert.equal(await nameOf(copy, catalog.projectId, 'A'), 'second');
  const path = `/products/batch/start?projectId=${open.projectId}`;
  assert.equal((await copy.call('POST', path)).status, 400, 'there may have been more batches since');
  const started = await copy.call('POST', `${path}&batches=2`);
  assert.equal(started.status, 200, JSON.stringify(started.body));
  await copy.ended(started.body.data.task.id);
  const products = await copy.lookUp(['X', 'Y'], open.projectId);
  assert.deepEqual(
    products.map(({ name }) => name),
    ['uploaded', 'uploaded'],
    'every batch is there',
  );
});

/** A pipeline whose run has an uploaded file and waits for its turn to write. */
async function startUpload(service: TestService) {
  const project = await createPipelineProject(service);
  const pipeline = await project.create(byUpload());
  const release = await project.hold();
  const { body } = await project.upload(pipeline, CSV);
  return { projectId: project.projectId, taskId: body.task.id as string, release };
}

test('a run that is open during a backup reads its file again after the restore (§13.2)', async (t) => {
  const service = await startTestService(t);
  const backup = join(await makeFolder(t), 'backup');
  const { projectId, taskId, release } = await startUpload(service);
  await createBackup(service.store.dataDir, backup);
  await release();
  const restored = await startRestored(t, backup);
  await cancelHeld(restored, projectId);
  assert.equal(await statusOf(restored, taskId), 'FINISHED');
  assert.equal(await nameOf(restored, projectId, 'A1'), 'Drill');
});

test('a run that ends during a backup is completely in it (§13.2)', async (t) => {
  const service = await startTestService(t);
  const backup = join(await makeFolder(t), 'backup');
  const { projectId, taskId, release } = await startUpload(service);
  await createBackup(service.store.dataDir, backup, async () => {
    await release();
    await service.ended(taskId);
    while ((await service.store.listBodies()).length > 0) await new Promise(setImmediate);
  });
  const restored = await startRestored(t, backup);
  assert.equal(await statusOf(restored, taskId), 'FINISHED');
  assert.equal(await nameOf(restored, projectId, 'A1'), 'Drill');
});

test('a backup contains exactly the bodies and files that a start would keep', async (t) => {
  const service = await startTestService(t);
  const { projectId, taskId, release } = await startUpload(service);
  const channels = await createChannelProject(service);
  await channels.load(sold('A1'));
  await channels.build(await channels.create({ name: 'All', format: { type: 'ndjson' } }));
  const relations = `/management/projects/${projectId}/relations`;
  const wanted = { name: 'Goes with', tag: 'goes', kind: 'links' };
  const { body: relation } = await service.call('POST', relations, { body: wanted });
  const headers = { 'content-type': 'application/x-ndjson' };
  const links = { body: '{"source":"A","targets":["B"]}\n', headers };
  assert.equal((await service.call('PUT', `${relations}/${relation.id}/links`, links)).status, 200);
  await channels.post('/products/batch/initiate');
  await channels.post('/products/batch/upload', { products: [sold('B1')] });
  const [run] = (await service.app.tasks.listOpen()).filter(({ id }) => id === taskId);
  assert.ok(run);
  await until('the run waits', async () => (await service.app.tasks.parts.list(run)).length > 0);

  const control = new DatabaseSync(join(service.store.dataDir, 'control.db'), { readOnly: true });
  t.after(() => control.close());
  const copied = listOwnedPayloads(control).map(({ name }) => name);
  const neededNames = (await listNeededPayloads(service.app.database.read)).map(({ name }) => name);
  const stored = await readdir(join(service.store.dataDir, 'payloads'));
  await release();
  assert.deepEqual(neededNames, copied);
  assert.deepEqual(stored.toSorted(), copied.toSorted(), 'everything stored is needed');
  // Bodies of the uploaded file, its pieces read so far, the links, the channel, and the open full update.
  assert.ok(copied.length >= 5, copied.join());
});

test('a full update that is committed during a backup is not open in it', async (t) => {
  const service = await startTestService(t);
  const backup = join(await makeFolder(t), 'backup');
  const catalog = await createCatalog(service);
  await catalog.post('/products/batch/initiate');
  const upload = await catalog.post('/products/batch/upload', { products: [product('A', 'committed')] });
  await createBackup(service.store.dataDir, backup, async () => {
    await catalog.done(await catalog.post('/products/batch/start'));
    await catalog.post('/products/batch/initiate');
    await catalog.post('/products/batch/upload', {
      products: [product('Z', 'of an unknown session')],
    });
  });

  const copy = await startRestored(t, backup);
  const path = (step: string) => `/products/batch/${step}?projectId=${catalog.projectId}`;
  assert.equal(await nameOf(copy, catalog.projectId, 'A'), 'committed');
  assert.equal(await statusOf(copy, upload.body.task.id), 'CANCELLED', 'it no longer waits for a commit');
  assert.equal((await copy.call('POST', path('start'))).status, 400);
  await copy.loadCatalog([product('B', 'new')], catalog.projectId);
  assert.deepEqual(
    (await copy.lookUp(['A', 'B', 'Z'], catalog.projectId)).map(({ identifier }) => identifier),
    ['B'],
    'no batch of the unknown session counts for the new one',
  );
});

test('a backup during writes has each project at one moment, with its keys and settings', async (t) => {
  const service = await startTestService(t);
  const folder = await makeFolder(t);
  const catalogs = [await createCatalog(service), await createCatalog(service, { keptCommits: 3 })];
  const identifiers = Array.from({ length: 300 }, (_, index) => `P${index}`);
  let writing = true;
  const accepted = new Map<string, number>();
  async function write(catalog: TestCatalog): Promise<void> {
    for (let version = 1; writing; version += 1) {
      const products = identifiers.map((identifier) => product(identifier, `${version}`));
      if (version % 5 === 1) await catalog.load(...products);
      else accepted.set(await post(catalog, ...products), version);
    }
  }
  const writers = catalogs.map(write);
  t.after(() => {
    writing = false;
  });
  for (let round = 1; round <= 3; round += 1) {
    const before = accepted.size;
    await until('the catalogs are written', () => accepted.size >= before + 5, 60_000);
    await createBackup(service.store.dataDir, join(folder, `${round}`));
  }
  writing = false;
  await Promise.all(writers);

  for (let round = 1; round <= 3; round += 1) {
    const copy = await startRestored(t, join(folder, `${round}`));
    for (const { projectId } of catalogs) await checkMoment(copy, projectId);
    const settings = await copy.call('GET', `/management/projects/${catalogs[1]?.projectId}`);
    assert.equal(settings.body.settings.keptCommits, 3);
  }

  async function checkMoment(copy: TestService, projectId: number): Promise<void> {
    const { body } = await copy.call('GET', `/tasks?projectId=${projectId}&limit=1000`);
    const tasks = (body.tasks as { id: string; name: string }[]).filter(({ name }) => name !== '');
    for (const { id } of tasks.reverse()) assert.equal(await statusOf(copy, id), 'FINISHED');
    const versions = new Set((await copy.lookUp(identifiers, projectId)).map(({ name }) => Number(name)));
    assert.ok(versions.size <= 1, `one moment, not several: ${[...versions]}`);
    const least = Math.max(0, ...tasks.map(({ id }) => accepted.get(id) ?? 0));
    assert.ok(
      [...versions].every((version) => version >= least),
      `${[...versions]}, accepted was ${least}`,
    );
  }
});

test('one project is restored while the service runs: lookups show it immediately, other projects are unchanged', async (t) => {
  const service = await startTestService(t);
  const backup = join(await makeFolder(t), 'backup');
  const catalog = await createCatalog(service);
  const other = await createCatalog(service);
  const categories = [{ path: ['Tools', 'Drills'] }];
  await catalog.load({ ...product('A', 'then'), categories }, product('B', 'then'));
  const [before] = await catalog.find('A');
  await other.load(product('A', 'then'));
  assert.equal((await runRelata(service.store.dataDir, 'backup', backup)).code, 0);

  await catalog.load({ ...product('A', 'now'), categories: [{ path: ['Toys'] }] }, product('C', 'now'));
  await other.update(product('A', 'now'));
  await catalog.post('/products/batch/initiate');
  await catalog.post('/products/batch/upload', { products: [product('E', 'uploaded')] });
  assert.equal(await nameOf(service, catalog.projectId, 'A'), 'now');

  const end = await runRelata(service.store.dataDir, 'restore', backup, '--project', `${catalog.projectId}`);
  assert.deepEqual(end, {
    code: 0,
    output: `the catalog of project ${catalog.projectId} now has the 2 products of the backup`,
  });
  const [after, gone] = await catalog.find('A', 'C');
  assert.deepEqual(after, before, 'unchanged, including id and instant');
  assert.equal(gone, undefined);
  assert.equal(await nameOf(service, other.projectId, 'A'), 'now', 'the other project is unchanged');

  await catalog.update(product('A', 'changed again'), product('F', 'new'));
  assert.equal(await nameOf(service, catalog.projectId, 'A'), 'changed again', 'later tasks take effect');
  const ids = (await catalog.find('A', 'B', 'F')).map(({ id }) => id);
  assert.equal(new Set(ids).size, 3);
  assert.ok(ids[2] > 3, 'ids given in between are not given again');
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['E'], 'the batch of the open full update was staged again');
  await catalog.done(await catalog.post('/products/batch/restore'));
  assert.deepEqual(await catalog.list(), ['A', 'B', 'F'], 'the undo log continues');
});

test('an update in progress while its project is restored is applied to the restored catalog', async (t) => {
  const service = await startTestService(t);
  const backup = join(await makeFolder(t), 'backup');
  const catalog = await createCatalog(service);
  const products = Array.from({ length: 500 }, (_, index) => product(`P${index}`, 'then'));
  await catalog.load(...products);
  await createBackup(service.store.dataDir, backup);
  const changed = products.map(({ identifier }) => product(identifier, 'now'));
  await catalog.load(...changed);
  const release = await catalog.hold();
  const update = await post(catalog, ...changed.slice(0, 250));
  const [end] = await Promise.all([
    runRelata(service.store.dataDir, 'restore', backup, '--project', `${catalog.projectId}`),
    release(),
  ]);
  assert.equal(end.code, 0, end.output);
  assert.equal((await service.ended(update)).taskStatus, 'FINISHED');
  await catalog.update(...changed.slice(0, 250));
  const names = (await catalog.find(...products.map(({ identifier }) => identifier))).map(({ name }) => name);
  assert.deepEqual(names, [...Array(250).fill('now'), ...Array(250).fill('then')]);
});

test('a restored project does not run the updates that waited at the backup, and the command reports this', async (t) => {
  const service = await startTestService(t);
  const backup = join(await makeFolder(t), 'backup');
  const catalog = await createCatalog(service);
  await catalog.load(product('A', 'then'));
  const release = await catalog.hold();
  const updates = [await post(catalog, product('A', 'waits')), await post(catalog, product('B', 'waits'))];
  await createBackup(service.store.dataDir, backup);
  await release();
  for (const update of updates) assert.equal((await service.ended(update)).taskStatus, 'FINISHED');
  const end = await runRelata(service.store.dataDir, 'restore', backup, '--project', `${catalog.projectId}`);
  assert.equal(
    end.output,
    `the catalog of project ${catalog.projectId} now has the 1 products of the backup\n` +
      'the backup does not have the changes that were waiting when it was made (3): send them again',
    'both updates, and the task that blocked them',
  );
  assert.deepEqual([await nameOf(service, catalog.projectId, 'A'), await catalog.list()], ['then', ['A']]);
});

test('the metrics show the time of the last backup, and a failed one does not count', async (t) => {
  const service = await startTestService(t);
  const folder = await makeFolder(t);
  const read = async () => {
    const { body } = await service.call('GET', '/metrics');
    return Number(/^relata_last_backup_timestamp_seconds (\S+)$/m.exec(body)?.[1]);
  };
  assert.equal(await read(), 0);
  const before = Date.now() / 1000;
  await createBackup(service.store.dataDir, join(folder, 'first'));
  const backupInstant = await read();
  assert.ok(backupInstant >= before && backupInstant <= Date.now() / 1000, `${backupInstant}`);
  const fail = async () => assert.fail('the disk of the backups is full');
  await assert.rejects(createBackup(service.store.dataDir, join(folder, 'second'), fail));
  assert.equal(await read(), backupInstant);
});

test('a backup never overwrites another folder, and an incomplete one is not a backup', async (t) => {
  const service = await startTestService(t);
  const folder = await makeFolder(t);
  const filled = join(folder, 'filled');
  await mkdir(filled);
  await writeFile(join(filled, 'a file'), '');
  const refusals = [
    { args: ['backup', filled], said: /is not empty/ },
    { args: ['restore', filled], said: /is not a backup: it has no control.db/ },
    {
      args: ['restore', service.store.dataDir],
      said: /no longer a backup, because a server was started on it/,
    },
  ];
  for (const { args, said } of refusals) {
    const end = await runRelata(service.store.dataDir, ...args);
    assert.equal(end.code, 1);
    assert.match(end.output, said);
    assert.equal(end.output.split('\n').length, 1, 'a mistake is reported in one line');
  }
  await assert.rejects(
    createBackup(join(folder, 'nowhere'), join(folder, 'backup')),
    /has no store, because control.db is missing: set RELATA_DATA_DIR/,
  );
  const cut = async () => assert.fail('the power is cut');
  await assert.rejects(createBackup(service.store.dataDir, join(folder, 'cut'), cut), /the power is cut/);
  assert.deepEqual(await readdir(folder), ['filled'], 'a failed backup leaves nothing');
});

test('a restore is refused where it would overwrite or mix data', async (t) => {
  const service = await startTestService(t);
  const backup = join(await makeFolder(t), 'backup');
  const catalog = await createCatalog(service);
  await catalog.load(product('A', 'then'));
  await createBackup(service.store.dataDir, backup);
  const later = await createCatalog(service);
  await later.load(product('A', 'now'));
  const elsewhere = join(await makeFolder(t), 'data');
  await mkdir(elsewhere);
  await writeFile(join(elsewhere, 'a file'), '');
  const refusals = [
    { dataDir: service.store.dataDir, args: [backup], said: /Another server uses the data folder/ },
    { dataDir: elsewhere, args: [backup], said: /is not empty: a file/ },
    {
      dataDir: service.store.dataDir,
      args: [backup, '--project', '999'],
      said: /contains no catalog of project 999/,
    },
    {
      dataDir: service.store.dataDir,
      args: [backup, '--project', `${later.projectId}`],
      said: /contains no catalog of project/,
    },
    {
      dataDir: service.store.dataDir,
      args: [backup, '--project', 'all'],
      said: /'--project <ID>' argument 'all' is invalid/,
      code: 2,
    },
  ];
  for (const { dataDir, args, said, code = 1 } of refusals) {
    const end = await runRelata(dataDir, 'restore', ...args);
    assert.equal(end.code, code, end.output);
    assert.match(end.output, said);
  }
  const other = await startTestService(t);
  const end = await runRelata(other.store.dataDir, 'restore', backup, '--project', `${catalog.projectId}`);
  assert.match(end.output, new RegExp(`There is no project ${catalog.projectId} here`));
  assert.equal(await nameOf(service, later.projectId, 'A'), 'now');
});

/** Only this test's service knows the kind of the blocking task, so other services leave it in the queue. */
async function cancelHeld(service: TestService, projectId: number): Promise<void> {
  const { body } = await service.call('GET', `/tasks?projectId=${projectId}&limit=100`);
  const held = body.tasks.find(({ name }: { name: string }) => name === 'hold');
  assert.equal((await service.call('POST', `/tasks/${held.id}/cancel`)).status, 200);
}

for (const indexPlace of ['the present one', 'the backup', 'both'] as const) {
  test(`one project is restored and searchable, with an index of search in ${indexPlace}`, async (t) => {
    const service = await startTestService(t);
    const backup = join(await makeFolder(t), 'backup');
    const catalog = await createCatalog(service);
    const search = async () => {
      const path = `/search/products?projectId=${catalog.projectId}&q=drill`;
      const { body } = await service.call('GET', path);
      return body.items.map(({ identifier }: { identifier: string }) => identifier).sort();
    };
    await catalog.load(product('A', 'Drill'), product('B', 'Drill'));
    if (indexPlace !== 'the present one') assert.deepEqual(await search(), ['A', 'B']);
    assert.equal((await runRelata(service.store.dataDir, 'backup', backup)).code, 0);
    await catalog.load(product('B', 'Saw'), product('C', 'Drill'));
    if (indexPlace !== 'the backup') assert.deepEqual(await search(), ['C']);
    else dropSearch(service, catalog.projectId);

    const { projectId } = catalog;
    const end = await runRelata(service.store.dataDir, 'restore', backup, '--project', `${projectId}`);
    assert.equal(end.code, 0, end.output);
    assert.deepEqual(await search(), ['A', 'B']);
    await catalog.update(product('D', 'Drill'));
    assert.deepEqual(await search(), ['A', 'B', 'D']);
  });
}

/** This is the state of a new or upgraded file. */
function dropSearch(service: TestService, projectId: number): void {
  // The service may write at the same time.
  const path = join(service.store.dataDir, 'catalogs', `${projectId}.db`);
  using file = new DatabaseSync(path, { timeout: 10_000 });
  for (const table of ['lexeme', 'entry', 'word', 'progress'])
    file.exec(`drop table if exists search_${table}`);
}
