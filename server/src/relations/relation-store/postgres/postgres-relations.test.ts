// runs: postgres deep
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  createRelationCatalog,
  product,
  type RelationCatalog,
  under,
} from '../../../../test/support/relations/relation-catalog.ts';
import { shareService } from '../../../../test/support/shared-service.ts';
import { testedStore } from '../../../../test/support/test-store.ts';
import { openPostgres, type Postgres } from '../../../storage/postgres/postgres.ts';
import { Budget } from '../../../storage/threads/threads.ts';
import type { RelateOutput } from '../../answering/relate-request.ts';
import type { CatalogMark } from '../../matching/matching.ts';
import { readerOperations } from '../../relation-threads/relation-threads.ts';
import { rowCatalogs } from './postgres.ts';
import { describeFetch, readMark } from './view-store.ts';

/** The statements and plans that read related products. */

const options = {
  skip:
    testedStore !== 'postgres' &&
    'only for PostgreSQL, because the embedded store has no round trips to save',
};
const service = shareService({}, async ({ store }) => {
  if (options.skip === false) postgres = countingOn(store.settings.RELATA_DATABASE_URL ?? '');
});
let postgres: Postgres;
let statements = 0;

/** Opens a single connection, so that it has all cached plans. */
function countingOn(url: string): Postgres {
  const opened = openPostgres({ url, connections: 1, prepares: true });
  return {
    ...opened,
    rows: (sql, values) => {
      statements += 1;
      return opened.rows(sql, values);
    },
  };
}

after(() => postgres?.close());

const TABLES = ['product', 'document', 'relation_document', 'relation_member'];

async function createDrills(count: number, from = 0): Promise<{ catalog: RelationCatalog; id: number }> {
  const catalog = await createRelationCatalog(service());
  await catalog.putOntology('own', ...['Chuck', 'Price'].map((name) => ({ name, type: 'TEXT_ATTRIBUTE' })));
  const { id } = await catalog.relate({
    source: under('Drills'),
    target: under('Bits'),
    match: [
      { target: 'Chuck', operator: 'equals', source: 'Chuck' },
      { target: 'Price', operator: 'less', source: 'Price' },
    ],
    sort: [{ attribute: 'Price', direction: 'asc' }],
  });
  await loadMore(catalog, from, count);
  return { catalog, id };
}

const nameOf = (letter: string, number: number) => `${letter}${String(number).padStart(5, '0')}`;

/** Loads drills and one bit for each. A bit that is cheaper than a drill fits it. */
async function loadMore(catalog: RelationCatalog, from: number, count: number): Promise<void> {
  const numbers = Array.from({ length: from + count }, (_, index) => index);
  await catalog.load(
    ...numbers.flatMap((number) => [
      product(nameOf('D', number), 'Drills', { Chuck: `${number % 7}`, Price: nameOf('1', number) }),
      product(nameOf('B', number), 'Bits', { Chuck: `${number % 7}`, Price: nameOf('1', number) }),
    ]),
  );
}

/** A thread that answers relations through the single connection. */
function openReader({ catalog, id }: { catalog: RelationCatalog; id: number }) {
  const { relate } = readerOperations(rowCatalogs({ postgres, readPostgres: () => postgres }));
  return async (identifiers: readonly string[], mark: CatalogMark) => {
    const input = {
      projectId: catalog.projectId,
      identifiers,
      form: 'single',
      explain: false,
      brandAttribute: '',
      tags: [{ tag: 'accessories', relations: [{ id, limit: 3 }] }],
      limitMs: 600_000,
      ...mark,
    };
    statements = 0;
    const output = await (relate as (input: object, budget: Budget) => Promise<RelateOutput>)(
      input,
      Budget.unlimited(),
    );
    const starts = [0, ...output.ends];
    const texts = identifiers.map((_, index) =>
      Buffer.from(output.bytes.subarray(starts[index], starts[index + 1])).toString(),
    );
    const results = texts.map((text) =>
      JSON.parse(text).tags[0].relations[0].searchResult.map(
        (item: { identifier: string }) => item.identifier,
      ),
    );
    return { version: output.version, found: results, statements };
  };
}

test('related products of many products are read in one statement', options, async () => {
  const drills = await createDrills(40);
  const read = openReader(drills);
  const mark = await readMark(postgres, drills.catalog.projectId);
  const first = await read([nameOf('D', 0), nameOf('D', 39), 'missing'], mark);
  assert.deepEqual(first.found, [[], ['B00004', 'B00011', 'B00018'], []]);
  assert.equal((await read([nameOf('D', 30)], mark)).statements, 1);
});

