// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileNumber, type NumberFormat } from './mapping-columns.ts';

const comma: NumberFormat = { decimal: 'comma' };
const point: NumberFormat = { decimal: 'point' };

const read: [NumberFormat, string, string | undefined][] = [
  [comma, '1.299,00', '1299.00'],
  [comma, '1299,00', '1299.00'],
  [comma, '1.299', '1299'],
  [comma, '1.29', undefined],
  [comma, '1.299.99', undefined],
  [comma, '1.234.567,8', '1234567.8'],
  [comma, '12.34.567', undefined],
  [comma, '1 299,5', '1299.5'],
  [comma, '1\u00a0299,5', '1299.5'],
  [comma, '1\u202f299,5', '1299.5'],
  [comma, "1'299,5", '1299.5'],
  [comma, '1.299 000', undefined],
  [comma, '-0,50', '-0.50'],
  [comma, '\u22123', '-3'],
  [comma, '12,50-', '-12.50'],
  [comma, '+7', '7'],
  [comma, ',5', '0.5'],
  [comma, '5,', '5'],
  [comma, '007,10', '7.10'],
  [comma, ' 8,1 ', '8.1'],
  [comma, '1,2,3', undefined],
  [comma, '', undefined],
  [comma, ',', undefined],
  [comma, '-', undefined],
  [comma, '--1', undefined],
  [comma, '12 cm', undefined],
  [comma, '1e5', undefined],
  [comma, '12,50 €', undefined],
  [comma, '٣', undefined],
  [point, '1,299.00', '1299.00'],
  [point, '1299.00', '1299.00'],
  [point, '1.299,00', undefined],
  [point, '1,29', undefined],
  [{ decimal: 'comma', group: '' }, '1.299,00', undefined],
  [{ decimal: 'comma', group: '' }, '1299,00', '1299.00'],
  [{ decimal: 'comma', group: '_' }, '1_299,00', '1299.00'],
  [{ decimal: 'comma', group: '_' }, '1.299,00', undefined],
];
for (const [format, text, number] of read) {
  test(`${JSON.stringify(text)} with decimal ${format.decimal} is ${number ?? 'not a number'}`, () => {
    assert.equal(compileNumber(format)(text), number);
  });
}

test('every number is read back from its format, whatever its separator of thousands', () => {
  const parts = fc.record({
    whole: fc.bigInt({ min: 0n, max: 10n ** 18n }),
    decimals: fc.stringMatching(/^\d{0,6}$/),
    sign: fc.constantFrom('', '-'),
    format: fc.constantFrom(
      { decimal: 'comma' as const, mark: ',' },
      { decimal: 'point' as const, mark: '.' },
    ),
    group: fc.constantFrom('', ' ', "'", '\u202f', 'other'),
  });
  fc.assert(
    fc.property(parts, ({ whole, decimals, sign, format: { decimal, mark }, group }) => {
      const separator = group.replace('other', mark === ',' ? '.' : ',');
      const grouped = String(whole).replace(/\B(?=(\d{3})+$)/g, separator);
      const write = (digits: string, point: string) =>
        decimals === '' ? `${sign}${digits}` : `${sign}${digits}${point}${decimals}`;
      assert.equal(compileNumber({ decimal })(write(grouped, mark)), write(String(whole), '.'));
    }),
  );
});

test('the result is a number for every program, and reading it again changes nothing', () => {
  const again = compileNumber(point);
  fc.assert(
    fc.property(
      fc.stringMatching(/^[-+]?[\d.,' ]{0,15}-?$/),
      fc.constantFrom(comma, point),
      (text, format) => {
        const number = compileNumber(format)(text);
        if (number === undefined) return;
        assert.match(number, /^-?\d+(\.\d+)?$/);
        assert.equal(again(number), number);
      },
    ),
  );
});
