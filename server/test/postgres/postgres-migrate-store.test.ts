// runs: postgres deep
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createDatabase } from '../support/postgres/test-database.ts';
import { createRelationCatalog, product, under } from '../support/relations/relation-catalog.ts';
import { processEnvironment, startProcess } from '../support/service-process.ts';
import { createCatalog } from '../support/shared-service.ts';
import { Stops } from '../support/stops.ts';
import { readStoredRows } from '../support/stored-rows.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { embeddedStoreAt, findServer, postgresStoreOn, type TestStore } from '../support/test-store.ts';

/** Moving a store filled by a service, and serving the result (docs/operating/postgresql.md, `relata migrate-store`). */

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

interface CommandEnd {
  readonly code: number | null;
  readonly output: string;
}

/** Runs `relata migrate-store` in a process of its own. @param lines the number of lines before kill -9 */
async function runMove(args: readonly string[], lines = Number.POSITIVE_INFINITY): Promise<CommandEnd> {
  const env = processEnvironment(embeddedStoreAt('nowhere'));
  const child = spawn(process.execPath, [main, 'migrate-store', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const hear = (text: string) => {
    output += text;
    if (output.split('\n').length > lines) child.kill('SIGKILL');
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', hear);
  const [code] = await once(child, 'close');
  return { code, output: output.trim() };
}

/**
 * The command prints lines when it counts, copies, counts and compares. The test kills it when copying and comparing
 * start, and then lets it run to its end.
 */
async function moveWithKills(from: string, to: string): Promise<string> {
  const args = ['--from', from, '--to', to];
  for (const lines of [2, 4]) assert.equal((await runMove(args, lines)).code, null, 'it was killed');
  const { code, output } = await runMove(args);
  assert.equal(code, 0, output);
  return output.split('\n').at(-1) ?? '';
}

/** A service that is stopped before its test ends. */
async function withService<Result>(
  store: TestStore,
  work: (service: TestService) => Promise<Result>,
): Promise<Result> {
  const stops = new Stops();
  const service = await startTestService(stops, { store });
  try {
    return await work(service);
  } finally {
    await stops.stopAll();
  }
}

interface Filled {
  readonly shop: number;
  readonly open: number;
  readonly busy: number;
  readonly relation: number;
  readonly update: string;
  readonly commit: string;
}

const numbered = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => ({ identifier: `P${index}`, name: `${name} ${index}` }));

/** A catalog with relations, deletions and an undo log; an open full update; and unfinished work when the process dies. */
async function fillStore(store: TestStore): Promise<Filled> {
  const filled = await withService(store, async (service) => {
    const shop = await createRelationCatalog(service, { keptCommits: 3 });
    const bicycles = ['B1', 'B2'].map((name) => product(name, 'Bicycles', { wheel: '28 in', group: 'Bö' }));
    const tyres = Array.from({ length: 40 }, (_, index) =>
      product(`T${index}`, 'Tyres', { wheel: index % 2 === 0 ? '28 in' : '26 in', price: `${index}` }),
    );
    await shop.load(...bicycles, ...tyres, product('gone', 'Tyres'));
    const { id } = await shop.relate({
      source: under('Bicycles'),
      target: under('Tyres'),
      match: [{ target: 'wheel', operator: 'equals', source: 'wheel' }],
      sort: [{ attribute: 'price', direction: 'asc' }],
    });
    await shop.update({ ...tyres[0], name: 'a tyre 😀' });
    await shop.done(await shop.call('DELETE', '/products', { body: ['gone', 'T39'] }));
    const open = await createCatalog(service);
    await open.load(...numbered(30, 'then'));
    await open.post('/products/batch/initiate');
    for (const name of ['X', 'Y']) {
      await open.post('/products/batch/upload', {
        products: numbered(20, name).map((identifier) => ({
          ...identifier,
          identifier: `${name}${identifier.identifier}`,
        })),
      });
    }
    const busy = await createCatalog(service);
    await busy.load(...numbered(3_000, 'then'));
    const key = {
      name: 'A key of the shop',
      scope: { type: 'project', id: shop.projectId },
      access: 'write',
      rateLimit: { requestsPerMinute: 100 },
    };
    assert.equal((await service.call('POST', '/management/api-keys', { body: key })).status, 201);
    return { shop: shop.projectId, open: open.projectId, busy: busy.projectId, relation: id };
  });
  return { ...filled, ...(await dieAtWork(store, filled.busy)) };
}

async function dieAtWork(store: TestStore, projectId: number): Promise<{ update: string; commit: string }> {
  const service = await startProcess(store);
  const post = async (path: string, body?: object) => {
    const answer = await service.call('POST', `${path}?projectId=${projectId}`, { body });
    assert.equal(answer.status, 200, answer.text);
    return (answer.body.data ?? answer.body).task?.id;
  };
  await post('/products/batch/initiate');
  await post('/products/batch/upload', { products: numbered(3_000, 'now') });
  const [commit, update] = await Promise.all([
    post('/products/batch/start'),
    post('/products', { products: [{ identifier: 'later', name: 'later' }] }),
  ]);
  await service.kill();
  return { update, commit };
}

/**
 * Reads the service's answers on a store and continues work on it. Each copy, including ids, has to give the same
 * result.
 */
async function goOn(store: TestStore, { shop, open, busy, relation, update, commit }: Filled) {
  return withService(store, async (service) => {
    const related = async () => {
      const body = { identifiers: ['B1', 'T2'], includeRelations: [{ id: relation, limit: 100 }] };
      return (await service.call('POST', `/search/relations/bulk-results?projectId=${shop}`, { body })).body;
    };
    const done = async (path: string, projectId: number, body?: object) => {
      const projectPath = `${path}${path.includes('?') ? '&' : '?'}projectId=${projectId}`;
      const answer = await service.call('POST', projectPath, { body });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return (await service.ended((answer.body.data ?? answer.body).task.id)).taskStatus;
    };
    const seen = {
      interrupted: [await service.ended(commit), await service.ended(update)].map(
        ({ taskStatus }) => taskStatus,
      ),
      committed: withoutTime(await service.lookUp(['P0', 'P2999', 'later'], busy)),
      shop: await service.lookUp(['B1', 'T0', 'T1', 'T39', 'gone'], shop),
      related: await related(),
      opened: await done('/products/batch/start?batches=2', open),
      uploaded: withoutTime(await service.lookUp(['P0', 'XP0', 'YP19'], open)),
      changed: await done('/products', shop, { products: [product('new', 'Tyres', { wheel: '28 in' })] }),
      given: withoutTime(await service.lookUp(['new'], shop)),
      undone: await done('/products/batch/restore', shop),
      restored: withoutTime(await service.lookUp(['T39', 'gone'], shop)),
      relatedThen: await related(),
      project: await service.createProject('One more'),
      keys: (await service.call('GET', '/management/api-keys')).body.items.map(withoutUse),
      audit: (await service.call('GET', '/management/audit-log')).body.items?.length,
    };
    const faults = service.log.filter((line) => /"level":[56]0/.test(line));
    assert.deepEqual(faults, []);
    return seen;
  });
}

// biome-ignore lint/suspicious/noExplicitAny: answers as they are
const withoutUse = ({ lastUsedAt, ...rest }: any) => rest;
// biome-ignore lint/suspicious/noExplicitAny: answers as they are
const withoutTime = (products: any[]) => products.map(({ lastUpdateTs, ...rest }) => rest);

test('a store that a service filled moves to PostgreSQL and back, and is served the same on both', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'relata-move-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const database = await createDatabase(await findServer(), { isEmpty: true });
  t.after(() => database.drop());
  const [data, back] = [join(folder, 'data'), join(folder, 'back')];
  const filled = await fillStore(embeddedStoreAt(data));

  const before = readStoredRows(data);
  const output = await moveWithKills(data, database.url);
  assert.match(
    output,
    /^3 catalogs, \d+ rows and [3-5] bodies of open tasks were moved and compared: both stores are the same$/,
  );
  assert.equal(await moveWithKills(database.url, back), output);
  assert.deepEqual(readStoredRows(back), before);

  const here = await goOn(embeddedStoreAt(data), filled);
  assert.deepEqual(here.interrupted, ['FINISHED', 'FINISHED']);
  assert.deepEqual(await goOn(embeddedStoreAt(back), filled), here);
  assert.deepEqual(await goOn(postgresStoreOn(database, join(folder, 'own')), filled), here);
});

test('a mistake in the command is reported in one line', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'relata-move-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const nothing = join(folder, 'nothing');
  const mistakes = [
    {
      args: ['--from', nothing, '--to', 'postgres://127.0.0.1:1/relata'],
      said: /nothing is not a data directory: it has no control.db$/,
    },
    {
      args: ['--from', 'postgres://127.0.0.1:1/relata', '--to', nothing],
      said: /cannot be reached \(connect ECONNREFUSED 127.0.0.1:1\): run the same command again/,
    },
  ];
  for (const { args, said } of mistakes) {
    const end = await runMove(args);
    assert.equal(end.code, 1);
    assert.match(end.output, said);
    assert.equal(end.output.split('\n').length, 1, end.output);
  }
  assert.deepEqual(await readdir(folder), [], 'nothing was made');
});
