// runs: test, deep, long, slow
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENT_FORMS } from '../../../../test/support/client-json.ts';
import { createBodies, readStored } from '../../../../test/support/product-bodies.ts';
import { readCatalog } from '../../../../test/support/real-products.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import type { VisitText } from '../../derivation.ts';
import { type Attribute, createExtractor } from '../../ontology/ontology.ts';
import { type CheckedBody, type ProductSource, sourceOfScanned, validateBody } from '../checked-body.ts';
import { ReportWriter } from '../report-writer.ts';
import { scanBody } from './scan.ts';

/**
 * RELATA_TEST_BODIES sets the number of bodies on which scan and validator are compared. RELATA_TEST_SEED repeats a
 * run.
 */
const BODIES = Number(process.env.RELATA_TEST_BODIES ?? 100_000);
const SEED = Number(process.env.RELATA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** @returns the result of the validator; undefined if it refuses the body */
function validate(bytes: Buffer): CheckedBody | undefined {
  try {
    return validateBody({ bytes, encoding: 'identity', maxMib: 16 }, 'products');
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** @returns whether the scan accepts the body. If it does, the validator must accept it with the same result. */
function assertSame(bytes: Buffer): boolean {
  const scanned = scanBody(bytes);
  if (scanned === undefined) return false;
  const checked = validate(bytes);
  assert.ok(checked, 'the validator refuses it');
  const { sent, repeated } = checked;
  assert.deepEqual(
    [scanned.sent, [...scanned.observed], scanned.paths],
    [sent, checked.observeUnknown(new Map()), checked.listPaths()],
  );
  assert.deepEqual(repeated, []);
  const [source, parsed] = [sourceOfScanned(scanned), checked.openProducts()];
  assert.deepEqual(source.listIdentifiers(), parsed.listIdentifiers());
  assert.deepEqual(readStored(source), readStored(parsed));
  assert.equal(inspect(source), inspect(parsed));
  const some = new Set(scanned.keys.filter(({ number }) => number % 2 === 0).map(({ name }) => name));
  assert.deepEqual(listDerivedFrom(source, some), listDerivedFrom(parsed, some));
  return true;
}

const ONTOLOGY: readonly Attribute[] = [
  { id: 1, name: 'Length', type: 'NUMERIC_ATTRIBUTE', unitName: 'mm' },
  { id: 2, name: 'Width', type: 'NUMERIC_ATTRIBUTE', decimal: 'comma', synonyms: ['a"b'] },
  { id: 3, name: 'a', type: 'BOOLEAN_ATTRIBUTE', synonyms: ['__proto__'] },
  { id: 4, name: 'Colour', type: 'TEXT_ATTRIBUTE' },
  { id: 5, name: 'ä', type: 'DATE_ATTRIBUTE' },
];

const EXTRACTOR = createExtractor(ONTOLOGY);

/** @returns the report on values that make no fact */
function inspect(source: ProductSource): string {
  const report = new ReportWriter();
  const inspectRow = source.inspectBy(EXTRACTOR, report);
  for (const row of source.listIdentifiers().keys()) inspectRow(row);
  return report.toText();
}

/** @returns the parts of each product from which answers and facts derive */
function listDerivedFrom(source: ProductSource, keys: ReadonlySet<string>): unknown[] {
  const derived = source.openDerived(keys);
  return Array.from(source.listIdentifiers(), (_, row) => {
    const [identifier, group, name] = OWN_FIELDS.map((field) => derived.readOwn(row, field));
    const values: unknown[] = [];
    const visit: VisitText = (key, text, ofRow) =>
      values.push([derived.keys[key], derived.textOf(key, text), ofRow]);
    derived.visitTexts(row, visit);
    const isVisited = derived.keys.map((key) => keys.has(key) && key.length % 2 === 0);
    derived.visitTexts(row, visit, isVisited);
    return { identifier, group, name, paths: derived.categoriesOf(row).map(({ path }) => path), values };
  });
}

const OWN_FIELDS = ['identifier', 'groupIdentifier', 'name'] as const;

const takes = (body: string) => assertSame(Buffer.from(body));

test('the scan accepts products in the form that each client writes (§2.3)', () => {
  const products = readCatalog(10_000).products.slice(0, 10_000);
  for (const write of Object.values(CLIENT_FORMS)) {
    assert.ok(takes(write({ products })));
    assert.ok(takes(write(products.slice(0, 100))));
  }
  const [product] = products;
  assert.ok(takes(JSON.stringify([product], undefined, 2)), 'spaces anywhere');
  const reversed = Object.fromEntries(Object.entries(product ?? {}).reverse());
  assert.ok(takes(JSON.stringify([reversed])), 'any order');
  assert.ok(takes('[{"identifier":"A","name":"A","image":null,"attributes":[{"value":null,"key":"k"}]}]'));
});

type Fields = Record<string, unknown>;
const product = (fields: Fields): Fields => ({ identifier: 'A', name: 'A', ...fields });
const repeat = <Item>(count: number, item: Item): Item[] => new Array(count).fill(item);

test('the scan accepts texts and lists up to their limits and leaves longer ones to the validator (§2.3, §8)', () => {
  const limits: [number, (count: number, unit: string) => Fields][] = [
    [255, (count, unit) => ({ identifier: unit.repeat(count) })],
    [255, (count, unit) => ({ groupIdentifier: unit.repeat(count) })],
    [1_000, (count, unit) => ({ name: unit.repeat(count) })],
    [4_096, (count, unit) => ({ productUrl: unit.repeat(count) })],
    [4_096, (count, unit) => ({ image: unit.repeat(count) })],
    [4_096, (count, unit) => ({ images: [{ url: unit.repeat(count), type: 'THUMB' }] })],
    [255, (count, unit) => ({ attributes: [{ key: unit.repeat(count), value: '' }] })],
    [65_536, (count, unit) => ({ attributes: [{ key: 'k', value: unit.repeat(count) }] })],
    [255, (count, unit) => ({ attributes: [{ key: 'k', value: '', userGroups: [unit.repeat(count)] }] })],
    [64, (count, unit) => ({ attributes: [{ key: 'k', value: '', row: unit.repeat(count) }] })],
    [255, (count, unit) => ({ settings: { includeUserGroups: [unit.repeat(count)] } })],
    [1_000, (count, unit) => ({ categories: [{ path: [unit.repeat(count)] }] })],
    [20, (count, unit) => ({ categories: [{ path: repeat(count, unit) }] })],
    [100, (count, unit) => ({ categories: repeat(count, { path: [unit] }) })],
    [200, (count, unit) => ({ images: repeat(count, { url: unit, type: 'SMALL' }) })],
    [2_000, (count, unit) => ({ attributes: repeat(count, { key: unit, value: unit }) })],
    [1_000, (count, unit) => ({ settings: { excludeUserGroups: repeat(count, unit) } })],
  ];
  for (const write of Object.values(CLIENT_FORMS)) {
    for (const [limit, make] of limits) {
      for (const unit of ['a', 'ä', '😀', '/']) {
        assert.equal(takes(write([product(make(limit, unit))])), true, `${limit} ${write(make(1, unit))}`);
        assert.equal(takes(write([product(make(limit + 1, unit))])), false);
      }
    }
  }
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => product({ identifier: `A${index}` }));
  assert.equal(takes(JSON.stringify(many(10_000))), true);
  assert.equal(takes(JSON.stringify(many(10_001))), false);
});

test('the scan leaves an uncertain body to the validator', () => {
  const attribute = (text: string) => `[{"identifier":"A","name":"A","attributes":[${text}]}]`;
  const uncertain = [
    ...['', '[]', '{}', '[{}]', 'null', '{"products":[]}', '[{"identifier":"A"}]', '[{"name":"A"}]'],
    ...[
      '\ufeff[{"identifier":"A","name":"A"}]',
      '[{"identifier":"A","name":"A"}] x',
      '[{"identifier":"A","name":"A"',
    ],
    ...['[{"identifier":"A","name":"A"},{"identifier":"A","name":"A"}]', '[{"identifier":"A","name":"A"},]'],
    '[{"identifier":"A","name":"A"},{"identifier":"\\u0041","name":"A"}]',
    '[{"identifier":"A","identifier":"B","name":"A"}]',
    '[{"identifier":"A","name":"A","__proto__":{}}]',
    '{"products":[{"identifier":"A","name":"A"}],"products":[{"identifier":"B","name":"B"}]}',
    ...[
      '"\\ud800"',
      '"\\udc00\\ud800"',
      '"\\u0000"',
      '"\\x"',
      '"\\u00g0"',
      '1',
      '1e400',
      '-0',
      '[]',
      '"\n"',
    ].map((value) => attribute(`{"key":"k","value":${value}}`)),
    attribute('{"key":"k","value":"1","key":"k"}'),
    attribute('{"key":"k","value":"1"},'),
  ];
  for (const body of uncertain) assert.equal(takes(body), false, body);
  const cut = Buffer.from('[{"identifier":"é","name":"A"}]');
  assert.equal(assertSame(Buffer.from(cut.filter((byte) => byte !== 0xa9))), false, 'invalid UTF-8');
});

/** @returns texts whose FNV-1a, of the quoted text, ends in the same bits */
function listAlike(count: number): string[] {
  const texts: string[] = [];
  for (let index = 0; texts.length < count; index += 1) {
    let hash = 0x811c9dc5;
    for (const byte of Buffer.from(`"${index}"`)) hash = Math.imul(hash ^ byte, 0x01000193);
    if (((hash ^ (hash >>> 15)) & 0xfff) === 0) texts.push(String(index));
  }
  return texts;
}

test('the scan stops early at a body whose identifiers were chosen to collide', () => {
  const identifiers = listAlike(200);
  assert.equal(takes(JSON.stringify(identifiers.map((identifier) => product({ identifier })))), false);
  assert.equal(
    takes(JSON.stringify(identifiers.slice(0, 20).map((identifier) => product({ identifier })))),
    true,
  );
});

test('the scan accepts no body that the validator refuses, and both read the same products', () => {
  const bodies = createBodies(SEED);
  const counts = { whole: 0, damaged: 0 };
  for (let index = 0; index < BODIES; index += 1) {
    const isWhole = index % 3 === 0;
    const body = isWhole ? bodies.createBody() : bodies.damage(bodies.createBody());
    try {
      if (assertSame(body)) counts[isWhole ? 'whole' : 'damaged'] += 1;
    } catch (error) {
      throw new Error(`RELATA_TEST_SEED=${SEED}, body ${index}: ${body.toString('latin1')}`, {
        cause: error,
      });
    }
  }
  assert.ok(counts.whole > BODIES / 6, `${counts.whole} whole bodies were taken`);
  assert.ok(counts.damaged > BODIES / 30, `${counts.damaged} damaged bodies were taken`);
});
