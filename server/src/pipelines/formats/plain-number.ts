/** As far as a number is written out: no price or measure has more digits. */
const LARGEST_EXPONENT = 400;
const WITH_EXPONENT = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,9})$/;

/** @returns a number as a plain decimal: `1.5e-7` becomes `0.00000015`; what has no exponent stays as it is written */
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
  const trimmed = trimZeros(decimals);
  return `${sign}${integer.replace(/^0+(?=\d)/, '')}${trimmed === '' ? '' : `.${trimmed}`}`;
}

/** No pattern: one that looks for zeros at the end takes the square of their number. */
function trimZeros(decimals: string): string {
  let end = decimals.length;
  while (decimals[end - 1] === '0') end -= 1;
  return decimals.slice(0, end);
}
