// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RelationDefinition } from '../../src/relations/relation-definitions/relation-definitions.ts';
import { rowCatalogs } from '../../src/relations/relation-store/postgres/postgres.ts';
import { fileCatalogs } from '../../src/relations/relation-store/sqlite/sqlite.ts';
import { readerOperations } from '../../src/relations/relation-threads/relation-threads.ts';
import { ColumnCache } from '../../src/relations/surveys/surveys.ts';
import { CatalogFiles } from '../../src/storage/sqlite/sqlite.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { Budget, type Operation } from '../../src/storage/threads/threads.ts';
import { createRelationCatalog, product, rule } from '../support/relations/relation-catalog.ts';
import { shareService } from '../support/shared-service.ts';

/** A preview from memory equals that of a rule with an index of its own in the store. */

const service = shareService();
const DRAFTS = Number(process.env.RELATA_TEST_DRAFTS ?? 25);
const FOREVER_MS = 600_000;
/** Searches do not read stored bodies. */
const NO_PAYLOADS = {} as Parameters<typeof fileCatalogs>[1];

/** Several values, values that do not fit their attribute, an order by code point, and groups across categories. */
const TEXTS = [
  '',
  'a',
  'A',
  'b',
  'ab',
  '5',
  '\uffff',
  '\u{10000}',
  'ä',
  `${'x'.repeat(300)}1`,
  `${'x'.repeat(300)}2`,
];
const NUMBERS = ['5', '-5', '0', '12', '12.5', '1000', 'many'];
const LENGTHS = ['5 cm', '50 mm', '12 cm', '1 m', '7 mm', '3 kg'];
const CATEGORIES = ['Parts', 'Parts/Large', 'Parts/Small', 'Tools', 'Tools/Large'];
const ONTOLOGY = [
  { name: 'Colour', type: 'TEXT_ATTRIBUTE', synonyms: ['Color'] },
  { name: 'Make', type: 'TEXT_ATTRIBUTE' },
  { name: 'Count', type: 'NUMERIC_ATTRIBUTE' },
  { name: 'Slots', type: 'NUMERIC_ATTRIBUTE' },
  { name: 'Width', type: 'NUMERIC_ATTRIBUTE', unitName: 'cm' },
  { name: 'Depth', type: 'NUMERIC_ATTRIBUTE', unitName: 'mm' },
  { name: 'Quiet', type: 'BOOLEAN_ATTRIBUTE' },
];
const KINDS = [
  ['Colour', 'Make', 'name', 'groupIdentifier'],
  ['Count', 'Slots'],
  ['Width', 'Depth'],
  ['Quiet'],
];

const listOf = (values: readonly string[], maxLength = 2) =>
  fc.uniqueArray(fc.constantFrom(...values), { maxLength });
const products = fc.array(
  fc.record({
    category: fc.constantFrom(...CATEGORIES),
    group: fc.integer({ min: 0, max: 150 }).map((number) => `G${number}`),
    values: fc.record({
      Colour: listOf(TEXTS),
      Color: listOf(TEXTS, 1),
      Make: listOf(TEXTS),
      Count: listOf(NUMBERS, 3),
      Slots: listOf(NUMBERS),
      Width: listOf(LENGTHS),
      Depth: listOf(LENGTHS),
      Quiet: listOf(['true', 'no', 'false'], 1),
    }),
  }),
  { minLength: 400, maxLength: 400 },
);

const condition = fc.oneof(
  fc.constantFrom(...CATEGORIES).map((path) => ({ category: path.split('/') })),
  fc.constantFrom('Colour', 'Count', 'Depth').map((attribute) => ({ attribute, operator: 'exists' })),
  fc.constantFrom(...TEXTS).map((value) => ({ attribute: 'Make', operator: 'contains', value })),
  fc.integer({ min: -6, max: 13 }).map((value) => ({ attribute: 'Count', operator: 'less', value })),
  fc.constant({ attribute: 'Width', operator: 'between', value: ['1 cm', '120 mm'] }),
  fc.constant({ identifiers: ['P3', 'P5', 'P8', 'nobody'] }),
);
const side = fc.oneof(
  condition,
  fc.record({ all: fc.array(condition, { maxLength: 2 }) }),
  fc.record({ any: fc.array(condition, { minLength: 1, maxLength: 2 }) }),
  fc.record({ not: condition }),
);
const OPERATORS = ['equals', 'notEquals', 'less', 'lessOrEqual', 'greater', 'greaterOrEqual'];
const match = fc.constantFrom(...KINDS).chain((names) =>
  fc.record({
    target: fc.constantFrom(...names),
    operator: fc.constantFrom(...OPERATORS),
    source: fc.constantFrom(...names),
  }),
);
const draft = fc.record({
  source: side,
  target: side,
  match: fc.array(match, { maxLength: 3 }),
  sort: fc.uniqueArray(
    fc.record({
      attribute: fc.constantFrom(...ONTOLOGY.map(({ name }) => name)),
      direction: fc.constantFrom('asc', 'desc'),
    }),
    { maxLength: 3, selector: ({ attribute }) => attribute },
  ),
  twoWay: fc.boolean(),
  excludeSameGroup: fc.boolean(),
});

