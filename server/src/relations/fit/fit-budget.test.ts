// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attribute } from '../../catalog/ontology/ontology.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { Budget, type StopFlag } from '../../storage/threads/threads.ts';
import type { Relation } from '../relation-definitions/relation-definitions.ts';
import { ColumnCache } from '../surveys/surveys.ts';
import { answerFit, ConstraintCache, type FitCatalog, NegativeValues } from './fit.ts';

/** The budget of a question about fit. The tests send small requests and count the steps of judging them. */

const ITEMS = 100;
const names = ['Size', 'Reach', 'Note'];
const attributes = names.map(
  (name, id) =>
    ({
      id,
      name,
      type: name === 'Note' ? 'TEXT_ATTRIBUTE' : 'NUMERIC_ATTRIBUTE',
      synonyms: [],
    }) as Partial<Attribute> as Attribute,
);
const PARTS = { category: ['Parts'] };

const describe = (identifier: string, note: string) =>
  JSON.stringify({
    identifier,
    groupIdentifier: identifier,
    name: 'A part',
    productUrl: '',
    images: [],
    categories: [{ path: ['Parts'] }],
    attributes: [
      { key: 'Size', value: '10' },
      { key: 'Reach', value: '5' },
      { key: 'Note', value: note },
    ],
  });

const relationOf = (id: number, definition: object) =>
  ({
    id,
    definition: {
      name: `Rule ${id}`,
      tag: 'parts',
      enabled: true,
      constraint: true,
      excludeSameGroup: false,
      source: PARTS,
      target: PARTS,
      match: [],
      sort: [],
      ...definition,
    } as Partial<Relation['definition']> as Relation['definition'],
    createdAt: 0,
    updatedAt: 0,
  }) as Partial<Relation> as Relation;

const totalOf = (id: number) =>
  relationOf(id, {
    kind: 'total',
    total: { attribute: 'Size' },
    operator: 'lessOrEqual',
    limit: { attribute: 'Reach' },
  });
const pairsOf = (id: number, attribute = 'Size') =>
  relationOf(id, { match: [{ target: attribute, operator: 'equals', source: attribute }] });

interface Shop {
  readonly products: number;
  readonly relations: readonly Relation[];
  readonly note?: string;
  readonly onFind?: () => void;
}

/** A catalog in memory that records the largest number of uploads in one read. */
function openShop({ products, relations, note = '', onFind }: Shop) {
  const uploads = Array.from({ length: products }, (_, index) => ({
    productId: index + 1,
    document: index + 1,
    updatedAt: 0,
    raw: describe(`P${index}`, note),
  }));
  const shop = {
    version: 1,
    most: 0,
    async listUploads(after: number, limit: number) {
      return uploads.slice(after, after + limit);
    },
    async findUploads(identifiers: readonly string[]) {
      onFind?.();
      shop.most = Math.max(shop.most, identifiers.length);
      return identifiers.flatMap((identifier) => uploads[Number(identifier.slice(1))] ?? []);
    },
    listAttributes: async () => attributes,
    listRelations: async () => relations,
    findTables: async () => [],
    findNewestDocument: async () => products,
    listSigned: async () => [],
    hasAnyDocument: async () => false,
  };
  return shop satisfies FitCatalog & { most: number };
}

const inputOf = (alternatives: number) => ({
  projectId: 1,
  items: Array.from({ length: ITEMS }, (_, index) => ({ identifier: `P${index}`, quantity: 1 })),
  tags: [],
  relations: [],
  alternatives,
  brandAttribute: '',
  priceAttribute: 'Size',
  locale: 'en-GB',
});

const openParts = (limit: Budget) => ({
  constraints: new ConstraintCache(),
  negatives: new NegativeValues(),
  columns: new ColumnCache(),
  limit,
});

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof ServiceError && error.code === code;

const LONG = { ms: 600_000, refusal: 'search_too_long' } as const;

