// runs: postgres deep
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CatalogUnderTest,
  listAll,
  openPostgresCatalog,
} from '../../../../test/support/catalogs/catalog-under-test.ts';
import {
  CatalogWorld,
  describeAnswer,
  EXTRACTED_BY,
  rawOf,
  type Session,
} from '../../../../test/support/catalogs/catalog-world.ts';
import { makeTestStore, testedStore } from '../../../../test/support/test-store.ts';
import { openPostgres, type Postgres } from '../../../storage/postgres/postgres.ts';
import { Budget } from '../../../storage/threads/threads.ts';
import type { CommitOrder } from '../../port.ts';

/** Several processes on one catalog, each with its own connections and memory. */

const options = {
  skip: testedStore !== 'postgres' && 'only for PostgreSQL: the embedded store has one process',
};
const PROCESSES = 2;
/** Repetitions of tests whose outcome depends on the order of processes. */
const ROUNDS = 10;

let processes: Postgres[] = [];
let lastProject = 0;
let release = async () => {};

before(async () => {
  if (options.skip !== false) return;
  const store = await makeTestStore();
  const storage = await store.open();
  const { place } = storage;
  assert.ok(place.kind === 'postgres');
  processes = Array.from({ length: PROCESSES }, () => openPostgres({ ...place, connections: 4 }));
  release = async () => {
    for (const postgres of processes) await postgres.close();
    await storage.close();
    await store.remove();
  };
});

after(() => release());

/** A catalog as each process sees it, with a model for the first process. */
interface SharedCatalog {
  readonly world: CatalogWorld;
  readonly projectId: number;
  readonly all: readonly [CatalogUnderTest, CatalogUnderTest];
  /** The catalog as the first process sees it, except that each change pauses at its end. */
  openPaused(): { catalog: CatalogUnderTest; reached: Promise<void>; resume(): void };
}

function createCatalog(): SharedCatalog {
  lastProject += 1;
  const projectId = lastProject;
  const derived = new Map<number, number>();
  const [first, second] = processes.map((postgres) => openPostgresCatalog(postgres, projectId, derived));
  assert.ok(first !== undefined && second !== undefined);
  return {
    projectId,
    all: [first, second],
    world: new CatalogWorld(first, 1),
    openPaused() {
      const { postgres, reached, resume } = pauseAtEnd(processes[0] as Postgres);
      return { catalog: openPostgresCatalog(postgres, projectId, derived), reached, resume };
    },
  };
}

/** Executes all statements of a transaction, but commits only after `resume`. */
function pauseAtEnd(postgres: Postgres) {
  const end = Promise.withResolvers<void>();
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const paused: Postgres = {
    ...postgres,
    transaction: (work) =>
      postgres.transaction(async (tx) => {
        const result = await work(tx);
        reach();
        await end.promise;
        return result;
      }),
  };
  return { postgres: paused, reached, resume: () => end.resolve() };
}

async function stageBatch(
  world: CatalogWorld,
  { store, projectId }: CatalogUnderTest,
  { sent, ...key }: { fullUpdateId: number; batch: number; sent: ReadonlyMap<string, number> },
): Promise<boolean> {
  const staged = { packed: await world.extract(sent), derivationRevision: 0, report: '' };
  return store.stageBatch(projectId, { ...key, ...staged, observed: '[]', extractedBy: EXTRACTED_BY });
}

