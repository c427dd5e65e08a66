/**
 * Numbers as they are written. `plain`: a decimal point, nothing else, as programs write them. `comma` and `point`: with
 * that decimal sign, and thousands in groups, as `1.234,50` and `1,234.50`. Source: docs/interface.md §11.3.
 */
export type NumberForm = 'plain' | 'comma' | 'point';

export const NUMBER_FORMS = ['plain', 'comma', 'point'] as const;

/** Between groups and before a unit: space, no-break space, narrow no-break space (CLDR's in French and German). */
const SPACES = ' \\u00a0\\u202f';
const groupsOf = (signs: string) => `[1-9]\\d{0,2}([${signs}'’${SPACES}])\\d{3}(?:\\1\\d{3})*`;
const POINT_NUMBER = '(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:[eE][+-]?\\d+)?';
const COMMA_NUMBER = '(?:\\d+(?:,\\d*)?|,\\d+)(?:[eE][+-]?\\d+)?';

const PATTERNS: Readonly<Record<NumberForm, RegExp>> = {
  plain: new RegExp(`^[+-]?${POINT_NUMBER}$`),
  comma: new RegExp(`^[+-]?(?:${groupsOf('.')}(?:,\\d+)?|${COMMA_NUMBER})$`),
  point: new RegExp(`^[+-]?(?:${groupsOf(',')}(?:\\.\\d+)?|${POINT_NUMBER})$`),
};
const GROUPED = /\d[.,'’ \u00a0\u202f]\d{3}(?!\d)/;

/** @returns the number as a program writes it; undefined when the text is none in this form, or too large to be one */
export function readPlain(text: string, form: NumberForm): string | undefined {
  if (!PATTERNS[form].test(text)) return undefined;
  const plain = form === 'plain' ? text : toPlain(text, form);
  return Number.isFinite(Number(plain)) ? plain : undefined;
}

function toPlain(text: string, form: 'comma' | 'point'): string {
  const decimal = form === 'comma' ? ',' : '.';
  if (!GROUPED.test(text)) return text.replace(decimal, '.');
  const [whole = '', fraction] = text.split(decimal);
  const digits = whole.replaceAll(/[^\d+-]/g, '');
  return fraction === undefined ? digits : `${digits}.${fraction}`;
}

/** @returns the number; undefined when the text is none, or too large to be one. */
export function readNumber(text: string, form: NumberForm): number | undefined {
  const plain = readPlain(text, form);
  return plain === undefined ? undefined : Number(plain);
}

export interface SplitMeasure {
  readonly number: string;
  /** undefined: nothing stands behind the number. */
  readonly unit: string | undefined;
}

/** A space that no group of digits follows. */
const SPACE = /[ \u00a0\u202f](?!\d{3}(?!\d))/;
/** Signs that people write against the number: 27", 50%, 20°C, 19,99€. */
const SIGN = /(?<=\d)["”″°%‰€$£¥]/;

/** Takes a number and its unit apart, whatever they are. */
export function splitMeasure(value: string): SplitMeasure {
  const space = value.search(SPACE);
  if (space >= 0) return { number: value.slice(0, space), unit: value.slice(space + 1) };
  const sign = value.search(SIGN);
  return sign < 0
    ? { number: value, unit: undefined }
    : { number: value.slice(0, sign), unit: value.slice(sign) };
}
