// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Attribute, describeNotExtracted, indexByKey, readPlain, readValue } from './attribute.ts';

const numeric = (unitName?: string, decimal?: 'point' | 'comma'): Attribute => ({
  id: 7,
  name: 'Length',
  type: 'NUMERIC_ATTRIBUTE',
  ...(unitName !== undefined && { unitName }),
  ...(decimal !== undefined && { decimal }),
});
const unit = fc.stringMatching(/^[^\d\s]\S{0,11}$/);
/** Numbers with two decimals, in the form that people write. */
const written = fc.integer({ min: -1_000_000, max: 1_000_000 }).map((hundredths) => hundredths / 100);

test('a number is read with the unit of its attribute, and not with another unit or without one (§11.3)', () => {
  fc.assert(
    fc.property(written, unit, unit, (number, own, other) => {
      assert.deepEqual(readValue(`${number} ${own}`, numeric(own)), { kind: 'number', number });
      assert.deepEqual(readValue(String(number), numeric()), { kind: 'number', number });
      assert.deepEqual(readValue(String(number), numeric(own)), { kind: 'none', why: 'unit_missing' });
      assert.deepEqual(readValue(`${number} ${own}`, numeric()), { kind: 'none', why: 'unit_other' });
      if (other !== own)
        assert.deepEqual(readValue(`${number} ${other}`, numeric(own)), { kind: 'none', why: 'unit_other' });
    }),
  );
});

test('a number with a decimal comma is read only if its attribute has decimal commas (§11.3 rule 1)', () => {
  fc.assert(
    fc.property(written, (number) => {
      const withComma = String(number).replace('.', ',');
      assert.deepEqual(readValue(`${withComma} €`, numeric('€', 'comma')), { kind: 'number', number });
      if (Number.isInteger(number)) return;
      assert.deepEqual(readValue(`${withComma} €`, numeric('€')), { kind: 'none', why: 'value_not_numeric' });
      assert.deepEqual(readValue(`${number} €`, numeric('€', 'comma')), {
        kind: 'none',
        why: 'value_not_numeric',
      });
    }),
  );
});

test('a number that is read is finite, and a text without digits is not a number', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const plain = readPlain(text, 'plain');
      assert.ok(plain === undefined || Number.isFinite(Number(plain)));
      if (!/\d/.test(text)) assert.equal(plain, undefined);
    }),
  );
  for (const text of ['', '.', '+', '-', '1e', '1e999', '0x10', '1_000', 'NaN', '١٢', '1 ', '\n1'])
    assert.equal(readPlain(text, 'plain'), undefined, JSON.stringify(text));
});

test('a date is read if its day exists, with or without a time (§11.3)', () => {
  const date: Attribute = { id: 1, name: 'Since', type: 'DATE_ATTRIBUTE' };
  fc.assert(
    fc.property(
      fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
      (day) => {
        assert.equal(readValue(day.toISOString(), date).kind, 'date');
        assert.equal(readValue(day.toISOString().slice(0, 10), date).kind, 'date');
      },
    ),
  );
  for (const text of ['2023-02-29', '2024-04-31', '2024-00-10', '2024-01-00', '24-01-01', '2024-01-01T24:00'])
    assert.deepEqual(readValue(text, date), { kind: 'none', why: 'value_not_date' }, text);
});

test('only true and false are read as booleans, in upper or lower case (§11.3)', () => {
  const boolean: Attribute = { id: 1, name: 'Sold', type: 'BOOLEAN_ATTRIBUTE' };
  fc.assert(
    fc.property(fc.mixedCase(fc.constantFrom('true', 'false')), (text) => {
      assert.deepEqual(readValue(text, boolean), { kind: 'boolean', boolean: text.toLowerCase() === 'true' });
    }),
  );
  for (const text of ['yes', '1', 'true ', 'truefalse'])
    assert.deepEqual(readValue(text, boolean), { kind: 'none', why: 'value_not_boolean' }, text);
});

test('text and untyped attributes accept every string that is not blank (§11.3 rule 4)', () => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom('TEXT_ATTRIBUTE', 'UNTYPED_ATTRIBUTE'), (text, type) => {
      const expected = text.trim() === '' ? { kind: 'none', why: 'value_empty' } : { kind: 'text' };
      assert.deepEqual(readValue(text, { type }), expected);
    }),
  );
});

test('the reason for a missing fact names the unit of the attribute', () => {
  assert.match(describeNotExtracted('unit_missing', numeric('in')), /\bin\b/);
  assert.match(describeNotExtracted('value_not_numeric', numeric()), /a number alone/);
});

test('the name of an attribute takes precedence over a synonym of another', () => {
  const byKey = indexByKey([
    { id: 1, name: 'Colour', type: 'TEXT_ATTRIBUTE' },
    { id: 2, name: 'Tint', type: 'TEXT_ATTRIBUTE', synonyms: ['Colour', 'Farbe', '__proto__'] },
  ]);
  assert.deepEqual(
    ['Colour', 'Tint', 'Farbe', '__proto__', 'constructor'].map((key) => byKey.get(key)?.id),
    [1, 2, 2, 2, undefined],
  );
});