const EMPTY = { match: [], sort: [], twoWay: false, excludeSameGroup: true, enabled: true, names: [] };

type Preview = (projectId: number, definition: object) => Promise<string>;

interface Readers {
  /** From a catalog in memory. */
  readonly warm: Preview;
  /** From a catalog too large for memory. */
  readonly large: Preview;
  /** From a stored relation with an index of its own. */
  stored(projectId: number, id: number): Promise<object>;
  close(): Promise<void>;
}

type Asked = (definition: object, budget: Budget) => Promise<object>;

async function openReaders(): Promise<Readers> {
  const { kind, dataDir } = service().store;
  let storage: Storage | undefined;
  const files = new CatalogFiles(join(dataDir, 'catalogs'));
  if (kind === 'postgres') storage = await service().store.open();
  const postgres = storage?.postgres;
  const open = (columns: ColumnCache): Record<string, Operation> =>
    postgres === undefined
      ? readerOperations(fileCatalogs(files, NO_PAYLOADS), columns)
      : readerOperations(rowCatalogs({ postgres, readPostgres: () => postgres }), columns);
  const previewWith = (columns: ColumnCache): Preview => {
    const tryRelation = open(columns).tryRelation as Asked;
    return async (projectId, sent) => {
      const definition = { ...rule(EMPTY), ...sent } as Partial<RelationDefinition> as RelationDefinition;
      const output = await tryRelation(
        { projectId, definition, hasCards: true, locale: 'en-GB', limitMs: FOREVER_MS },
        Budget.unlimited(),
      );
      return JSON.stringify(output, null, 1);
    };
  };
  return {
    warm: previewWith(new ColumnCache()),
    large: previewWith(new ColumnCache({ mostBytes: 0 })),
    async stored(projectId, id) {
      const survey = open(new ColumnCache()).surveyRelation as Asked;
      return survey({ projectId, id, limitMs: FOREVER_MS }, Budget.unlimited());
    },
    async close() {
      files.closeAll();
      await storage?.close();
    },
  };
}

test('previews of random drafts give the same result from memory as from an index in the store (§12.6 rule 3)', async (t) => {
  const catalogs = [await createRelationCatalog(service()), await createRelationCatalog(service())];
  const samples = fc.sample(products, { numRuns: catalogs.length, seed: 1_501 });
  for (const [index, catalog] of catalogs.entries()) {
    await catalog.putOntology('own', ...ONTOLOGY);
    const made = (samples[index] ?? []).map(({ category, group, values }, no) =>
      product(`P${no}`, category, { group, ...values }),
    );
    await catalog.load(...made);
  }
  const readers = await openReaders();
  t.after(readers.close);
  const ids: number[] = [];
  for (const catalog of catalogs) ids.push((await catalog.relate(EMPTY)).id);
  let related = 0;
  const check = async (definition: object) => {
    for (const [index, catalog] of catalogs.entries()) {
      const [{ projectId }, id] = [catalog, ids[index] as number];
      const warm = await readers.warm(projectId, definition);
      assert.equal(warm, await readers.large(projectId, definition));
      const { problem, cards, resultCounts, withResults, ...survey } = JSON.parse(warm);
      assert.equal(problem, undefined, warm);
      assert.equal((await catalog.manage('PUT', `/${id}`, { ...rule(EMPTY), ...definition })).status, 200);
      await catalog.settled();
      assert.deepEqual({ ...survey, withResults }, await readers.stored(projectId, id));
      related += withResults;
    }
  };
  await fc.assert(fc.asyncProperty(draft, check), { numRuns: DRAFTS, seed: 1_502, endOnFailure: true });
  assert.ok(related > DRAFTS * 10, `${related} products with results`);

  // A commit in between: both answers show it immediately.
  const [first] = catalogs;
  const byCount = { match: [{ target: 'Count', operator: 'equals', source: 'Count' }] };
  const before = await readers.warm(first?.projectId ?? 0, byCount);
  await first?.patch({ identifier: 'P0', attributes: { Count: '777' } });
  await first?.update(product('P400', 'Tools', { Count: '777' }));
  await check(byCount);
  assert.notEqual(await readers.warm(first?.projectId ?? 0, byCount), before);
});