/** Waits until this many transactions wait for another one. */
async function waitForWaiting(count: number): Promise<void> {
  const [postgres] = processes;
  for (let tries = 0; tries < 1_000; tries += 1) {
    const rows = await postgres?.rows(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (rows?.length === count) return;
    await delay(10);
  }
  assert.fail(`${count} should wait`);
}

const of = (contents: Record<string, number>) => new Map(Object.entries(contents));
const FRAME = { head: Buffer.from('['), tail: Buffer.from(']') };

/** Reads everything that a process answers about the catalog. */
async function look({ store, projectId, snapshots }: CatalogUnderTest) {
  const identifiers = ['a', 'b', 'c', 'd'];
  const answers = await store.findAnswers({ projectId, identifiers, frame: FRAME });
  assert.ok(answers !== undefined);
  const lookup = Buffer.from(answers.bytes).toString();
  answers.release();
  return {
    lookup,
    products: await listAll(store, projectId),
    count: await store.countProducts(projectId),
    ontology: await store.getOntology(projectId),
    hasC: await store.hasAny(projectId, ['c']),
    commits: (await store.listUndoableCommits(projectId)).length,
    present: await snapshots.read(projectId, Budget.unlimited(), (snapshot) =>
      snapshot.findPresent(identifiers),
    ),
  };
}

const readContents = async ({ store, projectId }: CatalogUnderTest) =>
  (await listAll(store, projectId)).map(({ text }) => text);
const rawsOf = (contents: Record<string, number>) =>
  Object.entries(contents).map(([identifier, content]) => rawOf(identifier, content));

/** Checks that ids are unique, and that each document is needed. */
async function checkSound({ store, projectId, rows, derived }: CatalogUnderTest): Promise<void> {
  for (let steps = 0; await store.collectGarbage(projectId, { live: [], undoDepth: 1 }); steps += 1)
    assert.ok(steps < 100);
  const products = await rows('product');
  const undone = (await rows('undo_change')).flatMap((row) => row.document_before ?? []);
  const documents = (await rows('document')).map(({ id }) => id).sort((a, b) => a - b);
  const needed = [...products.map((row) => row.document_id), ...undone].sort((a, b) => a - b);
  assert.deepEqual(documents, needed, 'each document has one owner, and no other is left');
  assert.deepEqual(
    [...derived.keys()].sort((a, b) => a - b),
    documents,
  );
  assert.equal(new Set(products.map(({ id }) => id)).size, products.length);
}

/** Opens a full update with one staged batch. @returns the full update, with the order of its commit */
async function prepareCommit(
  world: CatalogWorld,
  sent: Record<string, number>,
): Promise<{ session: Session; order: CommitOrder }> {
  world.initiate();
  const session = world.sessions.at(-1) as Session;
  await world.accept(session, of(sent));
  for (const batch of session.batches) await world.stage(session, batch);
  return {
    session,
    order: {
      fullUpdateId: session.fullUpdateId,
      batches: 1,
      mode: 'automatic' as const,
      revision: 1,
      newAttributes: Buffer.from('[]'),
      maxDeletePercent: 100,
      undoDepth: 1,
    },
  };
}

/** Counts the uploads read by each statement of a lookup. */
function countUploads(postgres: Postgres) {
  const counts: number[] = [];
  const counted: Postgres = {
    ...postgres,
    async rows<Row>(...statement: Parameters<Postgres['rows']>) {
      const rows = await postgres.rows<Row>(...statement);
      const withUpload = rows as { readonly raw?: string | null }[];
      if (withUpload[0]?.raw !== undefined) counts.push(withUpload.filter(({ raw }) => raw !== null).length);
      return rows;
    },
  };
  return { postgres: counted, take: () => counts.splice(0) };
}

test('a lookup reads only the uploads of products that changed (§4.2)', options, async () => {
  const { world, projectId, all } = createCatalog();
  const uploads = countUploads(processes[0] as Postgres);
  const counted = openPostgresCatalog(uploads.postgres, projectId);
  const readOf = async () => {
    const { lookup } = await look(counted);
    assert.equal(lookup, (await look(all[1])).lookup);
    return uploads.take();
  };
  await world.apply(of({ a: 1, b: 1, c: 1, d: 1 }));
  assert.deepEqual(await readOf(), [4]);
  assert.deepEqual(await readOf(), [], 'all are in memory');
  await world.apply(of({ b: 2 }));
  assert.deepEqual(await readOf(), [1]);
  assert.deepEqual(await readOf(), []);
  await world.delete(['c']);
  assert.deepEqual(await readOf(), [0]);
  await world.restore();
  assert.deepEqual(await readOf(), [0], 'what was restored is as it was answered');
  await world.changeOntology();
  const again = await readOf();
  assert.equal(again.at(-1), 4, 'answers of another ontology');
});

test('readers see the old state until a commit is done', options, async () => {
  const { world, all, projectId, openPaused } = createCatalog();
  await world.apply(of({ a: 1, b: 1 }));
  const { order } = await prepareCommit(world, { a: 2, c: 1 });
  const before = await Promise.all(all.map(look));
  assert.deepEqual(before[0], before[1]);
  const { catalog, reached, resume } = openPaused();
  const attribute = { id: 1, name: 'new', type: 'TEXT_ATTRIBUTE' as const };
  const commit = catalog.store.commit(projectId, {
    ...world.nextOrder(),
    ...order,
    newAttributes: Buffer.from(JSON.stringify([attribute])),
  });
  await reached;
  assert.deepEqual(await Promise.all(all.map(look)), before);
  await all[1].snapshots.read(projectId, Budget.unlimited(), async (snapshot) => {
    const early = await snapshot.findPresent(['a']);
    resume();
    assert.equal((await commit).kind, 'done');
    const late = await snapshot.findPresent(['a', 'c']);
    assert.deepEqual(late, [...early, undefined], 'a snapshot stays what it is');
    assert.deepEqual((await snapshot.readOntology()).attributes, []);
  });
  for (const state of await Promise.all(all.map(look))) {
    assert.deepEqual(
      state.products.map(({ text }) => text),
      rawsOf({ a: 2, c: 1 }),
    );
    const answers = state.products.map(
      ({ id, text, updatedAt }) =>
        `{"id":${id},${describeAnswer(text, state.ontology)},"lastUpdateTs":${updatedAt}}`,
    );
    assert.equal(state.lookup, `[${answers.join()}]`, 'nothing of before is kept in memory');
    assert.equal(state.ontology.attributes.length, 1);
    assert.deepEqual([state.hasC, state.commits, state.count], [true, 1, 2]);
  }
});

test('a change waits for a commit in progress and applies to its result', options, async () => {
  const { world, all, projectId, openPaused } = createCatalog();
  await world.apply(of({ a: 1, b: 1 }));
  const { order } = await prepareCommit(world, { a: 2, c: 1, e: 1 });
  const [first, second] = [world.nextOrder(), world.nextOrder()];
  const packed = await world.extract(of({ a: 3, d: 1 }));
  const { catalog, reached, resume } = openPaused();
  const commit = catalog.store.commit(projectId, { ...first, ...order });
  await reached;
  const change = { ...second, revision: 1, derivationRevision: 0, packed };
  const apply = all[1].store.applyProducts(projectId, change);
  await waitForWaiting(1);
  resume();
  assert.equal((await commit).kind, 'done');
  assert.deepEqual(await apply, { created: 1, changed: 1, unchanged: 0, deleted: 0 });
  assert.deepEqual(await readContents(all[0]), rawsOf({ a: 3, c: 1, d: 1, e: 1 }));
  await checkSound(all[1]);
});

test('a commit waits for a change in progress and replaces its result', options, async () => {
  const { world, all, projectId, openPaused } = createCatalog();
  await world.apply(of({ a: 1, b: 1 }));
  const { order, session } = await prepareCommit(world, { a: 1, c: 1, d: 2 });
  const [first, second, third] = [world.nextOrder(), world.nextOrder(), world.nextOrder()];
  const packed = await world.extract(of({ a: 3, c: 2, d: 2 }));
  const { catalog, reached, resume } = openPaused();
  const change = { ...first, revision: 1, derivationRevision: 0, packed };
  const apply = catalog.store.applyProducts(projectId, change);
  await reached;
  const commit = all[1].store.commit(projectId, { ...second, ...order });
  await waitForWaiting(1);
  resume();
  assert.deepEqual(await apply, { created: 2, changed: 1, unchanged: 0, deleted: 0 });
  assert.deepEqual(await commit, { kind: 'stale' }, 'what it found unchanged is another by now');
  for (const batch of session.batches) await world.stage(session, batch);
  const counts = { created: 0, changed: 2, unchanged: 1, deleted: 1 };
  assert.deepEqual(await all[1].store.commit(projectId, { ...third, ...order }), { kind: 'done', counts });
  assert.deepEqual(await readContents(all[0]), rawsOf({ a: 1, c: 1, d: 2 }));
  await checkSound(all[0]);
});

test('a task that two processes run is done once, and both return its result', options, async () => {
  const { world, all, projectId, openPaused } = createCatalog();
  await world.apply(of({ a: 1, b: 1 }));
  const { order } = await prepareCommit(world, { a: 2, c: 1 });
  const { catalog, reached, resume } = openPaused();
  const task = { ...world.nextOrder(), ...order };
  const both = [catalog.store.commit(projectId, task)];
  await reached;
  both.push(all[1].store.commit(projectId, task));
  await waitForWaiting(1);
  resume();
  const [result, again] = await Promise.all(both);
  assert.equal(result?.kind, 'done');
  assert.deepEqual(again, result);
  assert.equal((await all[0].rows('undo_log')).length, 1);
  await checkSound(all[0]);
});

test(
  'each batch is staged once if several processes stage it, and the last batch wins',
  options,
  async () => {
    const { world, all } = createCatalog();
    await world.apply(of({ a: 1 }));
    for (let round = 1; round <= ROUNDS; round += 1) {
      const batches = [of({ a: 1, b: round, c: round }), of({ b: round + 1, d: round })];
      const stage = (catalog: CatalogUnderTest, batch: number) =>
        stageBatch(world, catalog, { fullUpdateId: round, batch, sent: batches[batch - 1] ?? new Map() });
      const [first, second] =
        round % 2 === 0 ? all : (all.toReversed() as [CatalogUnderTest, CatalogUnderTest]);
      const results = await Promise.all([
        stage(first, 1),
        stage(second, 2),
        stage(second, 1),
        stage(first, 2),
      ]);
      assert.deepEqual(results, [true, true, true, true]);
      const rows = (await first.rows('staged_batch')).filter((row) => row.full_update_id === round);
      assert.deepEqual(rows.map(({ batch }) => batch).sort(), [1, 2]);
      const { created } = await first.store.compareStaged(first.projectId, {
        fullUpdateId: round,
        withIdentifiers: true,
      });
      assert.deepEqual(created, { count: 3, identifiers: ['b', 'c', 'd'] });
    }
    await checkSound(all[0]);
  },
);

test('all processes read the same id of a name, also in a new catalog', options, async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const { all, projectId, world } = createCatalog();
    const reserved = [
      { names: ['a', 'b', 'c'], paths: ['["p"]', '["q"]'] },
      { names: ['d', 'c', 'b'], paths: ['["q"]', '["r"]'] },
    ] as const;
    const [first, second] = await Promise.all(
      all.map(({ store }, index) => store.reserveIds(projectId, reserved[index] ?? reserved[0])),
    );
    const ids = new Map([...(first ?? []), ...(second ?? [])]);
    for (const map of [first, second]) for (const [name, id] of map ?? []) assert.equal(id, ids.get(name));
    assert.deepEqual([...ids.values()].sort(), [1, 2, 3, 4]);
    await world.reserveIds([...ids.keys()], ['["p"]', '["q"]', '["r"]'].slice(0, 1));
    const paths = ['["p"]', '["q"]', '["r"]'];
    const idByPath = await all[0].snapshots.read(projectId, Budget.unlimited(), (snapshot) =>
      snapshot.findCategories(paths),
    );
    assert.deepEqual([...idByPath.values()].sort(), [1_000_000_001, 1_000_000_002, 1_000_000_003]);
  }
});

