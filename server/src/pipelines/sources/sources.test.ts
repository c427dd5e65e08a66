// runs: test
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Value } from 'typebox/value';
import { MASK } from '../../outbound/outbound.ts';
import {
  checkSource,
  createSources,
  maskSource,
  SOURCE_LIMITS,
  type Source,
  type SourceFile,
  SourceProblem,
  SourceSchema,
  unmaskSource,
} from './sources.ts';

function makeSources(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'relata-sources-'));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, '7'));
  writeFileSync(join(root, '7/a.csv.gz'), gzipSync('sku\nA1\n'));
  return createSources({
    ...SOURCE_LIMITS,
    importDir: root,
    tempDir: root,
    allow: [],
    userAgent: 'Relata/test',
  });
}

test('opens a directory, unpacks its file, and skips an unchanged one', async (t) => {
  const sources = makeSources(t);
  const source: Source = { type: 'directory', pattern: '*.gz' };
  const opened = await sources.open(source, { projectId: 7 });
  const [file] = opened?.files ?? [];
  assert.ok(opened && file);
  assert.equal(String(Buffer.concat(await Array.fromAsync(sources.unpack(file, source)))), 'sku\nA1\n');
  assert.equal(await sources.open(source, { projectId: 7, last: opened.stamp }), undefined);
});

test('an upload is always read, whatever was read before, and requires a file', async (t) => {
  const sources = makeSources(t);
  async function* bytes() {
    yield Buffer.from('sku\n');
  }
  const upload: SourceFile = { name: 'a', charset: undefined, sizeBytes: 4, bytes: bytes() };
  const opened = await sources.open({ type: 'upload' }, { projectId: 7, upload, last: { etag: 'x' } });
  assert.deepEqual(opened?.files, [upload]);
  await assert.rejects(sources.open({ type: 'upload' }, { projectId: 7 }), SourceProblem);
});

test('a private address is refused with the setting that allows it', async (t) => {
  const opening = makeSources(t).open({ type: 'http', url: 'http://127.0.0.1:9/' }, { projectId: 7 });
  await assert.rejects(opening, /only public addresses are fetched from, or those in RELATA_FETCH_ALLOW$/);
});

const good: Source[] = [
  { type: 'http', url: 'https://erp.example/export.csv', headers: { 'X-Token': 'a b' }, entry: '*.csv' },
  { type: 'upload' },
  { type: 'directory', pattern: 'in/**/*.csv', take: 'newest' },
];
for (const source of good) {
  test(`${JSON.stringify(source)} is a valid source`, () => {
    assert.deepEqual([...Value.Errors(SourceSchema, source)], []);
    assert.deepEqual(checkSource(source), []);
  });
}

const misshapen: unknown[] = [
  { type: 'ftp', url: 'ftp://x' },
  { type: 'http' },
  { type: 'http', url: 'https://erp.example/', method: 'POST' },
  { type: 'upload', pattern: '*' },
  { type: 'directory', pattern: '' },
  { type: 'directory', pattern: '*', take: 'first' },
  { type: 'http', url: 'https://erp.example/', headers: { a: 1 } },
];
for (const source of misshapen) {
  test(`${JSON.stringify(source)} does not fit the schema`, () =>
    assert.ok(!Value.Check(SourceSchema, source)));
}

const wrong: [Source, RegExp][] = [
  [{ type: 'http', url: 'ftp://erp.example/' }, /^\/source\/url: .*http/],
  [{ type: 'http', url: 'https://u:secret@erp.example/' }, /no user name/],
  [{ type: 'http', url: 'https://e.example/', headers: { Host: 'inner' } }, /Host is set by the service/],
  [{ type: 'http', url: 'https://e.example/', headers: { 'content-length': '1' } }, /set by the service/],
  [{ type: 'http', url: 'https://e.example/', headers: { 'a b': 'secret' } }, /"a b" is not a header name/],
  [
    { type: 'http', url: 'https://e.example/', headers: { a: 'secret\r\nHost: x' } },
    /header a is too long or contains/,
  ],
  [
    { type: 'http', url: 'https://e.example/', headers: { a: 'secretЖ' } },
    /header a is too long or contains/,
  ],
  [{ type: 'http', url: 'https://e.example/', headers: { a: 'secret', A: 'secret' } }, /same name/],
  [{ type: 'directory', pattern: '../*' }, /^\/source\/pattern: A pattern must not contain/],
  [{ type: 'upload', entry: '/a' }, /^\/source\/entry/],
];
for (const [source, text] of wrong) {
  test(`${JSON.stringify(source)} is refused without naming a secret`, () => {
    const problems = checkSource(source).join();
    assert.match(problems, text);
    assert.ok(!problems.includes('secret'));
  });
}

test('headers are shown masked, and a masked header that is sent back keeps its value', () => {
  const stored: Source = {
    type: 'http',
    url: 'https://erp.example/a',
    headers: { 'X-Token': 'secret', B: 'b' },
  };
  const shown = maskSource(stored);
  assert.deepEqual(shown, { ...stored, headers: { 'X-Token': MASK, B: MASK } });
  assert.deepEqual(unmaskSource(shown, stored), stored);
  const moved = { ...shown, url: 'https://erp.example/b', headers: { 'x-token': MASK, C: 'new' } };
  assert.deepEqual(unmaskSource(moved, stored), { ...moved, headers: { 'x-token': 'secret', C: 'new' } });
});

test('a masked header has no value at another origin, or if none was stored', () => {
  const stored: Source = { type: 'http', url: 'https://erp.example/a', headers: { 'X-Token': 'secret' } };
  const shown = maskSource(stored);
  for (const url of [
    'https://evil.example/a',
    'http://erp.example/a',
    'https://erp.example:444/a',
    'nonsense',
  ])
    assert.equal(unmaskSource({ ...shown, url }, stored), undefined, url);
  assert.equal(unmaskSource(shown, undefined), undefined);
  assert.equal(unmaskSource(shown, { type: 'upload' }), undefined);
  assert.equal(unmaskSource({ ...shown, headers: { Other: MASK } }, stored), undefined);
});
