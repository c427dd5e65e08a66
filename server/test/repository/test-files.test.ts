import assert from 'node:assert/strict';
import { relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  listEmbedded,
  listInstalled,
  listOneSided,
  listPostgres,
  listReadingCatalog,
} from '../test-files.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const shown = (paths: readonly string[]) => paths.map((path) => relative(root, path));

/** Why a file may open one kind of store and never the other. */
const ONE_SIDED: Readonly<Record<string, string>> = {
  'src/storage/migrate.test.ts': 'the versions of files; of PostgreSQL see postgres-schema.test.ts',
};

test('a test that touches a store gets it from test-store.ts, and so runs on both', () => {
  assert.deepEqual(shown(listOneSided()), Object.keys(ONE_SIDED));
});

test('test files are found by what they import and by their names', () => {
  const [embedded = [], postgres = [], installed = []] = [
    listEmbedded(),
    listPostgres(),
    listInstalled(),
  ].map(shown);
  for (const path of [
    'test/catalog/interface-lookup.test.ts',
    'src/access/access.test.ts',
    'test/durability/crash.test.ts',
  ]) {
    assert.ok(embedded.includes(path) && postgres.includes(path), path);
  }
  assert.ok(installed.includes('test/catalog/interface-updates.test.ts'));
  assert.ok(embedded.includes('src/catalog/ontology/extraction.test.ts'));
  assert.equal(postgres.includes('src/catalog/ontology/extraction.test.ts'), false, 'it touches no store');
  assert.equal(embedded.includes('test/postgres/postgres-schema.test.ts'), false);
  assert.ok(
    postgres.includes('test/postgres/postgres-schema.test.ts') &&
      installed.includes('test/postgres/postgres-schema.test.ts'),
  );
  assert.deepEqual(
    installed.filter((path) => !postgres.includes(path)),
    [],
  );
});

test('test files that read the real catalog are found, for the pass without it', () => {
  assert.deepEqual(shown(listReadingCatalog()), [
    'test/catalog/real-catalog.test.ts',
    'test/pipelines/pipeline-catalog.test.ts',
    'test/relations/relations-oracle.test.ts',
  ]);
});
