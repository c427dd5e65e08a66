// runs: test, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEmbeddedCatalog } from '../../../test/support/catalogs/catalog-under-test.ts';
import { CatalogWorld } from '../../../test/support/catalogs/catalog-world.ts';
import type { RefusedLoops } from '../../../test/support/plans/allowed-loops.ts';
import { watchSqlite } from '../../../test/support/plans/sqlite-plans.ts';
import { embeddedOnly } from '../../../test/support/test-store.ts';

const many = (count: number, content: number, from = 0) =>
  new Map(Array.from({ length: count }, (_, index) => [`p${from + index}`, content] as const));

const options = embeddedOnly('postgres-plans.test.ts reads the plans of PostgreSQL');

test(
  'a full update with a repeated batch is previewed and committed without reading a list for each product (§4.4)',
  options,
  async () => {
    const statements: RefusedLoops[] = [];
    const stop = watchSqlite((statement) => statements.push(statement));
    try {
      const world = new CatalogWorld(openEmbeddedCatalog(1), 1);
      await world.apply(many(40, 1));
      world.initiate();
      const [session] = world.sessions;
      assert.ok(session !== undefined);
      for (const batch of [many(20, 2), many(10, 1, 20), many(20, 3), many(10, 1, 20)])
        await world.accept(session, batch);
      // Also compares the preview and the commit with the model.
      await world.commit(session);
    } finally {
      stop();
    }
    assert.deepEqual(
      statements.filter(({ refused }) => refused.length > 0),
      [],
    );
    const ofRepeated = statements.filter(({ sql }) => sql.includes('max(s.batch)'));
    assert.ok(ofRepeated.length >= 2, 'the statements of the preview and of the commit were watched');
  },
);
