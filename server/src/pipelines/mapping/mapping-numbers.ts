/** How a source writes numbers. */
export interface NumberFormat {
  readonly decimal: 'comma' | 'point';
  readonly group?: string;
}

export type ReadNumber = (text: string) => string | undefined;

/** Spaces that do not break a line stand between thousands as often as plain ones do. */
const SPACES = ' \u00a0\u202f\u2009';
const APOSTROPHES = "'\u2019";

/**
 * @returns reads a number of that format and writes it with a decimal point and nothing else: `1.299,00` as `1299.00`;
 * undefined for any other text
 *
 * Groups have three digits, and all are told apart by the same character: `1.29` under a decimal comma is more likely a
 * price of another format than one hundred and twenty-nine.
 */
export function compileNumber({ decimal, group }: NumberFormat): ReadNumber {
  const mark = decimal === 'comma' ? ',' : '.';
  const groups = group ?? `${decimal === 'comma' ? '.' : ','}${SPACES}${APOSTROPHES}`;
  return (text) => {
    const { sign, rest } = readSign(text.trim());
    const [whole = '', fraction, ...more] = rest.split(mark);
    const digits = readWhole(whole, groups);
    const isNumber = more.length === 0 && digits !== undefined && isDigits(fraction ?? '');
    if (!isNumber || (digits === '' && !fraction)) return undefined;
    const plain = digits.replace(/^0+(?=\d)/, '') || '0';
    const decimals = fraction ? `.${fraction}` : '';
    return `${sign}${plain}${decimals}`;
  };
}

/** Business software writes a minus behind the number. */
function readSign(text: string): { sign: string; rest: string } {
  const first = text[0] ?? '';
  if (first === '-' || first === '\u2212') return { sign: '-', rest: text.slice(1) };
  if (first === '+') return { sign: '', rest: text.slice(1) };
  return text.endsWith('-') ? { sign: '-', rest: text.slice(0, -1) } : { sign: '', rest: text };
}

function readWhole(text: string, groups: string): string | undefined {
  if (isDigits(text)) return text;
  const separator = [...text].find((character) => groups.includes(character));
  if (separator === undefined) return undefined;
  const [first = '', ...others] = text.split(separator);
  const isGrouped = /^\d{1,3}$/.test(first) && others.every((part) => /^\d{3}$/.test(part));
  return isGrouped ? first + others.join('') : undefined;
}

const isDigits = (text: string) => /^\d*$/.test(text);