test('the collection of garbage keeps batches that a full update stages while it runs', options, async () => {
  const { world, all, projectId } = createCatalog();
  await world.apply(of({ a: 1, b: 1 }));
  const postgres = processes[0] as Postgres;
  const [opened] = await postgres.rows<{ id: number }>(
    `insert into full_update (project_id, id, origin, state, created_at)
     overriding system value values ($1, 1, 'LIVE-API', 'open', 0) returning id`,
    [projectId],
  );
  const { order, session } = await prepareCommit(world, { a: 1, b: 2 });
  assert.equal(session.fullUpdateId, opened?.id);
  await world.apply(of({ a: 2 }));
  const collect = () => all[1].store.collectGarbage(projectId, { live: [], undoDepth: 1 });
  while (await collect());
  await world.check();
  const commit = () => all[1].store.commit(projectId, { ...world.nextOrder(), ...order });
  assert.deepEqual(await commit(), { kind: 'stale' }, 'a is another by now');
  for (const batch of session.batches) await world.stage(session, batch);
  while (await collect());
  await world.check();
  assert.equal((await commit()).kind, 'done');
  assert.deepEqual(await readContents(all[0]), rawsOf({ a: 1, b: 2 }));
  await postgres.run("update full_update set state = 'committed' where project_id = $1", [projectId]);
  await checkSound(all[0]);
  assert.deepEqual(await all[0].rows('staged_batch'), []);
});