test('linked products are read in two parallel statements, in both directions', options, async () => {
  const { catalog } = await createDrills(40);
  const definition = { name: 'Listed', tag: 'accessories', kind: 'links', twoWay: true };
  const { id } = (await catalog.manage('POST', '', definition)).body;
  const path = `/management/projects/${catalog.projectId}/relations/${id}/links`;
  const links = [
    { source: 'D00001', targets: ['B00002', 'missing', 'B00001'] },
    { source: 'D00002', targets: ['B00002'] },
  ];
  const headers = { 'Content-Type': 'application/x-ndjson' };
  const body = links.map((link) => JSON.stringify(link)).join('\n');
  await catalog.done(await service().call('PUT', path, { body, headers }));
  const read = openReader({ catalog, id });
  const mark = await readMark(postgres, catalog.projectId);
  assert.deepEqual((await read(['D00003'], mark)).found, [[]], 'the thread has cached the relations');
  const listed = await read(['D00001', 'D00002'], mark);
  assert.deepEqual([listed.found, listed.statements], [[['B00002', 'B00001'], ['B00002']], 2]);
  const back = await read(['B00002'], mark);
  assert.deepEqual([back.found, back.statements], [[['D00001', 'D00002']], 2]);
});

test('an answer has one version, even if the caller has seen an older one', options, async () => {
  const drills = await createDrills(40);
  const { catalog } = drills;
  const read = openReader(drills);
  const old = await readMark(postgres, catalog.projectId);
  assert.equal((await read([nameOf('D', 39)], old)).version, old.version);
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['B00011'] }));
  const { version } = await readMark(postgres, catalog.projectId);
  assert.ok(version > old.version);
  // The thread has the relations of the old version, which its caller has seen.
  const answer = await read([nameOf('D', 39)], old);
  assert.deepEqual([answer.version, answer.found], [version, [['B00004', 'B00018', 'B00025']]]);
});

test('no plan scans a whole table or is compiled, whatever the statistics are', options, async () => {
  for (const table of TABLES) await postgres.run(`alter table ${table} set (autovacuum_enabled = off)`);
  const drills = await createDrills(20);
  const { projectId } = drills.catalog;
  await vacuum();
  const read = openReader(drills);
  const small = await readMark(postgres, projectId);
  for (let number = 0; number < 10; number += 1) await read([nameOf('D', number)], small);
  await loadMore(drills.catalog, 20, 2_000);
  const large = await readMark(postgres, projectId);
  assert.notEqual(
    large.scale,
    small.scale,
    'a new scale gives new statements without a plan for small tables',
  );
  for (const statistics of ['of small tables', 'of large tables']) {
    for (const comparisons of [0, 1, 8]) {
      const plan = await explainFetch(projectId, { comparisons, scale: large.scale });
      assertByIndex(plan, `with statistics ${statistics}\n${plan}`);
      if (comparisons > 0) assert.match(plan, /Index Scan using relation_member_compared/, statistics);
    }
    await vacuum();
  }
});

test('a relation that does not fit on the disk leaves no task (§7.2 rule 6)', options, async () => {
  const { catalog } = await createDrills(1);
  const listTasks = async () =>
    (await catalog.call('GET', '/tasks')).body.tasks.map(({ id }: { id: string }) => id);
  const before = await listTasks();
  await postgres.run(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'no space left' using errcode = '53100'; end $$`);
  await postgres.run(
    'create trigger refuse before insert on relation for each row execute function refuse()',
  );
  const definition = { name: 'Another', tag: 'another', source: under('Drills'), target: under('Bits') };
  const path = `/management/projects/${catalog.projectId}/relations`;
  assert.equal((await catalog.call('POST', path, { body: definition })).status, 507);
  await postgres.run('drop function refuse cascade');
  assert.deepEqual(await listTasks(), before);
  assert.equal((await catalog.call('POST', path, { body: definition })).status, 201);
});

async function vacuum(): Promise<void> {
  for (const table of TABLES) await postgres.run(`vacuum analyze ${table}`);
}

/** PostgreSQL compiles statements with a cost above 100,000, which takes longer than everything else. */
function assertByIndex(plan: string, shown: string): void {
  assert.doesNotMatch(plan, new RegExp(`Seq Scan on (?:${TABLES.join('|')})`), shown);
  assert.ok(Number(/cost=[\d.]+\.\.([\d.]+)/.exec(plan)?.[1]) < 50_000, shown);
}

/** @returns the generic plan, which serves any values */
const explainFetch = (
  projectId: number,
  { comparisons, scale }: { comparisons: number; scale: number },
): Promise<string> =>
  postgres.draft(async (tx) => {
    await tx.run('set local plan_cache_mode = force_generic_plan');
    const rows = await tx.rows<Record<string, string>>(`explain ${describeFetch(comparisons, scale)}`, [
      projectId,
      [],
      '[]',
      '[]',
      [],
      [],
      false,
      [],
      [],
      [],
    ]);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  });
