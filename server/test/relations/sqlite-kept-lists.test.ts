// runs: deep, long
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileCatalogs } from '../../src/relations/relation-store/sqlite/sqlite.ts';
import { readerOperations } from '../../src/relations/relation-threads/relation-threads.ts';
import { CatalogFiles } from '../../src/storage/sqlite/sqlite.ts';
import { openPayloads } from '../../src/storage/storage.ts';
import { Budget } from '../../src/storage/threads/threads.ts';
import { createRandom } from '../support/catalogs/catalog-model.ts';
import { createRelationCatalog, product, under } from '../support/relations/relation-catalog.ts';
import { shareService } from '../support/shared-service.ts';

const service = shareService();

/** RELATA_TEST_SEED repeats a run. */
const SEED = Number(process.env.RELATA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const STEPS = Number(process.env.RELATA_TEST_KEPT_STEPS ?? 120);
const PRODUCTS = 24;

const sameColour = { target: 'Colour', operator: 'equals', source: 'Colour' };
const shorter = { target: 'Length', operator: 'less', source: 'Length' };
const RULES = [
  { match: [sameColour], sort: [{ attribute: 'Length', direction: 'asc' }] },
  { match: [sameColour, shorter], sort: [{ attribute: 'Length', direction: 'desc' }] },
  { source: under('Drills'), target: under('Bits'), match: [], excludeSameGroup: true },
  { source: under('Bits'), target: under('Drills'), match: [{ any: [sameColour, shorter] }], twoWay: true },
].map((rule, index) => ({ name: `Rule ${index}`, ...rule }));

/** The operations of a thread. Its caches live as long as the operations. */
function openReader(dataDir: string) {
  const files = new CatalogFiles(join(dataDir, 'catalogs'));
  const payloads = openPayloads({
    kind: 'embedded',
    catalogs: join(dataDir, 'catalogs'),
    payloads: join(dataDir, 'payloads'),
  } as Parameters<typeof openPayloads>[0]);
  const { relate = assert.fail } = readerOperations(fileCatalogs(files, payloads));
  return {
    close: () => files.closeAll(),
    async ask(input: object): Promise<string> {
      // Only the operation knows its input.
      const { bytes } = (await relate(input as never, Budget.unlimited())) as { bytes: Uint8Array };
      return Buffer.from(bytes).toString();
    },
  };
}

const REQUEST = {
  form: 'bulk',
  explain: false,
  assumed: false,
  brandAttribute: 'Colour',
  version: 0,
  scale: 0,
  limitMs: 20_000,
};

test('lists that a thread keeps across versions equal newly made ones (§3.3 rule 2)', async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const random = createRandom(SEED);
  const dice = (below: number) => Math.floor(random() * below);
  const catalog = await createRelationCatalog(service(), { keptCommits: dice(4), maxDeletePercent: 100 });
  const { dataDir } = service().store;
  const numeric = { name: 'Length', type: 'NUMERIC_ATTRIBUTE', unitName: 'mm' };
  await catalog.putOntology('own', { name: 'Colour', type: 'TEXT_ATTRIBUTE' }, numeric);
  const identifiers = Array.from({ length: PRODUCTS }, (_, index) => `P${index}`);
  const colour = () => ['red', 'green', 'blue'].slice(dice(3), 1 + dice(3));
  const draw = (identifier = `P${dice(PRODUCTS)}`) =>
    product(identifier, dice(2) === 0 ? 'Drills' : 'Bits', {
      group: `G${dice(8)}`,
      Colour: colour(),
      ...(dice(6) > 0 && { Length: `${dice(9)} mm` }),
    });
  const drawAll = () => identifiers.filter(() => dice(4) > 0).map(draw);
  await catalog.load(...drawAll());
  const relations: number[] = [];
  for (const definition of RULES.slice(1)) relations.push((await catalog.relate(definition)).id);

  let isOpen = false;
  const changes: readonly (() => Promise<unknown>)[] = [
    () => catalog.update(draw()),
    () => catalog.update(draw(), draw()),
    () => catalog.patch({ identifier: `P${dice(PRODUCTS)}`, attributes: { Length: `${dice(9)} mm` } }),
    async () => {
      const answer = await catalog.call('DELETE', '/products', { body: [`P${dice(PRODUCTS)}`] });
      // The product may already be deleted.
      if (answer.status === 200) await catalog.done(answer);
    },
    () => catalog.load(...drawAll()).then(() => (isOpen = false)),
    async () => {
      // Stages products, or commits the products that were staged before other changes.
      if (isOpen) await catalog.done(await catalog.post('/products/batch/start'));
      else {
        await catalog.post('/products/batch/initiate');
        const sent = await catalog.post('/products/batch/upload', { products: drawAll() });
        assert.equal(sent.status, 200, JSON.stringify(sent.body));
      }
      isOpen = !isOpen;
    },
    () => catalog.post('/products/batch/restore').then(({ body }) => body.task && catalog.settled()),
    async () => {
      if (relations.length < RULES.length) relations.push((await catalog.relate(RULES[0] as object)).id);
      else await catalog.manage('DELETE', `/${relations.pop()}`);
    },
  ];

  const reader = openReader(dataDir);
  t.after(reader.close);
  for (let step = 0; step < STEPS; step += 1) {
    // Small updates occur more often than the other changes.
    await changes[dice(3) > 0 ? dice(3) : dice(changes.length)]?.();
    if (dice(3) === 0) continue;
    const input = {
      ...REQUEST,
      projectId: catalog.projectId,
      identifiers: identifiers.filter(() => dice(2) === 0),
      tags: [{ tag: 'accessories', relations: relations.map((id) => ({ id, limit: 1 + dice(2) * 3 })) }],
      form: dice(2) === 0 ? 'bulk' : 'single',
    };
    const fresh = openReader(dataDir);
    assert.equal(await reader.ask(input), await fresh.ask(input), `seed ${SEED}, step ${step}`);
    fresh.close();
  }
});