test('the removal of a catalog that is being changed leaves no rows', options, async () => {
  const { world, all, projectId, openPaused } = createCatalog();
  await world.apply(of({ a: 1, b: 1 }));
  const packed = await world.extract(of({ a: 2, c: 1 }));
  const { catalog, reached, resume } = openPaused();
  const change = { ...world.nextOrder(), revision: 1, derivationRevision: 0, packed };
  const apply = catalog.store.applyProducts(projectId, change);
  await reached;
  const removal = all[1].store.removeCatalog(projectId);
  await waitForWaiting(1);
  resume();
  await Promise.all([apply, removal]);
  assert.deepEqual(Object.values(await all[0].readAll()).flat(), []);
});

test('concurrent work of several processes leaves a consistent catalog', options, async () => {
  const { world, all, projectId } = createCatalog();
  const [first, second] = all;
  await world.apply(of({ a: 1, b: 1 }));
  for (let round = 1; round <= ROUNDS; round += 1) {
    const live = [round];
    const stage = (catalog: CatalogUnderTest, batch: number, sent: Record<string, number>) =>
      stageBatch(world, catalog, { fullUpdateId: round, batch, sent: of(sent) });
    const change = { ...world.nextOrder(), revision: 1, derivationRevision: 0 };
    const packed = await world.extract(of({ a: round + 1, [`n${round}`]: 1 }));
    await Promise.all([
      stage(first, 1, { b: round, x: round }),
      stage(second, 2, { b: round + 1, y: round }),
      first.store.applyProducts(projectId, { ...change, packed }),
      second.store.collectGarbage(projectId, { live, undoDepth: 1 }),
      first.store.reserveIds(projectId, { names: [`n${round}`], paths: [] }),
      second.store.reserveIds(projectId, { names: [`n${round}`, `m${round}`], paths: [] }),
    ]);
    const order = { fullUpdateId: round, batches: 2, mode: 'automatic', revision: 1 } as const;
    const result = await second.store.commit(projectId, {
      ...world.nextOrder(),
      ...order,
      newAttributes: Buffer.from('[]'),
      maxDeletePercent: 100,
      undoDepth: 1,
    });
    assert.equal(result.kind, 'done');
    assert.deepEqual(await readContents(first), rawsOf({ b: round + 1, x: round, y: round }));
  }
  await checkSound(first);
  const ids = await first.store.reserveIds(projectId, { names: ['n1', 'm1', 'n10', 'm10'], paths: [] });
  assert.equal(new Set(ids.values()).size, 4);
});
