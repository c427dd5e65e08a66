// runs: test
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { test } from 'node:test';
import { leadsTo } from './test-imports.ts';
import { listTestFiles, ROOT, readMark, type TestFile } from './test-marks.ts';

const TEST_STORE = join(ROOT, 'server/test/support/test-store.ts');
const OPENS_STORE = /\b(?:openStorage|DatabaseSync|CatalogFiles?|openPostgres)\(/;

const nameOf = ({ path }: TestFile) => relative(ROOT, path);
const isAbout = (store: 'sqlite' | 'postgres', { path }: TestFile) => basename(path).startsWith(`${store}-`);
const isOfOneStore = (file: TestFile) => isAbout('sqlite', file) || isAbout('postgres', file);
const runsIn = (pass: string, { runs }: TestFile) => runs.some((run) => run.pass === pass);

test('the first line of every test file names the runs of the file', () => {
  const files = listTestFiles();
  assert.ok(files.length > 300);
  assert.ok(files.every(({ runs }) => runs.length > 0));
});

test('a mark with an unknown word is refused with the path and the word', () => {
  const read = (mark: string) => readMark(join(ROOT, 'server/src/a.test.ts'), `${mark}\n`);
  assert.deepEqual(read('// runs: test, postgres deep, slow').runs, [
    { pass: 'embedded', tier: 'test' },
    { pass: 'postgres', tier: 'deep' },
  ]);
  assert.equal(read('// runs: deep (not on postgres: a client)').reason, 'not on postgres: a client');
  for (const mark of [
    '// runs: nightly',
    '// runs: mysql deep',
    '// runs: slow',
    '// runs: a postgres deep',
    '',
  ])
    assert.throws(() => read(mark), /a\.test\.ts: /, mark);
});

test('a file that gets its store from test-store.ts runs on PostgreSQL, or its mark gives the reason', () => {
  const wrong = listTestFiles()
    .filter(({ path }) => path.startsWith(join(ROOT, 'server/')))
    .filter((file) => !isOfOneStore(file) && leadsTo(file.path, TEST_STORE))
    .filter((file) => runsIn('postgres', file) === (file.reason !== undefined));
  assert.deepEqual(wrong.map(nameOf), []);
});

test('a file that opens a store itself tests only that store, or its mark gives the reason', () => {
  const wrong = listTestFiles()
    .filter((file) => !isOfOneStore(file) && !leadsTo(file.path, TEST_STORE) && file.reason === undefined)
    .filter(
      ({ path }) => path.startsWith(join(ROOT, 'server/')) && OPENS_STORE.test(readFileSync(path, 'utf8')),
    );
  assert.deepEqual(wrong.map(nameOf), []);
});

test('files about one store run only on that store', () => {
  const files = listTestFiles();
  assert.deepEqual(
    files.filter((file) => isAbout('postgres', file) && runsIn('embedded', file)).map(nameOf),
    [],
  );
  assert.deepEqual(
    files.filter((file) => isAbout('sqlite', file) && runsIn('postgres', file)).map(nameOf),
    [],
  );
});

test('Citus runs the interface rules that PostgreSQL runs, kills of processes and workers, and the oracle', () => {
  const expected = listTestFiles().filter(
    (file) =>
      runsIn('postgres', file) &&
      /^(?:interface-.*|crash|chaos|relations-oracle|postgres-cluster)\.test\.ts$/.test(basename(file.path)),
  );
  assert.ok(expected.length > 40);
  assert.deepEqual(expected.filter((file) => !runsIn('citus', file)).map(nameOf), []);
});
