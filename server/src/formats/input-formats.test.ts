// runs: test
import assert from 'node:assert/strict';
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { Value } from 'typebox/value';
import { type LargeFormat, makeLargeFile } from '../../test/support/formats/format-files.ts';
import { createTempDir, readAll } from '../../test/support/formats/format-reading.ts';
import {
  findDefaultMapping,
  InputFormatSchema,
  type InputFormatSettings,
  readRows,
} from './input-formats.ts';

const streamed: readonly LargeFormat[] = ['csv', 'json', 'ndjson', 'xml'];
const TYPES: readonly InputFormatSettings['type'][] = [
  'csv',
  'tsv',
  'json',
  'ndjson',
  'xml',
  'xlsx',
  'google-merchant',
  'shopify-csv',
  'bmecat',
  'native',
];

for (const type of streamed) {
  test(`${type}: leaving the loop early closes the source`, async (t) => {
    let isOpen = true;
    let read = 0;
    async function* source() {
      try {
        for await (const chunk of makeLargeFile(type, 100_000_000)) {
          read += chunk.length;
          yield chunk;
        }
      } finally {
        isOpen = false;
      }
    }
    for await (const rows of readRows({ type }, source(), { tempDir: createTempDir(t) })) {
      assert.ok(rows.length > 0);
      break;
    }
    assert.equal(isOpen, false);
    assert.ok(read < 2_000_000, `${read} bytes were read`);
  });

  test(`${type}: an error of the source passes through unchanged`, async (t) => {
    async function* source() {
      yield* makeLargeFile(type, 1_000);
      throw new TypeError('the connection is gone');
    }
    await assert.rejects(async () => {
      for await (const _ of readRows({ type }, source(), { tempDir: createTempDir(t) }));
    }, TypeError);
  });
}

test('a source may be a stream, and may return all its bytes in one chunk', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-source-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const rows = Array.from({ length: 50_000 }, (_, index) => `${index},name ${index}`);
  const bytes = Buffer.from(`id,name\n${rows.join('\n')}`);
  writeFileSync(join(folder, 'products.csv'), bytes);
  const count = async (source: AsyncIterable<Uint8Array>) => {
    let largest = 0;
    let all = 0;
    for await (const batch of readRows({ type: 'csv' }, source, { tempDir: folder })) {
      largest = Math.max(largest, batch.length);
      all += batch.length;
    }
    return { all, isCut: largest < 10_000 };
  };
  assert.deepEqual(await count(createReadStream(join(folder, 'products.csv'))), { all: 50_000, isCut: true });
  assert.deepEqual(await count(Readable.from([bytes], { objectMode: false })), { all: 50_000, isCut: true });
});

test('leaving the loop closes the stream of a file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-source-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'a.csv'), `id\n${'1\n'.repeat(500_000)}`);
  const stream = createReadStream(join(folder, 'a.csv'));
  for await (const _ of readRows({ type: 'csv' }, stream, { tempDir: folder })) break;
  assert.equal(stream.destroyed, true);
});

for (const type of [
  'csv',
  'tsv',
  'json',
  'ndjson',
  'xml',
  'google-merchant',
  'shopify-csv',
  'native',
] as const)
  test(`${type}: a web page in place of the file is refused`, async () => {
    for (const page of ['<!DOCTYPE html><html lang="en"><p>a,b</p>', '\n<HTML>\n<body>1;2</body>'])
      await assert.rejects(readAll({ type }, page), { reason: 'refused', message: /web page/ });
  });

test('every format has a schema that accepts only its own options', () => {
  const good: InputFormatSettings[] = [
    ...TYPES.map((type) => ({ type }) as InputFormatSettings),
    { type: 'csv', delimiter: ';', quote: '', encoding: 'windows-1252', headerRow: 0 },
    { type: 'csv', delimiter: '\t', quote: "'" },
    { type: 'json', path: 'data.products' },
    { type: 'xml', record: 'catalog/product' },
    { type: 'xlsx', sheet: 'Products' },
    { type: 'xlsx', sheet: 2, headerRow: 3 },
    { type: 'bmecat', language: 'deu' },
  ];
  for (const format of good) assert.ok(Value.Check(InputFormatSchema, format), JSON.stringify(format));
  const bad = [
    {},
    { type: 'pdf' },
    { type: 'csv', delimiter: ';;' },
    { type: 'csv', delimiter: '"' },
    { type: 'csv', delimiter: '\n' },
    { type: 'csv', encoding: 'utf-7' },
    { type: 'csv', headerRow: -1 },
    { type: 'csv', path: 'a' },
    { type: 'xlsx', sheet: 0 },
    { type: 'xml', record: '' },
  ];
  for (const format of bad) assert.ok(!Value.Check(InputFormatSchema, format), JSON.stringify(format));
});

test('the table of formats in docs/interface matches the records (§13.7)', () => {
  const docs = readFileSync(new URL('../../../docs/interface/13-pipelines.md', import.meta.url), 'utf8');
  const section = docs.slice(docs.indexOf('## 13.7'), docs.indexOf('## 13.8'));
  const rows = section.split('\n').filter((line) => /^\| [a-z]/.test(line));
  const documented = rows.map((row) => {
    const [type, options = '', mapping] = row
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    const names = [...options.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    return { type, names, mapping };
  });
  const records = InputFormatSchema.anyOf.map((schema) => {
    const { type, ...options } = schema.properties;
    return { type: type.const, names: Object.keys(options), mapping: Reflect.get(schema, 'x-mapping') };
  });
  assert.deepEqual(documented, records);
});

test('formats with known columns have a default mapping', () => {
  const mappedTypes = TYPES.filter((type) => findDefaultMapping(type) !== undefined);
  assert.deepEqual(mappedTypes, ['google-merchant', 'shopify-csv', 'bmecat']);
  const attributes = mappedTypes.map((type) => findDefaultMapping(type)?.attributes);
  assert.deepEqual(attributes, [
    '*',
    { Brand: 'Vendor', Type: 'Type', '*': '*' },
    { Brand: 'MANUFACTURER_NAME', '*': '*' },
  ]);
});
