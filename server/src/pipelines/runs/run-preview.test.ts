// runs: test
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createSources, SOURCE_LIMITS } from '../sources/sources.ts';
import { type PreviewOrder, previewSource } from './run-preview.ts';

const sources = createSources({
  ...SOURCE_LIMITS,
  importDir: undefined,
  tempDir: tmpdir(),
  allow: [],
  userAgent: 'test',
});
const parts = { sources, tempDir: tmpdir(), readPiece: async () => new Uint8Array() };
const lines = Array.from(
  { length: 40_000 },
  (_, index) => `{"sku":"A${index}","name":"Drill ${index}"}\n`,
).join('');

const orderOf = (bytes: Uint8Array): PreviewOrder => ({
  projectId: 1,
  source: { type: 'upload' },
  format: { type: 'ndjson' },
  mode: 'full',
  mapping: undefined,
  file: { name: 'a.ndjson', bytes, isBeginning: true },
  catalog: { locale: 'en' },
});

test('the beginning of a file is previewed although its packing breaks off (§13.5)', async () => {
  const packed = gzipSync(lines);
  const { rows } = await previewSource(parts, orderOf(packed.subarray(0, packed.length - 1_000)));
  assert.equal(rows[0]?.values.sku, 'A0');
});

test('a bug after the first rows of a beginning is not hidden (§13.5)', async () => {
  const bug = new TypeError('a bug');
  async function* unpack() {
    yield Buffer.from(lines.slice(0, 10_000));
    throw bug;
  }
  const failing = { ...parts, sources: { ...sources, unpack } };
  await assert.rejects(previewSource(failing, orderOf(Buffer.from(lines))), (error) => error === bug);
});
