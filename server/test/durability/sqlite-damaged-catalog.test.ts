// runs: deep, waits
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createSeededRandom } from '../support/demo-shop/seeded-random.ts';
import { runRelata } from '../support/relata-command.ts';
import { Stops } from '../support/stops.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { createTestStore, embeddedStoreAt, type TestStore } from '../support/test-store.ts';

/**
 * A catalog file with bytes that the disk changed. SQLite has no checksums, so a lookup silently misses a row with a
 * changed key. Damage is *noticed* when SQLite cannot read a page that a request needs, or when a check has read the
 * file. From then on the project is not answered, so no answer says that an existing product is missing.
 */

const SEED = Number(process.env.RELATA_TEST_SEED ?? 1);
const SEEDS = [SEED, SEED + 1, SEED + 2];
const PRODUCTS = 300;
const WRITES = 40;
const WRITTEN_BYTES = 512;

const identifiers = Array.from({ length: PRODUCTS }, (_, index) => `PRODUCT-${index}`);
const products = identifiers.map((identifier, index) => ({
  identifier,
  name: `Product ${index}`,
  attributes: [{ key: 'Description', value: `What is said of product ${index}. `.repeat(40) }],
}));

/** The data of a stopped service. Each test damages a copy of it. */
const prepared = await mkdtemp(join(tmpdir(), 'relata-damaged-'));
const projects = { projectId: 0, neighbour: 0 };

before(async () => {
  const service = await startTestService(new Stops(), { store: embeddedStoreAt(prepared) });
  projects.projectId = service.projectId;
  projects.neighbour = await service.createProject('Neighbour');
  for (const project of Object.values(projects)) await service.loadCatalog(products, project);
  await service.stop();
});
after(() => rm(prepared, { recursive: true, force: true }));

async function openShop(t: TestContext) {
  const store = await createTestStore(t);
  await cp(prepared, store.dataDir, { recursive: true, preserveTimestamps: true });
  const path = join(store.dataDir, 'catalogs', `${projects.projectId}.db`);
  return { store, path, ...projects };
}

/** 40 writes of 512 bytes, anywhere outside the header of the file. */
function plantDamage(path: string, seed: number): void {
  const random = createSeededRandom(`damage ${seed}`);
  const bytes = readFileSync(path);
  for (let write = 0; write < WRITES; write += 1) {
    const offset = random.between(100, bytes.length - WRITTEN_BYTES);
    for (let position = offset; position < offset + WRITTEN_BYTES; position += 1)
      bytes[position] = random.between(0, 255);
  }
  writeFileSync(path, bytes);
}

const restart = (t: TestContext, store: TestStore) =>
  startTestService(t, { store: embeddedStoreAt(store.dataDir) });

/** Looks up each product. @returns the results: found, missing, garbled, or the reason of a refusal */
async function lookUpAll(service: TestService, projectId: number): Promise<string[]> {
  const answers: string[] = [];
  for (const identifier of identifiers) {
    const path = `/product-service/products-by-sku?projectId=${projectId}&identifiers=${identifier}`;
    answers.push(
      await service.call('GET', path).then(
        ({ status, body }) =>
          status === 200 ? (body.products.length === 1 ? 'found' : 'missing') : body.reason,
        // Changed bytes within a text are answered until a check of the file finds the damage around them.
        (error) => (error instanceof SyntaxError ? 'garbled' : Promise.reject(error)),
      ),
    );
  }
  return answers;
}

for (const seed of SEEDS) {
  test(`after 40 random writes into a catalog file no answer omits a product once the damage is noticed, seed ${seed}`, async (t) => {
    const { store, path, neighbour, projectId } = await openShop(t);
    plantDamage(path, seed);
    const service = await restart(t, store);
    const answers = [...(await lookUpAll(service, projectId)), ...(await lookUpAll(service, projectId))];
    const noticed = answers.indexOf('catalog_damaged');
    t.diagnostic(
      JSON.stringify({ seed, noticed, missing: answers.filter((answer) => answer === 'missing').length }),
    );
    if (noticed >= 0) assert.equal(answers.slice(noticed).includes('missing'), false);
    await service.app.watch.checkAll();
    assert.deepEqual(new Set(await lookUpAll(service, projectId)), new Set(['catalog_damaged']));
    assert.deepEqual(new Set(await lookUpAll(service, neighbour)), new Set(['found']));
  });
}

/** Changes only keys: pages stay as SQLite wrote them, in the index and in key order. */
function changeIndexKeys(path: string): void {
  const file = new DatabaseSync(path);
  const { rootpage } = file
    .prepare("select rootpage from sqlite_schema where name = 'sqlite_autoindex_product_1'")
    .get() as { rootpage: number };
  const { page_size: size } = file.prepare('pragma page_size').get() as { page_size: number };
  file.close();
  const bytes = readFileSync(path);
  const page = bytes.subarray((rootpage - 1) * size, rootpage * size);
  page.write('PRODUCT-10~', page.indexOf('PRODUCT-100'));
  writeFileSync(path, bytes);
}

