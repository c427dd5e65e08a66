// runs: test, deep, postgres deep, slow
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import fc from 'fast-check';
import {
  type CatalogUnderTest,
  openEmbeddedCatalog,
  openPostgresCatalog,
} from '../../../test/support/catalogs/catalog-under-test.ts';
import {
  CatalogWorld,
  EXTRACTED_BY,
  IDENTIFIERS,
  NAMES,
  PATHS,
} from '../../../test/support/catalogs/catalog-world.ts';
import { makeTestStore, testedStore } from '../../../test/support/test-store.ts';
import { writeAnswer } from '../browse/browse.ts';

/**
 * The statements of a store compared with a model. For all orders of staging, commits, changes, restores and
 * removals, every product is as in the model and has its document, and unreferenced rows are removed. Both stores
 * play the same steps.
 */

const products = fc
  .dictionary(fc.constantFrom(...IDENTIFIERS), fc.integer({ min: 1, max: 3 }), { minKeys: 1 })
  .map((contents) => new Map(Object.entries(contents)));
const which = fc.nat({ max: 1 });

const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('initiate' as const) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('accept' as const), which, products }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('stage' as const), which, batch: fc.nat({ max: 2 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('commit' as const), which }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('apply' as const), products }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      identifiers: fc.array(fc.constantFrom(...IDENTIFIERS), { minLength: 1, maxLength: 5 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('restore' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('restore down' as const),
      depth: fc.integer({ min: 2, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('ontology' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reserve' as const),
      names: fc.array(fc.constantFrom(...NAMES)),
      paths: fc.array(fc.constantFrom(...PATHS)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('refresh' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('late refresh' as const),
      after: fc.constantFrom('apply' as const, 'restore' as const, 'refresh' as const),
      products,
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('collect' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Kind> ? Kind : never;

async function take(world: CatalogWorld, taken: Step): Promise<void> {
  const session =
    'which' in taken ? world.sessions[taken.which % Math.max(world.sessions.length, 1)] : undefined;
  const steps: Record<Step['kind'], () => Promise<unknown> | unknown> = {
    initiate: () => world.initiate(),
    accept: () => session && 'products' in taken && world.accept(session, taken.products),
    stage() {
      const batch = taken.kind === 'stage' ? session?.batches[taken.batch] : undefined;
      return session && batch?.packed && world.stage(session, batch);
    },
    commit: () => session && world.commit(session),
    apply: () => taken.kind === 'apply' && world.apply(taken.products),
    delete: () => taken.kind === 'delete' && world.delete(taken.identifiers),
    restore: () => world.restore(),
    'restore down': () => taken.kind === 'restore down' && world.restoreDown(taken.depth),
    ontology: () => world.changeOntology(),
    reserve: () => taken.kind === 'reserve' && world.reserveIds(taken.names, taken.paths),
    refresh: () => world.refresh(),
    'late refresh': () =>
      taken.kind === 'late refresh' &&
      world.refresh(async () => {
        if (taken.after === 'apply') return world.apply(taken.products);
        if (taken.after === 'restore') return world.restore();
        await world.changeOntology();
        await world.refresh();
      }),
    collect: () => world.collect(),
  };
  await steps[taken.kind]();
}

const of = (contents: Record<string, number>) => new Map(Object.entries(contents));
const initiate: Step = { kind: 'initiate' };
const collect: Step = { kind: 'collect' };
const back: Step = { kind: 'restore' };
const backDown: Step = { kind: 'restore down', depth: 2 };
const refresh: Step = { kind: 'refresh' };
const ontology: Step = { kind: 'ontology' };
const accept = (which: number, contents: Record<string, number>): Step => ({
  kind: 'accept',
  which,
  products: of(contents),
});
const stage = (which: number, batch: number): Step => ({ kind: 'stage', which, batch });
const commitOf = (which: number): Step => ({ kind: 'commit', which });
const apply = (contents: Record<string, number>): Step => ({ kind: 'apply', products: of(contents) });
const drop = (...identifiers: (typeof IDENTIFIERS)[number][]): Step => ({ kind: 'delete', identifiers });
const newFacts: Step[] = [ontology, refresh];
const lateRefresh = (after: 'apply' | 'restore' | 'refresh', contents: Record<string, number>): Step => ({
  kind: 'late refresh',
  after,
  products: of(contents),
});

/** Sequences that random steps rarely produce. */
const RARE: Record<string, Step[]> = {
  'a restore of two commits reverts products that were created, deleted and created again': [
    apply({ a: 1, b: 1, c: 1 }),
    ...[initiate, accept(0, { a: 2, b: 1, d: 1 }), commitOf(0), apply({ c: 2, d: 2 })],
    ...[drop('a', 'd'), apply({ a: 3 }), backDown],
    ...[initiate, accept(0, { a: 1, d: 3 }), commitOf(0), drop('d'), backDown, collect],
  ],
  'a batch is staged after the document of its product was removed': [
    apply({ a: 1 }),
    initiate,
    accept(0, { a: 1 }),
    apply({ a: 2 }),
    collect,
    stage(0, 0),
    commitOf(0),
  ],
  'a batch has a product as unchanged that another commit replaces': [
    ...[
      apply({ a: 1 }),
      initiate,
      accept(0, { a: 2 }),
      initiate,
      accept(1, { a: 1 }),
      stage(1, 0),
      commitOf(0),
      commitOf(0),
    ],
    ...[apply({ a: 3 }), collect, collect, collect, collect, collect, back, back],
  ],
  'a product that is staged as unchanged gets newer facts and then changes': [
    apply({ a: 1 }),
    initiate,
    accept(0, { a: 1 }),
    stage(0, 0),
    ...newFacts,
    apply({ a: 2 }),
    commitOf(0),
  ],
  'an update creates the staged product with older facts': [
    initiate,
    accept(0, { a: 1 }),
    stage(0, 0),
    apply({ a: 1 }),
    ontology,
    commitOf(0),
    back,
  ],
  'a later batch is staged before an earlier one': [
    initiate,
    accept(0, { a: 1, b: 1 }),
    accept(0, { a: 2 }),
    stage(0, 1),
    stage(0, 0),
    commitOf(0),
    collect,
  ],
  'the second of three batches is staged after the others': [
    ...[initiate, accept(0, { a: 1, b: 1 }), accept(0, { a: 2, c: 1 }), accept(0, { a: 3, b: 2 })],
    ...[stage(0, 0), stage(0, 2), stage(0, 1), commitOf(0), collect],
  ],
  'a restore ignores an entry of the undo log that waits for its removal': [
    apply({ a: 1, b: 1 }),
    drop('a'),
    drop('b'),
    back,
    drop('b'),
    back,
  ],
  'a staged product is deleted, and another update creates it again': [
    apply({ a: 1, b: 1 }),
    initiate,
    accept(0, { a: 2, b: 1 }),
    stage(0, 0),
    drop('a', 'b'),
    apply({ a: 3 }),
    commitOf(0),
    collect,
    back,
    back,
  ],
  'a product changes while two full updates have staged it as unchanged': [
    apply({ a: 1, b: 1 }),
    ...[initiate, accept(0, { b: 1, c: 1 }), stage(0, 0)],
    ...[initiate, accept(1, { a: 1, b: 1 }), stage(1, 0)],
    apply({ a: 2, b: 2 }),
    ...[commitOf(0), collect, collect, commitOf(0), apply({ a: 3, d: 1 }), back],
  ],
  'a commit replaces all products, and a restore brings them back': [
    apply({ a: 1, b: 1, d: 1 }),
    ...[initiate, accept(0, { c: 1 }), commitOf(0)],
    ...[initiate, accept(0, { a: 1, b: 2, d: 1 }), commitOf(0), back],
  ],
  'facts follow an ontology that changes twice': [
    apply({ a: 1, b: 1 }),
    ...newFacts,
    ...newFacts,
    ontology,
    apply({ b: 2 }),
    refresh,
  ],
  'facts are extracted after later changes': [
    apply({ a: 1, b: 1 }),
    ...[initiate, accept(0, { a: 2, b: 1, c: 1 }), commitOf(0)],
    ...[ontology, ontology, lateRefresh('refresh', {}), lateRefresh('apply', { a: 1 })],
    ...[ontology, lateRefresh('apply', { b: 2 }), ontology, lateRefresh('restore', {}), refresh],
  ],
};

/** Steps that leave rows in every table. */
const NEIGHBOUR: Step[] = [
  { kind: 'reserve', names: [...NAMES], paths: [...PATHS] },
  apply({ a: 1, b: 2, c: 3, d: 1 }),
  ontology,
  ...[initiate, accept(0, { a: 1, b: 1 }), accept(0, { c: 1 }), commitOf(0)],
  drop('c'),
  apply({ a: 2 }),
  ...[initiate, accept(0, { a: 3, b: 1 }), accept(0, { c: 2, d: 2 }), stage(0, 0), stage(0, 1)],
  ...[initiate, accept(1, { a: 2, d: 3 }), stage(1, 0)],
];

let openCatalog = openEmbeddedCatalog;
/** Another project with the same identifiers and ids. */
let neighbour: CatalogUnderTest;
let untouched: Record<string, unknown[]>;
let lastProject = 0;
let release = async () => {};

before(async () => {
  if (testedStore === 'postgres') await openPostgresStore();
  const world = createWorld(3);
  for (const taken of NEIGHBOUR) await take(world, taken);
  await world.check();
  neighbour = world.catalog;
  untouched = await neighbour.readAll();
});

afterEach(checkNeighbour);
after(() => release());

async function checkNeighbour(): Promise<void> {
  assert.deepEqual(await neighbour.readAll(), untouched, 'nothing of another project changed');
}

async function openPostgresStore(): Promise<void> {
  const store = await makeTestStore();
  const { postgres, close } = await store.open();
  release = async () => {
    await close();
    await store.remove();
  };
  assert.ok(postgres !== undefined);
  openCatalog = (projectId) => openPostgresCatalog(postgres, projectId);
}

function createWorld(undoDepth: number): CatalogWorld {
  lastProject += 1;
  return new CatalogWorld(openCatalog(lastProject), undoDepth);
}

async function play(undoDepth: number, steps: readonly Step[]): Promise<void> {
  const world = createWorld(undoDepth);
  for (const taken of steps) {
    await take(world, taken);
    await world.check();
  }
  await world.finish();
  await checkNeighbour();
}

for (const [name, steps] of Object.entries(RARE)) {
  test(name, async () => {
    for (const undoDepth of [0, 1, 3]) await play(undoDepth, steps);
  });
}

/** A step takes 1 ms in memory and 20 ms over a connection. */
const RUNS = testedStore === 'embedded' ? 40 : 10;

for (const undoDepth of [0, 1, 3]) {
  test(`a catalog equals the model after any sequence of changes, with an undo depth of ${undoDepth}`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => play(undoDepth, steps)),
      { numRuns: Number(process.env.RELATA_TEST_RUNS ?? RUNS) },
    );
  });
}

test('thousands of products are changed, discarded and removed part by part', async () => {
  const many = (content: number, count = 2_200) =>
    of(Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, content])));
  const world = createWorld(1);
  await world.apply(many(1));
  for (const sent of [many(2), many(3, 2_100)]) {
    world.initiate();
    const [session] = world.sessions;
    assert.ok(session !== undefined);
    await world.accept(session, sent);
    await world.commit(session);
  }
  world.initiate();
  for (const session of world.sessions) {
    await world.accept(session, many(4, 2_300));
    for (const batch of session.batches) await world.stage(session, batch);
  }
  await world.delete([...many(1, 10).keys()]);
  world.sessions = [];
  await world.collect();
  await world.check();
  await world.restore();
  await world.finish();
});

test('an update is extracted again if a product that it found unchanged has changed', async () => {
  const world = createWorld(1);
  const { store, projectId } = world.catalog;
  await world.apply(of({ a: 1, b: 1 }));
  const packed = await world.extract(of({ a: 1, c: 1 }));
  await world.delete(['b']);
  const { revision } = await store.getOntology(projectId);
  const update = () =>
    store.applyProducts(projectId, { ...world.nextOrder(), revision, derivationRevision: 0, packed });
  await world.delete(['a']);
  assert.deepEqual(await update(), { stale: true }, 'the product is gone');
  await world.restore();
  assert.deepEqual(await update(), { created: 1, changed: 0, unchanged: 1, deleted: 0 }, 'it is back');
});

test('a commit that creates an attribute changes products with equal uploads that gain facts', async () => {
  const world = createWorld(1);
  const { store, projectId } = world.catalog;
  await world.apply(of({ a: 1, b: 1, c: 1 }));
  const before = await world.catalog.rows('product');
  const ids = await store.reserveIds(projectId, { names: ['x'], paths: [] });
  const [revision, fullUpdateId] = [1, 1];
  const observed = JSON.stringify([['x', { unit: null, isBoolean: false }]]);
  const stage = async (batch: number, sent: Record<string, number>, gains: boolean) => {
    const packed = await world.extract(of(sent), gains);
    const described = { observed, extractedBy: EXTRACTED_BY, report: '' };
    await store.stageBatch(projectId, { fullUpdateId, batch, packed, derivationRevision: 0, ...described });
  };
  const readChanged = async () =>
    (await store.compareStaged(projectId, { fullUpdateId, withIdentifiers: true })).changed.identifiers;
  await stage(1, { a: 1, e: 1 }, false);
  await stage(2, { b: 1 }, true);
  assert.deepEqual(await readChanged(), ['b'], 'an equal upload that gains facts');
  const review = (batch: number, ...products: string[]) => {
    const gaining = before.filter(({ identifier }) => products.includes(identifier)).map(({ id }) => id);
    return store.reviewBatch(projectId, {
      fullUpdateId,
      batch,
      extractedBy: EXTRACTED_BY,
      report: '',
      gaining,
    });
  };
  await review(2);
  assert.deepEqual(await readChanged(), [], 'by another ontology it gains none');
  await review(2, 'b');
  assert.deepEqual(await readChanged(), ['b'], 'by the next one it gains some again');
  await stage(3, { d: 1 }, true);
  const attribute = { id: ids.get('x') ?? 0, name: 'x', type: 'TEXT_ATTRIBUTE' as const };
  const task = world.nextOrder();
  const result = await store.commit(projectId, {
    ...task,
    fullUpdateId,
    batches: 3,
    revision,
    mode: 'automatic',
    newAttributes: Buffer.from(JSON.stringify([attribute])),
    maxDeletePercent: 100,
    undoDepth: 1,
  });
  assert.deepEqual(result, { kind: 'done', counts: { created: 2, changed: 1, unchanged: 1, deleted: 1 } });
  assert.deepEqual((await store.getOntology(projectId)).attributes, [attribute]);
  const after = await world.catalog.rows('product');
  const rowOf = (rows: typeof after, identifier: string) => rows.find((row) => row.identifier === identifier);
  assert.deepEqual(rowOf(after, 'a'), rowOf(before, 'a'));
  const changed = { updated_at: task.at, updated_by: task.taskNumber };
  assert.deepEqual(rowOf(after, 'b'), { ...rowOf(before, 'b'), ...changed }, 'its document stays');
  for (const identifier of ['a', 'b']) {
    const product = await store.findProduct(projectId, identifier);
    assert.equal(
      JSON.parse(`{${product && writeAnswer(product)}}`).facts[0].value,
      'x 1',
      'both have the new fact',
    );
  }
  await store.restore(projectId, world.nextOrder());
  assert.deepEqual(rowOf(await world.catalog.rows('product'), 'b'), rowOf(before, 'b'));
});

test('an attribute has the same id when it is created again with its name, and when it is renamed', async () => {
  const { store, projectId } = createWorld(1).catalog;
  const type = 'TEXT_ATTRIBUTE' as const;
  const replace = async (...attributes: { id?: number; name: string }[]) => {
    const requested = {
      mode: 'own' as const,
      attributes: attributes.map((attribute) => ({ ...attribute, type })),
    };
    const { ontology } = await store.replaceOntology(projectId, requested);
    assert.deepEqual(await store.getOntology(projectId), ontology);
    return ontology.attributes.map(({ id, name }) => [name, id]);
  };
  assert.deepEqual(await replace({ name: 'x' }, { name: 'y' }), [
    ['x', 1],
    ['y', 2],
  ]);
  assert.deepEqual(await replace({ name: 'y' }), [['y', 2]], 'x is gone');
  assert.deepEqual(
    await replace({ name: 'x' }, { name: 'y' }),
    [
      ['x', 1],
      ['y', 2],
    ],
    'x is back',
  );
  assert.deepEqual(
    await replace({ id: 1, name: 'z' }, { name: 'y' }),
    [
      ['z', 1],
      ['y', 2],
    ],
    'x is z now',
  );
  const names = ['x', 'y', 'z', 'x'];
  const ids = await store.reserveIds(projectId, { names, paths: ['["p"]', '["p"]'] });
  assert.deepEqual([...ids].sort(), [
    ['x', 3],
    ['y', 2],
    ['z', 1],
  ]);
  assert.deepEqual(await store.reserveIds(projectId, { names, paths: ['["p"]'] }), ids);
});

test('the store finds no product for an impossible identifier', async () => {
  const world = createWorld(1);
  const { store, projectId } = world.catalog;
  await world.apply(of({ a: 1, '\ufffd': 1 }));
  const impossible = ['a\0', '\0', '\ud800'];
  for (const identifier of impossible.slice(0, 2))
    assert.equal(await store.findProduct(projectId, identifier), undefined);
  assert.equal((await store.findProduct(projectId, 'a'))?.identifier, 'a');
  assert.equal(await store.hasAny(projectId, impossible), false);
  assert.equal(await store.hasAny(projectId, [...impossible, 'a']), true);
  const frame = { head: new Uint8Array(), tail: new Uint8Array() };
  const order = { projectId, identifiers: [...impossible, 'a'], frame };
  assert.equal((await store.findAnswers(order))?.count, 1);
  assert.equal((await store.makeAnswers(order, new AbortController().signal)).count, 1);
  const { deleted } = await store.deleteProducts(projectId, {
    ...world.nextOrder(),
    lists: [Buffer.from(JSON.stringify([...impossible, 'a']))],
    undoDepth: 0,
  });
  assert.equal(deleted, 1);
});
