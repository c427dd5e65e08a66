// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { snapshotsOfFiles, snapshotsOfRows } from '../../src/app/stores.ts';
import { ServiceError } from '../../src/kernel/errors.ts';
import type { SearchQuestion } from '../../src/search/hits/hits.ts';
import { countEntries, countHits } from '../../src/search/index-store/index-reads-store.ts';
import { searchOperations } from '../../src/search/search.ts';
import { type Program, performOn } from '../../src/storage/programs/programs.ts';
import { CatalogFiles } from '../../src/storage/sqlite/sqlite.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { Budget, type StopFlag } from '../../src/storage/threads/threads.ts';
import { createCatalog, shareService } from '../support/shared-service.ts';

const service = shareService();

const PRODUCTS = 300;
const RARE = 40;

test('a search on PostgreSQL reads only the index rows of its hits, however large the project is (§14.3)', async (t) => {
  const catalog = await createCatalog(service());
  const text = (index: number) =>
    Array.from({ length: 80 }, (_, word) => `v${(7 * index + word) % 500}`).join(' ');
  const named = Array.from({ length: 2_000 }, (_, index) => ({
    identifier: `P${index}`,
    name: `Drill w${index}`,
    attributes: [{ key: 'Text', value: text(index) }],
  }));
  await catalog.load(...named);
  assert.equal((await catalog.call('GET', '/search/products?q=w1234')).body.total, 1);
  const { postgres, close } = await service().store.open();
  t.after(close);
  if (postgres === undefined) return t.skip('files have an index of their own');
  const tier = { all: [['aw1234']], except: [] };
  await postgres.snapshot(async (session) => {
    const ask = <Result>(program: Program<Result>) => performOn(session, catalog.projectId, program);
    assert.equal(await ask(countEntries(tier)), 1);
    const count = await ask(countHits({ tier, newer: undefined, limit: 10_001 }));
    const [read] = await session.rows<{ rows: number }>(
      `select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname = 'search_entry'`,
    );
    assert.deepEqual([count, (read?.rows ?? 0) < 20], [1, true], `${read?.rows} rows read`);
  });
});

/** A catalog with searches whose clock advances by one at each reading, which is once per product. */
async function openCatalog(t: TestContext) {
  const run = await openOperations(t, PRODUCTS);
  return (longestMs: number, question: Partial<SearchQuestion>) =>
    run<FoundPage>('searchProducts', longestMs, { question: { limit: 20, ...question } });
}

/** @returns a function that calls an operation of the search threads */
async function openOperations(t: TestContext, products: number, words: readonly string[] = []) {
  const catalog = await createCatalog(service());
  const listed = Array.from({ length: products }, (_, index) => ({
    identifier: `P${String(index).padStart(4, '0')}`,
    name: 'Drill',
    categories: [{ path: ['All', `C${String(index).padStart(4, '0')}`] }],
    attributes: [
      { key: 'Weight', value: String(index + 1) },
      { key: 'Stock', value: String(index % RARE) },
    ],
  }));
  const named = words.map((word, index) => ({ identifier: `W${index}`, name: word }));
  await catalog.load(...listed, ...named);
  assert.equal(
    (await catalog.call('GET', '/search/products?q=drill')).body.total,
    products + words.length,
    'it has an index',
  );
  const storage = await service().store.open();
  t.after(storage.close);
  const snapshots = openSnapshots(storage);
  return async <Answer>(
    operation: string,
    longestMs: number,
    {
      stop,
      budget = Budget.unlimited(stop),
      ...order
    }: {
      readonly question: object;
      readonly form?: 'table';
      readonly stop?: StopFlag;
      readonly budget?: Budget;
    },
  ) => {
    let now = 0;
    const limits = { longestMs, now: () => (now += 1) };
    const run = searchOperations(snapshots, limits)[operation];
    const input = { projectId: catalog.projectId, allowIncomplete: 'never', ...order };
    // Only the operation knows its input, because the call crosses threads.
    const { answer } = ((await run?.(input as never, budget)) ?? {}) as {
      answer: Answer | Uint8Array;
    };
    return answer instanceof Uint8Array ? (JSON.parse(Buffer.from(answer).toString()) as Answer) : answer;
  };
}

function openSnapshots({ place, postgres }: Storage) {
  if (place.kind === 'embedded') return snapshotsOfFiles(new CatalogFiles(place.catalogs), place);
  assert.ok(postgres);
  return snapshotsOfRows(postgres);
}

interface FoundPage {
  readonly items: readonly { identifier: string }[];
  readonly total: number;
  readonly isTotalExact: boolean;
  readonly nextCursor: string | null;
}

const isTooLong = (seconds: number) => (error: unknown) =>
  error instanceof ServiceError && error.code === 'search_too_long' && error.facts.values?.[0] === seconds;

test('every page except the last has as many hits as its limit, however long the count takes (§4.13 rule 9)', async (t) => {
  const search = await openCatalog(t);
  const sizes: number[] = [];
  const identifiers: string[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page: FoundPage = await search(50, { filter: 'Weight > 0', ...(cursor && { cursor }) });
    sizes.push(page.items.length);
    identifiers.push(...page.items.map(({ identifier }) => identifier));
    assert.ok(!page.isTotalExact && page.total < PRODUCTS, 'the count had no time for all products');
    cursor = page.nextCursor;
  }
  assert.deepEqual(
    sizes,
    Array.from({ length: PRODUCTS / 20 }, () => 20),
  );
  assert.equal(new Set(identifiers).size, PRODUCTS);
});

