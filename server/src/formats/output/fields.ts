/** The fields of an outgoing file: which values each accepts, and how a value is checked and written. */
export const text = (name: string, maxLength?: number): Field => ({
  name,
  kind: 'text',
  ...(maxLength !== undefined && { maxLength }),
});
/** A text whose meaning truncation would change, such as a number, a code or a measure. */
export const code = (name: string, maxLength: number): Field => ({ name, kind: 'identifier', maxLength });
export const url = (name: string): Field => ({ name, kind: 'url' });
export const gtin: Field = { name: 'gtin', kind: 'gtin' };
export const choice = (name: string, ...choices: string[]): Field => ({ name, kind: 'choice', choices });
export const required = (field: Field): Field => ({ ...field, isRequired: true });

export const freeField = (name: string): Field => ({ name, kind: 'text', most: Number.POSITIVE_INFINITY });

export type FieldKind = keyof typeof READERS;

export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly isRequired?: true;
  /** A longer text is truncated, and a longer identifier is refused. */
  readonly maxLength?: number;
  readonly choices?: readonly string[];
  check?(text: string): boolean;
  /** The maximum number of its values; default 1. */
  readonly most?: number;
  /** For a group attribute: the names of its parts, which colons separate in a text. */
  readonly parts?: readonly string[];
}

/** The value in the form of the format, with a note about a change; or the reason why it cannot be written. */
export type ReadField = { readonly value: string; readonly note?: string } | { readonly problem: string };

const ok = (value: string): ReadField => ({ value });
const no = (problem: string): ReadField => ({ problem });

const READERS = {
  text(text, { maxLength = Number.POSITIVE_INFINITY }) {
    if (text.length <= maxLength) return ok(text);
    // Does not cut within a surrogate pair.
    const cut = text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '');
    return { value: cut, note: `was cut to ${maxLength} characters` };
  },
  identifier: (text, { maxLength = Number.POSITIVE_INFINITY }) =>
    text.length <= maxLength ? ok(text) : no(`is longer than ${maxLength} characters`),
  url(text) {
    const address = text.trim();
    if (!HTTP_URL.test(address)) return no('is not an absolute http or https address');
    return address.length <= URL_LENGTH ? ok(address) : no(`is longer than ${URL_LENGTH} characters`);
  },
  price: (text) => readPrice(text.trim()),
  choice(text, { choices = [] }) {
    const word = text
      .trim()
      .toLowerCase()
      .replace(/[\s-]+/g, '_');
    return choices.includes(word) ? ok(word) : no(`is not one of ${choices.join(', ')}`);
  },
  boolean(text) {
    const word = text.trim().toLowerCase();
    return word === 'true' || word === 'false' ? ok(word) : no('is neither true nor false');
  },
  gtin: (text) => readGtin(text.replace(/[\s-]/g, '')),
  integer: (text) => (/^\d{1,15}$/.test(text.trim()) ? ok(text.trim()) : no('is not a whole number')),
  decimal: (text) =>
    /^\d{1,15}(\.\d{1,9})?$/.test(text.trim()) ? ok(text.trim()) : no('is not a decimal number'),
  country: (text) =>
    /^[A-Za-z]{2}$/.test(text.trim())
      ? ok(text.trim().toUpperCase())
      : no('is not a country code of two letters'),
  checked: (text, { check }) =>
    check?.(text) === false ? no('does not match the form that the format requires') : ok(text),
} satisfies Readonly<Record<string, (text: string, field: Field) => ReadField>>;

export const readField = (text: string, field: Field): ReadField => READERS[field.kind](text, field);

/** Checks by pattern, because parsing URLs would take most of the time of a row. */
const HTTP_URL = /^https?:\/\/[^\s/?#@\\]+(?:[/?#]\S*)?$/i;
const URL_LENGTH = 2_000;

export const CURRENCY_SIGNS: Readonly<Record<string, string>> = {
  '€': 'EUR',
  $: 'USD',
  '£': 'GBP',
  '¥': 'JPY',
};
const PRICE = /^(?:([A-Z]{3}|[€$£¥])\s*)?(\d{1,12}(?:[.,]\d{1,3})?)(?:\s*([A-Z]{3}|[€$£¥]))?$/;

/** Accepts `19.99 EUR` (ISO 4217), and converts `19,99 €`, the form that people write. */
function readPrice(text: string): ReadField {
  const [, before, amount = '', after] = PRICE.exec(text) ?? [];
  if (amount === '') return no('is not a price, such as 19.99 EUR');
  const currency = after ?? before;
  if (currency === undefined || (before !== undefined && after !== undefined))
    return no('has no currency; write a price such as 19.99 EUR');
  if (Number(amount.replace(',', '.')) === 0) return no('is 0, which is not a price to publish');
  return ok(`${amount.replace(',', '.')} ${CURRENCY_SIGNS[currency] ?? currency}`);
}

const GTIN_LENGTHS = new Set([8, 12, 13, 14]);

/** Source: GS1 General Specifications, 7.9: weights 3 and 1 from the right. */
function readGtin(digits: string): ReadField {
  if (!/^\d+$/.test(digits) || !GTIN_LENGTHS.has(digits.length))
    return no('is not a GTIN of 8, 12, 13 or 14 digits');
  let sum = 0;
  for (let index = 0; index < digits.length - 1; index += 1)
    sum += Number(digits[digits.length - 2 - index]) * (index % 2 === 0 ? 3 : 1);
  const isValid = (10 - (sum % 10)) % 10 === Number(digits.at(-1));
  return isValid ? ok(digits) : no('is not a valid GTIN: its check digit is wrong');
}
