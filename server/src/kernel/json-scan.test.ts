// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { countJson, describeExcess, holdsMoreThan, JSON_DEPTH } from './json-scan.ts';

const UNLIMITED = { values: Infinity, names: Infinity, text: Infinity };
const count = (text: string, limits: Partial<typeof UNLIMITED> = {}) =>
  countJson(Buffer.from(text), { ...UNLIMITED, ...limits });

interface Counted {
  commas: number;
  opened: number;
  names: number;
  widest: number;
}

/** Makes the same counts from the parsed value. */
function countParsed(value: unknown): Counted {
  const counted = { commas: 0, opened: 0, names: 0, widest: 1 };
  const visit = (part: unknown) => {
    if (typeof part !== 'object' || part === null) return;
    const members = Object.values(part);
    counted.opened += 1;
    counted.commas += Math.max(0, members.length - 1);
    if (!Array.isArray(part)) counted.names += members.length;
    counted.widest = Math.max(counted.widest, members.length);
    for (const member of members) visit(member);
  };
  visit(value);
  return counted;
}

test('the counts over the bytes equal those over the parsed value, with and without white space', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1), (value, indent) => {
      const { commas, opened, names, widest } = countParsed(value);
      const counts = count(JSON.stringify(value, undefined, indent));
      assert.equal(counts.values, 1 + commas + opened);
      assert.equal(counts.names, names);
      assert.equal(counts.widest.members, widest);
      assert.equal(counts.beyond, undefined);
    }),
  );
});

test('the scan ignores brackets, commas and colons inside strings, also after escaped quotes', () => {
  const { values, names, beyond } = count(String.raw`["[[,:{", "a\"[,", "\\", "\\\"]"]`);
  assert.deepEqual([values, names, beyond], [5, 0, undefined]);
});

test('the scan stops at the first limit that is exceeded', () => {
  assert.equal(count('['.repeat(JSON_DEPTH)).beyond, undefined);
  assert.equal(count('['.repeat(JSON_DEPTH + 1)).beyond, 'depth');
  assert.equal(count('[0,0]', { values: 3 }).beyond, undefined);
  const stopped = count(`[${'0,'.repeat(1_000)}`, { values: 3 });
  assert.deepEqual([stopped.beyond, stopped.values], ['values', 4]);
  assert.equal(count('{"a":0,"b":0}', { names: 1 }).beyond, 'names');
  assert.equal(count('["abc"]', { text: 3 }).beyond, undefined);
  assert.equal(count('["abcd"]', { text: 3 }).beyond, 'text');
  const limits = { ...UNLIMITED, values: 1_000 };
  assert.equal(
    describeExcess(count('[0,'.repeat(1_000), limits), limits),
    'the body is nested deeper than 32 levels',
  );
  assert.equal(
    describeExcess(count('0,'.repeat(1_000), limits), limits),
    'the body holds more than 1,000 values',
  );
});

test('the scan reports the position and the depth of the widest list', () => {
  assert.deepEqual(count(' {"a":[1,2,3],"b":0}').widest, { at: 6, depth: 2, members: 3 });
  assert.deepEqual(count('[[1],[2],[3]]').widest, { at: 0, depth: 1, members: 3 });
});

test('the scan accepts any bytes and counts at most one value per byte, plus one', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      assert.ok(countJson(bytes, UNLIMITED).values <= bytes.length + 1);
    }),
  );
});

test('holdsMoreThan counts nested values and long strings', () => {
  assert.equal(holdsMoreThan(3, [1, 2]), false);
  assert.equal(holdsMoreThan(3, [1, [2]]), true);
  assert.equal(holdsMoreThan(3, { a: { b: { c: 1 } } }), true);
  assert.equal(holdsMoreThan(10, 'x'.repeat(20_000)), true);
  assert.equal(holdsMoreThan(10, new Array(1_000_000).fill(0)), true);
});
