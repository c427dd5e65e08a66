/** The largest exponent that is written out. No price or measure has more digits. */
const LARGEST_EXPONENT = 400;
const WITH_EXPONENT = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,9})$/;

/** @returns a number as a plain decimal: `1.5e-7` becomes `0.00000015`; text without an exponent is unchanged */
export function writePlainNumber(text: string): string {
  const match = WITH_EXPONENT.exec(text);
  if (match === null) return text;
  const [, sign = '', whole = '', fraction = '', exponent = ''] = match;
  const shift = Number(exponent);
  if (Math.abs(shift) > LARGEST_EXPONENT) return text;
  const digits = whole + fraction;
  const point = whole.length + shift;
  const integer = point > 0 ? digits.padEnd(point, '0').slice(0, point) : '0';
  const decimals = point < 0 ? '0'.repeat(-point) + digits : digits.slice(Math.max(0, point));
  // This is not a pattern, because matching trailing zeros would take time quadratic in their number.
  const trimmed = decimals.slice(0, [...decimals].findLastIndex((digit) => digit !== '0') + 1);
  return `${sign}${integer.replace(/^0+(?=\d)/, '')}${trimmed === '' ? '' : `.${trimmed}`}`;
}
