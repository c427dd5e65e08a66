// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { ServiceError } from '../../kernel/errors.ts';
import { type BodyForm, type BodySource, checkBody } from './product-check.ts';

const source = (body: unknown, more: Partial<BodySource> = {}): BodySource => ({
  bytes: typeof body === 'string' ? Buffer.from(body) : Buffer.from(JSON.stringify(body)),
  encoding: 'identity',
  maxMib: 1,
  ...more,
});
const check = (body: unknown, form: BodyForm = 'products') => checkBody(source(body), form);

/** @returns the code of the refusal; undefined if the body is accepted */
function refusalOf(sentBody: BodySource, form: BodyForm): string | undefined {
  try {
    checkBody(sentBody, form);
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

function factsOf(sentBody: BodySource): ServiceError['facts'] {
  try {
    checkBody(sentBody, 'products');
  } catch (error) {
    if (error instanceof ServiceError) return error.facts;
    throw error;
  }
  return assert.fail('the body passed');
}

/** A string that UTF-8 and SQLite can store. */
const word = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => !text.includes('\0'));
const good = fc.record(
  {
    identifier: word,
    name: word,
    groupIdentifier: fc.option(word, { nil: null }),
    productUrl: fc.oneof(word, fc.constant('')),
    images: fc.array(
      fc.record(
        { url: word, type: fc.constantFrom('SMALL', 'LARGE', 'THUMB', 'ALTERNATIVE') },
        { noNullPrototype: true },
      ),
    ),
    categories: fc.array(
      fc.record({ path: fc.array(word, { minLength: 1, maxLength: 20 }) }, { noNullPrototype: true }),
    ),
    attributes: fc.array(
      fc.record(
        { key: word, value: fc.oneof(word, fc.constant(''), fc.constant(null)) },
        { noNullPrototype: true },
      ),
    ),
  },
  { requiredKeys: ['identifier', 'name'], noNullPrototype: true },
);
const products = fc.uniqueArray(good, {
  minLength: 1,
  maxLength: 5,
  selector: ({ identifier }) => identifier,
});

/** @returns the text with every character escaped, as some callers write JSON */
function writeEscaped(text: string): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replace(/[^\x20-\x7e]/g, escaped);
}

test('valid products pass unchanged, in a list or an object, plain or compressed (§2.3)', () => {
  fc.assert(
    fc.property(products, (list) => {
      const expected = { products: list, sent: list.length, repeated: [], skipped: [], corrected: [] };
      assert.deepEqual(check(list), expected);
      assert.deepEqual(check({ products: list }), expected);
      const bytes = gzipSync(JSON.stringify(list));
      assert.deepEqual(checkBody(source('', { bytes, encoding: 'gzip' }), 'products'), expected);
    }),
  );
});

test('the error for attributes as an object names partial=true (§2.3)', () => {
  const assertSaid = (attributes: unknown, line: string) =>
    assert.throws(
      () => check([{ identifier: 'A', name: 'A', attributes }]),
      (error: ServiceError) => {
        assert.deepEqual(error.facts.validation?.[0]?.errors, [line]);
        return true;
      },
    );
  const [plain, hint] = ['/attributes must be array', '; an object needs partial=true'];
  assertSaid({ Size: '1 in' }, `${plain}${hint}`);
  assertSaid('Size', plain);
});

test('a valid product is also a valid patch (§2.3 rule 14)', () => {
  fc.assert(
    fc.property(products, (list) => {
      assert.deepEqual(check(list, 'patches').products, list);
    }),
  );
});

test('the last product of a repeated identifier replaces the first, at its position (§4.3 rule 4)', () => {
  const named = fc.record(
    { identifier: fc.constantFrom('A', 'B', '__proto__', 'C'), name: word },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.array(named, { minLength: 1, maxLength: 12 }), (list) => {
      const { products: remaining, sent, repeated } = check(list);
      const last = new Map(list.map((product) => [product.identifier, product]));
      assert.deepEqual(remaining, [...last.values()]);
      assert.equal(sent, list.length);
      assert.equal(repeated.length, list.length - last.size);
    }),
  );
});