test('a page continues where the count ended, and is refused if its time ends before it is full (§4.13 rule 9)', async (t) => {
  const search = await openCatalog(t);
  const rare = { filter: 'Stock > 0 and Stock < 2' };
  const first = await search(50, { ...rare, limit: 1 });
  assert.deepEqual(
    first.items.map(({ identifier }) => identifier),
    ['P0001'],
  );
  const second = await search(50, { ...rare, limit: 1, cursor: String(first.nextCursor) });
  assert.deepEqual(
    second.items.map(({ identifier }) => identifier),
    ['P0041'],
  );
  const three = await search(70, { ...rare, limit: 3 });
  assert.deepEqual(
    [three.items.length, three.total],
    [3, 2],
    'two pages in the time of the count, one in its own time',
  );
  await assert.rejects(search(50, { ...rare, limit: 20 }), isTooLong(0.05));
  const whole = await search(1_000, { ...rare, limit: 20 });
  assert.deepEqual([whole.items.length, whole.nextCursor, whole.isTotalExact], [8, null, true]);
});

test('a sorted search that exceeds its time is refused, whatever the number of its hits (§4.13 rule 6)', async (t) => {
  const search = await openCatalog(t);
  await assert.rejects(search(50, { sort: 'Weight:desc' }), isTooLong(0.05));
  const { items } = await search(1_000, { sort: 'Weight:desc', limit: 2 });
  assert.deepEqual(
    items.map(({ identifier }) => identifier),
    ['P0299', 'P0298'],
  );
});

interface ListedPage {
  readonly items: readonly string[];
  readonly nextCursor: string | null;
}

test('a page of a list ends when its time is used up, and the next page continues there (§14.3 rule 7)', async (t) => {
  const run = await openOperations(t, PRODUCTS);
  const identifiers: string[] = [];
  let pages = 0;
  for (let cursor: string | null | undefined; cursor !== null; pages += 1) {
    const question = { limit: 100, filter: 'Stock > 0 and Stock < 2', ...(cursor && { cursor }) };
    const page: ListedPage = await run('listFound', 50, { question, form: 'table' });
    identifiers.push(...page.items.map((item) => JSON.parse(item).identifier));
    cursor = page.nextCursor;
  }
  assert.deepEqual(
    identifiers,
    Array.from({ length: 8 }, (_, index) => `P${String(index * RARE + 1).padStart(4, '0')}`),
  );
  assert.equal(pages, 6, 'each compares 50 of 300 products');
});

test('a page of categories ends when its time is used up, and the next page continues there (§14.3 rule 13)', async (t) => {
  const run = await openOperations(t, PRODUCTS);
  const paths: string[] = [];
  let pages = 0;
  for (let cursor: string | null | undefined; cursor !== null; pages += 1) {
    const question = { limit: 1_000, ...(cursor && { cursor }) };
    const page = await run<{ items: { path: string[] }[]; nextCursor: string | null }>('listCategories', 1, {
      question,
    });
    paths.push(...page.items.map(({ path }) => path.join('/')));
    cursor = page.nextCursor;
  }
  assert.deepEqual(paths, [
    'All',
    ...Array.from({ length: PRODUCTS }, (_, index) => `All/C${String(index).padStart(4, '0')}`),
  ]);
  assert.ok(pages >= 7, `${pages} pages`);
});

test('comparing words has a time limit, and an answer that misses some words is marked incomplete (§4.13 rule 4)', async (t) => {
  const words = Array.from({ length: 52 }, (_, index) => `drillmachin${letters(index)}`);
  const run = await openOperations(t, PRODUCTS, words);
  const budget = Budget.unlimited();
  const search = (longestMs: number, q: string) =>
    run<FoundPage & { isComplete: boolean }>('searchProducts', longestMs, {
      question: { q, limit: 20 },
      budget,
    });
  // Its 16 words are similar to most words of the catalog.
  const misspelt = Array.from({ length: 16 }, (_, index) => `drillmachni${letters(index)}`).join(' ');
  const before = budget.steps;
  const cut = await search(100, misspelt);
  assert.deepEqual([cut.isComplete, cut.isTotalExact], [false, false]);
  assert.ok(budget.steps - before < 1_000, `${budget.steps - before} steps`);
  const whole = await search(1_000, misspelt);
  assert.equal(whole.isComplete, true);
  const exact = await search(100, 'drill');
  assert.equal(exact.isComplete, true, 'few words are similar to this one');
});

/** @returns two letters */
const letters = (index: number) => String.fromCharCode(97 + (Math.floor(index / 26) % 26), 97 + (index % 26));

test('a list stops when its caller disconnects (§14.3 rule 7)', async (t) => {
  const run = await openOperations(t, PRODUCTS);
  const stop = new Int32Array(new SharedArrayBuffer(4));
  Atomics.store(stop, 0, 1);
  const question = { limit: 100, q: 'drill' };
  await assert.rejects(
    run('listFound', 1_000, { question, form: 'table', stop }),
    (error) => error instanceof ServiceError && error.code === 'not_ready',
  );
});
