// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Comparable, compareValues } from '../../catalog/filters/filters.ts';
import { encodeKey, encodeRank, encodeValue, RANK_TEXT_BYTES, UNMATCHED_KEY } from './index-key.ts';

const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
/** Values in a catalog have no NUL or unpaired surrogate (docs/interface §2.3). */
const text = fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', ''));
const kinds: [string, fc.Arbitrary<Comparable>][] = [
  ['numbers', number],
  ['text', text],
];
const sign = Math.sign;

for (const [name, value] of kinds) {
  test(`the bytes of ranks of ${name} sort like the values, or in reverse when descending`, () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        const rank = (ranked: Comparable, direction: 'asc' | 'desc') =>
          encodeRank([{ value: ranked, direction }]);
        const order = sign(compareValues(a, b));
        assert.equal(Buffer.compare(rank(a, 'asc'), rank(b, 'asc')), order);
        assert.equal(Buffer.compare(rank(a, 'desc'), rank(b, 'desc')), 0 - order);
      }),
    );
  });

  test(`a missing value of ${name} is last in both directions (§12.3 rule 4)`, () => {
    fc.assert(
      fc.property(value, fc.constantFrom('asc' as const, 'desc' as const), (present, direction) => {
        const missing = encodeRank([{ value: undefined, direction }]);
        assert.ok(Buffer.compare(encodeRank([{ value: present, direction }]), missing) < 0);
      }),
    );
  });
}

for (const [name, value] of kinds) {
  test(`the bytes of ${name} in comparisons sort like the values`, () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        assert.equal(Buffer.compare(encodeValue(a), encodeValue(b)), sign(compareValues(a, b)));
      }),
    );
  });
}

const start = fc.integer({ min: RANK_TEXT_BYTES - 4, max: RANK_TEXT_BYTES + 4 });

test('the first 256 bytes of a long text decide its position (§12.3 rule 3)', () => {
  const cut = (long: string) => Buffer.from(long).subarray(0, RANK_TEXT_BYTES);
  fc.assert(
    fc.property(start, text, text, (length, a, b) => {
      const [first, second] = [`${'ä'.repeat(length / 2)}${a}`, `${'ä'.repeat(length / 2)}${b}`];
      const order = Buffer.compare(cut(first), cut(second));
      for (const direction of ['asc', 'desc'] as const) {
        const [firstRank, secondRank] = [first, second].map((value) => encodeRank([{ value, direction }]));
        assert.equal(
          Buffer.compare(firstRank as Buffer, secondRank as Buffer),
          direction === 'asc' ? order : 0 - order,
        );
      }
    }),
  );
});

test('a rank of long texts with the same beginning is decided by the next value', () => {
  const rank = (then: number) =>
    encodeRank([
      { value: `${'x'.repeat(300)}${then}`, direction: 'desc' },
      { value: then, direction: 'asc' },
    ]);
  assert.ok(Buffer.compare(rank(1), rank(2)) < 0);
});

test('a key, a rank and 56 bytes of numbers fit an index row of PostgreSQL of 2,704 bytes', () => {
  const longest = '\u{10ffff}'.repeat(16_384);
  const key = Math.max(
    ...[100, 127, 128, 200].map((length) => encodeKey([longest.slice(0, length * 2)]).length),
  );
  const rank = encodeRank(Array.from({ length: 8 }, () => ({ value: longest, direction: 'desc' as const })));
  // PostgreSQL stores the key and the rank with a length of 4 bytes each, aligned to a multiple of 4.
  assert.ok(56 + key + rank.length + 2 * 8 <= 2_704, `${key} and ${rank.length} bytes`);
});

test('keys of long values are equal exactly if the values are, and have at most 512 bytes', () => {
  const long = fc.tuple(start, text).map(([length, end]) => `${'x'.repeat(2 * length)}${end}`);
  fc.assert(
    fc.property(long, long, text, (a, b, c) => {
      assert.equal(encodeKey([a, c]).equals(encodeKey([b, c])), a === b);
      assert.ok(encodeKey([a, b]).length <= 512);
    }),
  );
  assert.equal(encodeKey(['x'.repeat(600)]).length, 33);
  assert.ok(!encodeKey(['x'.repeat(600)]).equals(encodeKey(['x'.repeat(300), 'x'.repeat(299)])));
});

test('a rank of several values is decided by the first value that differs', () => {
  fc.assert(
    fc.property(fc.tuple(text, number), fc.tuple(text, number), ([a, first], [b, second]) => {
      const rank = (leading: string, then: number) =>
        encodeRank([
          { value: leading, direction: 'asc' },
          { value: then, direction: 'desc' },
        ]);
      const order = sign(compareValues(a, b)) || 0 - sign(first - second);
      assert.equal(Buffer.compare(rank(a, first), rank(b, second)), order);
    }),
  );
});

test('keys are equal exactly if their values are, and never equal the key of a product that matches nothing', () => {
  const pair = fc.tuple(text, text);
  fc.assert(
    fc.property(pair, pair, (a, b) => {
      const isEqual = a[0] === b[0] && a[1] === b[1];
      assert.equal(encodeKey(a).equals(encodeKey(b)), isEqual);
      assert.ok(!encodeKey(a).equals(UNMATCHED_KEY));
    }),
  );
  assert.ok(!encodeKey([]).equals(UNMATCHED_KEY));
});

test('text is ordered by code point, like the bytes of UTF-8', () => {
  assert.ok(compareValues('\u{10000}', '\uffff') > 0, 'UTF-16 units would give the opposite order');
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.equal(sign(compareValues(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});
