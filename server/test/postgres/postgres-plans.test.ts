// runs: postgres deep, slow
import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { compareWithAllowed } from '../support/plans/allowed-loops.ts';
import { productsOf, relateBits } from '../support/plans/filled-service.ts';
import { judgePlan, LOG_PLANS, type PlanNode, readPlans } from '../support/plans/postgres-plans.ts';
import { withoutProject } from '../support/plans/postgres-statements.ts';
import { query, startPostgres } from '../support/postgres/postgres-server.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { postgresStoreOn, testedStore } from '../support/test-store.ts';

/**
 * PostgreSQL plans by statistics, and a server without autovacuum never updates them. Connections keep plans that they
 * made while the catalog was small. The test judges plans by their form: it refuses a nested loop over all products,
 * whatever time it took.
 */

const options = {
  skip: testedStore !== 'postgres' && 'only for PostgreSQL: SQLite plans without statistics',
};

const FEW = 20;
const MANY = 3_000;
/** A connection keeps its plan from the sixth execution on. */
const ROUNDS = 8;

const server =
  options.skip === false
    ? await startPostgres({ parameters: { autovacuum: 'off', ...LOG_PLANS } })
    : undefined;
after(() => server?.stop());

/** The calls whose statements are judged. */
async function readAll({ call, projectId, lookUp }: TestService): Promise<void> {
  const home = `/management/projects/${projectId}`;
  const get = async (path: string) => {
    const answer = await call('GET', `${home}${path}`);
    assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const category = encodeURIComponent(JSON.stringify(['Tools', 'Drills']));
  await get('/products?limit=50');
  assert.ok((await get(`/products?category=${category}&limit=50`)).items.length > 0);
  assert.ok((await get('/products?search=Drill&limit=50')).items.length > 0);
  await get('/ontology/coverage');
  assert.equal((await lookUp(['P-1', 'P-2'])).length, 2);
  const related = await call('POST', `/search/relations/bulk-results?projectId=${projectId}`, {
    body: { identifiers: ['P-0', 'P-2'], includeTags: [{ tag: 'accessories', limitPerRelation: 5 }] },
  });
  assert.equal(related.status, 200, JSON.stringify(related.body));
}

test(
  'plans made while a catalog was small never read the whole catalog for each product later (§4.4)',
  options,
  async (t) => {
    assert.ok(server !== undefined);
    const database = await createDatabase(server.url);
    const store = postgresStoreOn(database, await mkdtemp(join(tmpdir(), 'relata-plans-')));
    t.after(store.remove);
    const service = await startTestService(t, { store });
    const useSmall = async (from: number) => {
      for (let version = from; version < from + ROUNDS; version += 1)
        await service.loadCatalog(productsOf(FEW, version));
    };
    await useSmall(1);
    await relateBits(service);
    for (let round = 0; round < ROUNDS; round += 1) await readAll(service);
    // Statistics of the small catalog, for which a scan is the best plan.
    await query(database.url, 'analyze');
    await useSmall(101);
    for (let round = 0; round < ROUNDS; round += 1) await readAll(service);

    const before = (await readPlans(server.url)).length;
    await service.loadCatalog(productsOf(MANY, 201));
    const loaded = (await readPlans(server.url)).length;
    await service.loadCatalog(productsOf(MANY, 202));
    await relateBits(service);
    await readAll(service);

    const plans = await readPlans(server.url, loaded);
    const statements = plans.map((plan) => ({
      sql: withoutProject(plan['Query Text']).replace(/\s+/g, ' '),
      refused: judgePlan(plan),
    }));
    const { refused, unused } = compareWithAllowed('postgres', statements);
    assert.deepEqual(
      [...new Set(refused.map((plan) => `${plan.refused.join()}: ${plan.sql.slice(0, 300)}`))],
      [],
    );
    assert.deepEqual(unused, [], 'exceptions that no statement needs');
    assert.ok(loaded > before && plans.length > 100, `${plans.length} plans were read`);
    const unknown = await query(
      database.url,
      "select relname from pg_class where relname in ('product', 'document') and reltuples < $1",
      [MANY],
    );
    assert.deepEqual(unknown, [], 'the loaded tables have statistics');
  },
);

test('the check finds a planted plan that compares the products with a list, or reads their table, for each row of a list', () => {
  const list = {
    'Node Type': 'Function Scan',
    'Function Name': 'unnest',
    'Function Call': 'unnest($1)',
    Alias: 'w',
  };
  const productBy = (condition: string) => ({
    'Node Type': 'Index Scan',
    'Relation Name': 'product',
    'Index Cond': condition,
    Alias: 'p',
  });
  const judge = (outer: object, inner: object) =>
    judgePlan({
      'Query Text': '',
      Plan: {
        'Node Type': 'Nested Loop',
        Plans: [
          { ...outer, 'Parent Relationship': 'Outer' },
          { ...inner, 'Parent Relationship': 'Inner' },
        ] as object[] as PlanNode[],
      },
    });
  const ofProject = productBy('(project_id = $2)');
  const byId = productBy('((project_id = $2) AND (id = w.value))');
  const materialized = { 'Node Type': 'Materialize', Plans: [ofProject] };
  assert.deepEqual(judge(list, ofProject), ['Function Scan of unnest > Index Scan of product']);
  assert.deepEqual(judge(list, materialized), ['Function Scan of unnest > Index Scan of product']);
  assert.deepEqual(judge(ofProject, list), ['Index Scan of product > Function Scan of unnest']);
  assert.deepEqual(judge(list, byId), []);
  assert.deepEqual(judge(ofProject, { ...list, 'Function Call': 'unnest(p.list)' }), []);
});