test('the file check detects a key that differs only in the index, and the catalog is no longer served (docs/operating/backup.md)', async (t) => {
  const { store, path, neighbour, projectId } = await openShop(t);
  changeIndexKeys(path);
  const service = await restart(t, store);
  assert.deepEqual(await service.lookUp(['PRODUCT-100']), [], 'SQLite answers this without an error');
  await service.app.watch.checkAll();
  const { status, headers, body } = await service.call(
    'GET',
    `/product-service/product-by-sku?projectId=${projectId}&identifier=PRODUCT-100`,
  );
  assert.equal(`${status} ${body.reason}`, '503 catalog_damaged');
  assert.equal(headers.get('retry-after'), '60');
  assert.match(
    body.message,
    new RegExp(
      `The catalog of project ${projectId} is damaged.*restore it from a backup.*docs/operating/backup.md`,
    ),
  );

  const update = { body: { products: [products[0]] } };
  const bodies: Record<string, object> = {
    '/products': update,
    '/products/delete': { body: { identifiers: ['PRODUCT-1'] } },
  };
  for (const [method, route] of [
    ['POST', '/products'],
    ['POST', '/products/delete'],
    ['POST', '/products/batch/restore'],
    ['GET', '/search/products'],
  ] as const) {
    const answer = await service.call(method, `${route}?projectId=${projectId}`, bodies[route] ?? {});
    assert.equal(`${answer.status} ${answer.body.reason}`, '503 catalog_damaged', `${method} ${route}`);
  }
  const ready = await service.call('GET', '/health/ready');
  assert.equal(ready.status, 200);
  assert.match(ready.body.problems.join(), new RegExp(`the catalog of project ${projectId} is damaged`));
  assert.match((await service.call('GET', '/metrics')).body, /^relata_catalogs_damaged 1$/m);
  const logLines = service.log
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => /a catalog is damaged/.test(msg));
  assert.deepEqual(
    logLines.map(({ project, file, level }) => [project, file, level]),
    [[projectId, path, 50]],
  );
  assert.equal((await service.call('POST', `/products?projectId=${neighbour}`, update)).status, 200);
});

test('a damaged catalog stays refused after a restart, and is served again after its restore (docs/operating/backup.md, "A damaged catalog")', async (t) => {
  const { store, path, projectId } = await openShop(t);
  const backup = join(store.dataDir, '../', `${basename(store.dataDir)}-backup`);
  t.after(() => rmSync(backup, { recursive: true, force: true }));
  await runRelata(store.dataDir, 'backup', backup);
  changeIndexKeys(path);
  let service = await restart(t, store);
  await service.app.watch.checkAll();
  await service.stop();
  service = await restart(t, store);
  assert.equal(
    (await service.call('GET', `/product-service/product-by-sku?projectId=${projectId}&identifier=PRODUCT-1`))
      .status,
    503,
  );
  await service.stop();
  const damaged = readFileSync(path);
  // The steps of docs/operating/backup.md: stop, restore the project, start.
  await runRelata(store.dataDir, 'restore', backup, '--project', String(projectId));
  service = await restart(t, store);
  await service.app.watch.checkAll();
  assert.deepEqual(new Set(await lookUpAll(service, projectId)), new Set(['found']));
  assert.equal((await service.call('GET', '/health/ready')).body.problems, undefined);
  assert.deepEqual(readFileSync(`${path}.damaged`), damaged, 'the file is kept for examination');
});

test('a file that SQLite cannot open as a database is refused the same way', async (t) => {
  const { store, path, projectId } = await openShop(t);
  const bytes = readFileSync(path);
  bytes.fill(0x5a, 0, 100);
  writeFileSync(path, bytes);
  const service = await restart(t, store);
  const answers = new Set((await lookUpAll(service, projectId)).slice(0, 10));
  assert.deepEqual(answers, new Set(['catalog_damaged']));
});

test('an intact catalog passes its check, with an undo log, an index of search and an open full update', async (t) => {
  const service = await startTestService(t);
  const { projectId } = service;
  await service.loadCatalog(products);
  await service.loadCatalog(products.slice(10));
  await service.call('GET', `/search/products?projectId=${projectId}&query=Product`);
  await service.call('POST', `/products/batch/initiate?projectId=${projectId}`);
  const batch = { body: { products: products.slice(0, 20) } };
  await service.call('POST', `/products/batch/upload?projectId=${projectId}`, batch);
  while ((await service.store.readCatalog(projectId, 'select 1 from staged_batch')).length === 0)
    await delay(20);
  await service.app.watch.checkAll();
  assert.equal((await service.lookUp(['PRODUCT-100'])).length, 1);
  assert.equal((await service.call('GET', '/health/ready')).body.problems, undefined);
  const lines = service.log.filter((line) => line.includes('checking a catalog failed'));
  assert.deepEqual(lines, [], 'only catalogs are checked, not the files that SQLite keeps beside them');
});
