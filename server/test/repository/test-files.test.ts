import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  divideDeep,
  groupFiles,
  listCluster,
  listConsoleSmoke,
  listDeep,
  listEmbedded,
  listFirst,
  listGettingStore,
  listInstalled,
  listOneSided,
  listPostgres,
  listPostgresSmoke,
  listReadingCatalog,
  listWorkspace,
} from '../test-files.ts';
import {
  DEEP_FIRST,
  LATER,
  LONG_WORK,
  OWN_PROCESS,
  RULES_ABOVE_THE_STORES,
  TRIES_MORE,
  WITH_ALL_CASES,
} from '../test-lists.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const shown = (paths: readonly string[]) => paths.map((path) => relative(root, path));

/** The reasons why a file may only open one kind of store. */
const ONE_SIDED: Readonly<Record<string, string>> = {
  'src/catalog/store/sqlite/search-entries.test.ts': 'the index of FTS5; PostgreSQL has another',
  'src/relations/store/sqlite/member-runs.test.ts': 'runs of members, which PostgreSQL has as rows',
  'src/storage/migrate.test.ts': 'the versions of files; of PostgreSQL see postgres-schema.test.ts',
  'src/storage/sqlite/catalog-files.test.ts':
    'what SQLite syncs; PostgreSQL does it by a setting of the transaction',
  'src/transfer/timeline/retention.test.ts': 'PostgreSQL is backed up with its own tools',
  'src/transfer/timeline/watched-file.test.ts': 'the same',
};

test('a test that touches a store gets it from test-store.ts, and so can run on both', () => {
  assert.deepEqual(shown(listOneSided()), Object.keys(ONE_SIDED));
});

test('on a cluster every file of the interface runs that runs on PostgreSQL, and what kills processes and workers', () => {
  const cluster = shown(listCluster());
  const interfaces = shown(listPostgres()).filter((path) => /\/interface-/.test(path));
  for (const path of [
    ...interfaces,
    'test/durability/crash.test.ts',
    'test/durability/chaos.test.ts',
    'test/relations/relations-oracle.test.ts',
    'test/postgres/postgres-cluster.test.ts',
  ])
    assert.ok(cluster.includes(path), path);
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

test('PostgreSQL runs all test files that get a store but those that say why not', () => {
  const left = Object.keys(RULES_ABOVE_THE_STORES);
  const [embedded = [], postgres = []] = [listEmbedded(), listPostgres()].map(shown);
  assert.deepEqual(
    left.filter((path) => !embedded.includes(path) || postgres.includes(path)),
    [],
    'what PostgreSQL does not run the embedded store runs',
  );
  assert.deepEqual(
    shown(listGettingStore())
      .filter((path) => !postgres.includes(path))
      .sort(),
    left.sort(),
  );
});

test('the first run has the tests beside their subjects and those of the interface, the deep run all others', () => {
  const [all, first, deep] = [listEmbedded(), listFirst(), listDeep()].map(shown) as [
    string[],
    string[],
    string[],
  ];
  assert.deepEqual(
    all.filter((path) => /^src\/|\/interface-/.test(path) && !first.includes(path)),
    [...DEEP_FIRST, ...LATER.embedded.files.filter((name) => name.startsWith('src/'))].sort(),
  );
  assert.deepEqual([...new Set([...first, ...deep])].sort(), [...all].sort());
  assert.deepEqual(
    first.filter((path) => deep.includes(path)),
    [...TRIES_MORE].sort(),
  );
});

test('what the deep run leaves out the long run has, and both know their files', () => {
  const all = { embedded: listDeep(), postgres: listPostgres(), console: listWorkspace('console') };
  const again: string[] = [];
  for (const pass of ['embedded', 'postgres', 'console'] as const) {
    const { soon, later } = divideDeep(pass, all[pass]);
    assert.deepEqual([...new Set([...soon, ...later])].sort(), [...all[pass]].sort(), pass);
    const missing = LATER[pass].files.filter((name) => !shown(later).includes(name));
    assert.deepEqual(missing, [], pass);
    again.push(...shown(later.filter((path) => soon.includes(path))));
  }
  assert.deepEqual(again.sort(), [...WITH_ALL_CASES].sort());
});

test('each file runs in one process, and those that need their own have it', () => {
  const all = listEmbedded();
  const groups = groupFiles(all);
  assert.deepEqual(groups.flat().sort(), all);
  const own = groups.flatMap((files) => (files.length === 1 ? files : []));
  for (const name of [...OWN_PROCESS, ...Object.keys(LONG_WORK)])
    if (shown(all).includes(name)) assert.ok(shown(own).includes(name), name);
});

test('the files of the smokes are there, those of PostgreSQL among what it runs', () => {
  const postgres = listPostgres();
  assert.deepEqual(
    listPostgresSmoke().filter((path) => !postgres.includes(path)),
    [],
  );
  assert.deepEqual(
    listConsoleSmoke().filter((path) => !existsSync(path)),
    [],
  );
});

test('files that take long are there', () => {
  const paths = Object.keys(LONG_WORK).filter((path) => !existsSync(join(root, path)));
  assert.deepEqual(paths, []);
});

test('test files that read the real catalog are found, for the pass without it', () => {
  assert.deepEqual(shown(listReadingCatalog()), [
    'src/catalog/ingest/checked-body.test.ts',
    'src/catalog/ingest/scan/body-scan.test.ts',
    'test/catalog/real-catalog.test.ts',
    'test/pipelines/pipeline-catalog.test.ts',
    'test/relations/relations-oracle.test.ts',
    'test/suggestions/suggestion-rules.test.ts',
  ]);
});