test('kept lists show products staged before, and products that a restore brings back (§4.4, §4.5)', async (t) => {
  const catalog = await createRelationCatalog(service(), { keptCommits: 3, maxDeletePercent: 100 });
  const red = (identifier: string) => product(identifier, 'Bits', { Colour: 'red' });
  await catalog.load(red('A'), red('B'), red('Z'));
  const { id } = await catalog.relate({ name: 'Same colour', match: [sameColour] });
  const { dataDir } = service().store;
  const reader = openReader(dataDir);
  t.after(reader.close);
  const ask = async () => {
    const tags = [{ tag: 'accessories', relations: [{ id, limit: 10 }] }];
    const input = { ...REQUEST, projectId: catalog.projectId, identifiers: ['A'], tags };
    return [...(await reader.ask(input)).matchAll(/"identifier":"(\w)"/g)]
      .map(([, identifier]) => identifier)
      .sort();
  };
  assert.deepEqual(await ask(), ['B', 'Z']);

  await catalog.post('/products/batch/initiate');
  await catalog.post('/products/batch/upload', { products: ['A', 'B', 'C', 'Z'].map(red) });
  const isStaged = async () =>
    (await service().store.readCatalog(catalog.projectId, 'select 1 from staged_batch')).length > 0;
  while (!(await isStaged())) await setTimeout(20);
  // The lists of this version were made while the documents were only staged.
  await catalog.patch({ identifier: 'Z', attributes: { Length: '1 mm' } });
  assert.deepEqual(await ask(), ['B', 'Z']);
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await ask(), ['B', 'C', 'Z']);

  await catalog.load(red('A'), red('Z'));
  assert.deepEqual(await ask(), ['Z']);
  await catalog.done(await catalog.post('/products/batch/restore'));
  assert.deepEqual(await ask(), ['B', 'C', 'Z']);
});
