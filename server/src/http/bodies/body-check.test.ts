// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBodyChecks, createParameterChecks } from './json-body.ts';

const item = { type: 'object', required: ['name', 'tag'], properties: { name: { type: 'string' } } };
const check = createBodyChecks()({
  type: 'object',
  required: ['items'],
  properties: { items: { type: 'array', maxItems: 3_000, items: item }, size: { default: 10 } },
});
const bodyOf = (count: number) => ({ items: Array.from({ length: count }, () => ({})) });

test('the check of a small body reports all mistakes, and that of a large body only the first (§7.3 rule 8)', () => {
  assert.equal(check(bodyOf(500)), false);
  assert.equal(check.errors?.length, 1_000);
  assert.equal(check(bodyOf(2_000)), false);
  assert.deepEqual(
    check.errors?.map(({ instancePath }) => instancePath),
    ['/items/0'],
  );
});

test('the check of a list that is too long reports its length and not its elements', () => {
  assert.equal(check(bodyOf(3_001)), false);
  assert.deepEqual(
    check.errors?.map(({ keyword }) => keyword),
    ['maxItems'],
  );
});

test('a valid body of any size gets its defaults, and the check has no errors', () => {
  for (const count of [1, 2_500]) {
    const body = { items: Array.from({ length: count }, () => ({ name: 'A', tag: 'B' })) };
    assert.equal(check(body), true);
    assert.equal((body as { size?: number }).size, 10);
    assert.equal(check.errors, null);
  }
});

test('an empty list, which PHP writes for an empty object, is accepted where an object may be empty (§4 rule 11)', () => {
  const object = { type: 'object', properties: {} };
  const named = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } };
  const choice = { anyOf: [object, { type: 'array', minItems: 1 }] };
  const mends = createBodyChecks()({
    type: 'object',
    properties: { 'a/b~': { type: 'object', properties: { c: object } }, list: { items: object } },
    additionalProperties: { type: 'object', properties: { named, choice, filled: object } },
  });
  const body = { 'a/b~': { c: [] }, list: [[], {}, []], x: [], y: {} };
  assert.equal(mends(body), true);
  assert.deepEqual(body, { 'a/b~': { c: {} }, list: [{}, {}, {}], x: {}, y: {} });
  assert.deepEqual(mends([]), { value: {} });
  for (const wrong of [{ named: [] }, { choice: [] }, { filled: [1] }])
    assert.equal(mends({ x: wrong }), false);
  assert.equal(createBodyChecks()(named)([]), false);
  const large = { list: Array.from({ length: 3_000 }, (_, index) => (index < 5 ? [] : {})) };
  assert.equal(mends(large), true);
  assert.deepEqual(large.list.slice(0, 6), Array(6).fill({}));
});

test('the check refuses a missing body without compiling a large schema (§4)', () => {
  // Compiling this schema would throw.
  const large = { type: 'object', description: 'x'.repeat(8_000), required: ['a'], $ref: 'nowhere' };
  for (const none of [undefined, null]) {
    const unread = createBodyChecks()(large);
    assert.equal(unread(none), false);
    assert.deepEqual(
      unread.errors?.map(({ keyword, params }) => [keyword, params]),
      [['type', { type: 'object' }]],
    );
  }
  const optional = createBodyChecks()({ anyOf: [large, { type: 'null' }] });
  assert.equal(optional(null), true);
});

test('an integer beyond 2^53 is refused, also if its schema has no bounds (§7.2)', () => {
  const whole = createBodyChecks()({ type: 'object', properties: { at: { type: ['integer', 'null'] } } });
  assert.deepEqual(
    [2 ** 53 - 1, -(2 ** 53) + 1, null, 2 ** 53, 1e308, Number.POSITIVE_INFINITY].map((at) => whole({ at })),
    [true, true, true, false, false, false],
  );
});

test('an integer in a URL consists of decimal digits, and other notations are refused (§4.1)', () => {
  const checkQuery = createParameterChecks()({
    type: 'object',
    properties: { id: { type: 'integer', minimum: 1 }, name: { type: 'string' } },
  });
  for (const id of ['1e0', '0x1', '0b1', '1.0', '+1', ' 1', '1 ', '1_0', '', '-0', '١', '1e999', 'NaN']) {
    assert.equal(checkQuery({ id, name: '1e0' }), false, id);
    assert.deepEqual(
      checkQuery.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`),
      ['/id must be integer'],
    );
  }
  const parameters = { id: '12', name: '1e0' };
  assert.equal(checkQuery(parameters), true);
  assert.deepEqual(parameters, { id: 12, name: '1e0' });
  // Fastify checks converted parameters a second time.
  assert.equal(checkQuery(parameters), true);
  assert.equal(checkQuery({ id: '-1' }), false);
  assert.equal(checkQuery.errors?.[0]?.message, 'must be >= 1');
});
