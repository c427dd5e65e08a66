// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readStored } from '../../../test/support/product-bodies.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { observeValue } from '../ontology/drafts/drafts.ts';
import { normaliseProduct } from '../products/products.ts';
import { openBody, validateBody } from './checked-body.ts';

const MIB = 1024 * 1024;
const open = (body: string) =>
  openBody({ bytes: Buffer.from(body), encoding: 'identity', maxMib: 1 }, 'products');

test('the scan and the validator read the same products and names from a body (§2.3)', () => {
  const attributes = [
    { key: 'Length', value: '5 mm' },
    { key: 'Known', value: 'x' },
  ];
  const sent = [{ identifier: 'A', name: 'A', categories: [{ path: ['Top', 'Leaf'] }], attributes }];
  const attributeByKey = new Map([['Known', { id: 1, name: 'Known', type: 'TEXT_ATTRIBUTE' as const }]]);
  const text = JSON.stringify(sent);
  const space = ' '.repeat(10_000);
  // The validator reads short bodies and bodies with a byte order mark.
  for (const body of [text, `${text}${space}`, `{"products":${text}${space}}`, `\ufeff${text}${space}`]) {
    const bytes = gzipSync(body);
    const checked = openBody({ bytes, encoding: 'gzip', maxMib: 1 }, 'products');
    assert.deepEqual([checked.sent, checked.parsed, checked.repeated], [1, 1, []]);
    const stored = sent.map((product) => JSON.stringify(normaliseProduct(product)));
    assert.deepEqual(readStored(checked.openProducts()), stored);
    assert.deepEqual(checked.observeUnknown(attributeByKey), [['Length', observeValue('5 mm')]]);
    assert.deepEqual(checked.listPaths(), ['["Top","Leaf"]']);
    assert.equal(checked.bytes, Buffer.byteLength(body));
  }
});

test('the last product of a repeated identifier wins, also in a body that is scanned first (§4.3 rule 4)', () => {
  const { sent, parsed, repeated, openProducts } = open(
    `[{"identifier":"A","name":"1"},{"identifier":"A","name":"2"}]${' '.repeat(10_000)}`,
  );
  assert.deepEqual([sent, parsed, repeated], [2, 1, ['A']]);
  assert.deepEqual(
    readStored(openProducts()).map((raw) => JSON.parse(raw).name),
    ['2'],
  );
});

test('a body of valid products is refused if they have too many values together (§8)', () => {
  const settings = { includeUserGroups: new Array(1_000).fill('a') };
  const make = (count: number) =>
    JSON.stringify(
      Array.from({ length: count }, (_, index) => ({ identifier: `A${index}`, name: '', settings })),
    );
  const fits = make(130);
  assert.ok(fits.length > MIB / 2 - 16_000);
  assert.equal(open(fits).sent, 130);
  const errors = ['the body holds more than 131,072 values'];
  for (const check of [openBody, validateBody]) {
    assert.throws(
      () => check({ bytes: Buffer.from(make(140)), encoding: 'identity', maxMib: 1 }, 'products'),
      (error: ServiceError) => {
        assert.deepEqual(error.facts.validation?.[0]?.errors, errors);
        return error instanceof ServiceError;
      },
    );
  }
});