test('a body of any bytes passes or is refused with a code (§7.3)', () => {
  const codes = new Set<string | undefined>();
  const forms = fc.constantFrom<BodyForm>('products', 'patches');
  const encodings = fc.constantFrom<BodySource['encoding']>('identity', 'gzip');
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map((json) => Buffer.from(json)),
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify({ products: [value] }))),
    fc.jsonValue().map((value) => gzipSync(JSON.stringify([value]))),
  );
  fc.assert(
    fc.property(bytes, encodings, forms, (sentBody, encoding, form) => {
      codes.add(refusalOf({ bytes: sentBody, encoding, maxMib: 1 }, form));
    }),
    { numRuns: 500 },
  );
  const expected = [
    'body_not_unpacked',
    'body_not_json',
    'request_invalid',
    'product_invalid',
    'no_products',
    undefined,
  ];
  assert.deepEqual(
    [...codes].filter((code) => !expected.includes(code)),
    [],
  );
});

test('NUL and unpaired surrogates are refused in every string, and pairs are accepted (§2.3 rule 9)', () => {
  const placements: ((text: string) => object)[] = [
    (text) => ({ identifier: text }),
    (text) => ({ name: text }),
    (text) => ({ groupIdentifier: text }),
    (text) => ({ productUrl: text }),
    (text) => ({ image: text }),
    (text) => ({ images: [{ url: text, type: 'SMALL' }] }),
    (text) => ({ categories: [{ path: [text] }] }),
    (text) => ({ attributes: [{ key: text, value: '' }] }),
    (text) => ({ attributes: [{ key: 'k', value: text }] }),
    (text) => ({ attributes: [{ key: 'k', value: '', userGroups: [text] }] }),
    (text) => ({ settings: { includeUserGroups: [text] } }),
    (text) => ({ settings: { excludeUserGroups: [text] } }),
  ];
  for (const placement of placements) {
    const body = (text: string) => source([{ identifier: 'A', name: 'A', ...placement(text) }]);
    for (const bad of ['\0', 'a\0b', '\ud800', 'a\udc00', '\udc00\ud800']) {
      assert.equal(refusalOf(body(bad), 'products'), 'product_invalid', JSON.stringify(placement(bad)));
    }
    assert.equal(refusalOf(body('\ud83d\ude00'), 'products'), undefined, 'a pair');
  }
});

test('a body with escaped characters equals one with plain characters (§2.3)', () => {
  fc.assert(
    fc.property(word, (text) => {
      const body = (written: string) => `[{"identifier":${written},"name":"A"}]`;
      assert.deepEqual(check(body(writeEscaped(text))), check(body(JSON.stringify(text))));
    }),
  );
});

test('lengths count characters, not bytes or code units (§8)', () => {
  const named = (identifier: string) => source([{ identifier, name: 'A' }]);
  for (const unit of ['a', 'ä', '漢', '😀']) {
    assert.equal(refusalOf(named(unit.repeat(255)), 'products'), undefined);
    assert.equal(refusalOf(named(unit.repeat(256)), 'products'), 'product_invalid');
  }
});

test('one invalid product refuses the body, and the refusal has its index (§7.3 rules 2 and 6)', () => {
  const bad = fc.constantFrom<unknown>(
    null,
    1,
    'A',
    [],
    {},
    { identifier: 'A' },
    { name: 'A' },
    { identifier: 1 },
  );
  fc.assert(
    fc.property(products, bad, fc.nat(), (list, broken, seed) => {
      const index = seed % (list.length + 1);
      const body = [...list.slice(0, index), broken, ...list.slice(index)];
      const isNamed = (error: unknown) =>
        error instanceof ServiceError &&
        error.facts.validation?.length === 1 &&
        error.facts.validation[0]?.product?.index === index;
      assert.throws(() => check(body), isNamed);
    }),
  );
});

