import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Comparable, compareValues } from './comparable.ts';
import { encodeKey, encodeRank, UNMATCHED_KEY } from './member-key.ts';

const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
/** No value of a catalog holds a NUL or an unpaired surrogate (docs/interface.md §2.3). */
const text = fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', ''));
const kinds: [string, fc.Arbitrary<Comparable>][] = [
  ['numbers', number],
  ['text', text],
];
const sign = Math.sign;

for (const [name, value] of kinds) {
  test(`ranks of ${name} sort by their bytes as the values do, turned round when descending`, () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        const rank = (one: Comparable, direction: 'asc' | 'desc') => encodeRank([{ value: one, direction }]);
        const order = sign(compareValues(a, b));
        assert.equal(Buffer.compare(rank(a, 'asc'), rank(b, 'asc')), order);
        assert.equal(Buffer.compare(rank(a, 'desc'), rank(b, 'desc')), 0 - order);
      }),
    );
  });

  test(`a missing value of ${name} is last, whatever the direction (§12.3 rule 4)`, () => {
    fc.assert(
      fc.property(value, fc.constantFrom('asc' as const, 'desc' as const), (one, direction) => {
        const missing = encodeRank([{ value: undefined, direction }]);
        assert.ok(Buffer.compare(encodeRank([{ value: one, direction }]), missing) < 0);
      }),
    );
  });
}

test('a rank of several sorts by the first that differs', () => {
  fc.assert(
    fc.property(fc.tuple(text, number), fc.tuple(text, number), ([a, first], [b, second]) => {
      const rank = (one: string, then: number) =>
        encodeRank([
          { value: one, direction: 'asc' },
          { value: then, direction: 'desc' },
        ]);
      const order = sign(compareValues(a, b)) || 0 - sign(first - second);
      assert.equal(Buffer.compare(rank(a, first), rank(b, second)), order);
    }),
  );
});

test('keys are equal exactly when their values are, and never that of a product that matches nothing', () => {
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

test('text compares by code point, as bytes of UTF-8 do', () => {
  assert.ok(compareValues('\u{10000}', '\uffff') > 0, 'not by UTF-16 unit');
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.equal(sign(compareValues(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});