test('a question with too many totals is refused before any total is judged (§12.10 rule 7)', async () => {
  const totals = 20;
  const shop = openShop({
    products: ITEMS,
    relations: Array.from({ length: totals }, (_, id) => totalOf(id)),
  });
  const budget = new Budget(LONG);
  await assert.rejects(answerFit(shop, inputOf(0), openParts(budget)), (error: Error) => {
    assert.ok(refusedWith('request_invalid')(error));
    assert.match(
      error.message,
      /^request_invalid: \d+ pairs would be judged, but at most 20000 are possible/,
    );
    return true;
  });
  assert.ok(
    budget.steps <= 2 * ITEMS * totals + ITEMS,
    `${budget.steps} steps; judging all would take ${totals * ITEMS ** 2}`,
  );
});

test('a question with too many pairs is refused before any pair is judged (§12.10 rule 7)', async () => {
  const shop = openShop({ products: ITEMS, relations: [pairsOf(1), pairsOf(2), pairsOf(3)] });
  const budget = new Budget(LONG);
  await assert.rejects(answerFit(shop, inputOf(0), openParts(budget)), (error: Error) => {
    assert.match(error.message, /^request_invalid: 29700 pairs would be judged/);
    return true;
  });
  assert.ok(budget.steps <= 2 * 3 * ITEMS + ITEMS, `${budget.steps} steps`);
});

test('an answer with long values is refused as soon as it exceeds 32 MiB, before all pairs are judged (§8)', async () => {
  const shop = openShop({ products: ITEMS, relations: [pairsOf(1, 'Note')], note: 'x'.repeat(300_000) });
  const budget = new Budget(LONG);
  await assert.rejects(answerFit(shop, inputOf(0), openParts(budget)), refusedWith('answer_too_large'));
  assert.ok(budget.steps < 3 * ITEMS + 200, `${budget.steps} steps; judging all would take ${ITEMS ** 2}`);
  assert.ok(shop.most <= 16, `${shop.most} uploads are read together`);
});

const UNFIT = [pairsOf(1), totalOf(2)];

test('the search for alternatives stops at the next product when its time is used up (§12.10 rule 13)', async () => {
  const products = 3_000;
  const shop = openShop({ products, relations: UNFIT });
  const warm = openParts(new Budget(LONG));
  const judged = (text: string) =>
    JSON.parse(text).alternatives.map(({ reason }: { reason?: string }) => reason ?? '');
  const before = JSON.parse(await answerFit(shop, inputOf(0), warm));
  assert.equal(before.verdict, 'does_not_fit');
  const budget = new Budget(LONG);
  const brief = Object.assign(budget, { within: () => new Budget({ ...LONG, ms: 0 }) });
  const reasons = judged(await answerFit(shop, inputOf(1), { ...warm, limit: brief }));
  assert.equal(reasons.length, ITEMS);
  for (const reason of reasons) assert.match(reason, /^the time limit ended the search/);
});

test('the search for alternatives stops at the next product when its caller disconnects (§12.10 rule 13)', async () => {
  const stop: StopFlag = new Int32Array(new SharedArrayBuffer(4));
  let reads = 0;
  const shop = openShop({
    products: 3_000,
    relations: UNFIT,
    onFind() {
      reads += 1;
      if (reads * 16 > ITEMS + 16) Atomics.store(stop, 0, 1);
    },
  });
  // A search without the limit of two seconds, because a busy machine could exceed it before the first read.
  const patient = Object.assign(new Budget(LONG, stop), { within: () => new Budget(LONG, stop) });
  await assert.rejects(answerFit(shop, inputOf(1), openParts(patient)), refusedWith('not_ready'));
  assert.equal(reads, Math.ceil(ITEMS / 16) + 1, 'only one read of candidates takes place');
});

test('a loop over pairs stops when the time of the question is used up (§12.10 rule 7)', async () => {
  const shop = openShop({ products: ITEMS, relations: [pairsOf(1)] });
  const budget = new Budget({ ...LONG, ms: 0 });
  await assert.rejects(answerFit(shop, inputOf(0), openParts(budget)), refusedWith('search_too_long'));
  assert.ok(budget.steps <= ITEMS, `${budget.steps} steps`);
});