test('a body is checked in the order gzip, UTF-8, JSON, list, number, products (§7.3)', () => {
  const cases: [BodySource, string][] = [
    [source('[]', { encoding: 'gzip' }), 'body_not_unpacked'],
    [source('', { bytes: gzipSync(Buffer.alloc(2 ** 21)), encoding: 'gzip' }), 'body_too_large'],
    [source('', { bytes: Buffer.from([0x5b, 0xff, 0x5d]) }), 'body_not_json'],
    [source('['), 'body_not_json'],
    [source(''), 'body_not_json'],
    [source('{}'), 'request_invalid'],
    [source('[]'), 'no_products'],
    [source({ products: [] }), 'no_products'],
    [source(Array.from({ length: 10_001 }, () => 1)), 'too_many_products'],
    [source(Array.from({ length: 10_000 }, () => 1)), 'product_invalid'],
  ];
  for (const [sentBody, code] of cases) assert.equal(refusalOf(sentBody, 'products'), code);
});

test('a body with an escape does not change the check of the next body', () => {
  assert.equal(refusalOf(source('[{"identifier":"\\u0000","name":"A"}]'), 'products'), 'product_invalid');
  assert.equal(refusalOf(source('[{"identifier":"A","name":"A"}]'), 'products'), undefined);
  assert.equal(refusalOf(source('[{"identifier":"\\ud800","name":"A"}]'), 'products'), 'product_invalid');
});

test('a list far above the limit is counted without parsing it (§7.4)', () => {
  const values = [200_001, 10_000];
  const list = `[${'{},'.repeat(200_000)}{}]`;
  for (const body of [list, `{"products": ${list}}`, list.slice(0, -1)]) {
    assert.deepEqual(factsOf(source(body, { maxMib: 16 })).values, values);
  }
});

test('a body above the limits of depth, members or values is refused with one short error (§8)', () => {
  const cases: [string, string][] = [
    ['['.repeat(1_000), 'the body is nested deeper than 32 levels'],
    [`[[${'[],'.repeat(19_000)}0],`.repeat(4), 'the body holds more than 131,072 values'],
    [
      `[{"identifier":"A","attributes":[${'0,'.repeat(25_000)}0]}]`,
      'a list or object of the body has 25,001 members, and at most 20,000 are allowed',
    ],
    [
      `{"other":[${'0,'.repeat(25_000)}0],"products":[]}`,
      'a list or object of the body has 25,001 members, and at most 20,000 are allowed',
    ],
  ];
  for (const [body, message] of cases) {
    const errors = [message];
    assert.deepEqual(factsOf(source(body)).validation, [{ product: null, schemaErrors: errors, errors }]);
  }
});

test('a product with very many errors is refused with the first one (§7.3 rule 7)', () => {
  const attributes = (count: number) => [
    { identifier: 'A', name: 'A', attributes: new Array(count).fill(0) },
  ];
  const few = factsOf(source(attributes(1_000))).validation?.[0]?.errors ?? [];
  assert.deepEqual([few.length, few.at(-1)], [21, 'and 980 more']);
  const many = factsOf(source(attributes(15_000))).validation?.[0]?.errors;
  assert.deepEqual(many, ['/attributes must NOT have more than 2000 items']);
});

test('long errors are shortened, and a refusal lists the products that fit (§7.3 rule 7)', () => {
  const fields = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`${'x'.repeat(900)}${index}`, 0]),
  );
  const body = Array.from({ length: 200 }, (_, index) => ({ identifier: `A${index}`, name: 'A', ...fields }));
  const validation = factsOf(source(body, { maxMib: 16 })).validation ?? [];
  assert.ok(JSON.stringify(validation).length < 50_000);
  const named = validation.filter(({ product }) => product !== null);
  assert.deepEqual(validation.at(-1)?.errors, [`${200 - named.length} more products are not valid`]);
  assert.ok(named.length >= 5 && named.every(({ errors }) => /^and \d+ more$/.test(errors.at(-1) ?? '')));
});
