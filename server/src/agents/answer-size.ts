/**
 * An answer is to stay under 4,000 tokens, and an agent gets it twice: structured and as text. Tokens are counted from above:
 * three letters of ASCII each, and every other character one.
 */
export const TOKENS = 1_700;
const LETTERS_PER_TOKEN = 3;
const ASCII = /[\0-\x7f]+/g;

export function countTokens(text: string): number {
  const others = text.replace(ASCII, '').length;
  return Math.ceil((text.length - others) / LETTERS_PER_TOKEN) + others;
}

/** @returns as many of the first as fit, at least one */
export function fitPage<Item>(items: readonly Item[], spent = 0): readonly Item[] {
  let left = TOKENS - spent;
  const at = items.findIndex((item) => {
    left -= countTokens(JSON.stringify(item)) + 1;
    return left < 0;
  });
  return at < 0 ? items : items.slice(0, Math.max(1, at));
}

export interface OffsetPage<Item> {
  readonly page: readonly Item[];
  readonly nextOffset: number | null;
}

/** The part of a list behind an offset that fits. */
export function fitFrom<Item>(items: readonly Item[], offset = 0, spent = 0): OffsetPage<Item> {
  const page = fitPage(items.slice(offset), spent);
  const end = offset + page.length;
  return { page, nextOffset: end < items.length ? end : null };
}

const TEXT = 120;
const SHORT = 60;

/** A text is cut, so that a single product always fits. */
export function shorten(text: string, most: number = TEXT): string {
  const points = [...text.slice(0, 2 * most)];
  return text.length <= most ? text : `${points.slice(0, most).join('')}…`;
}
export const shortenValue = (text: string) => shorten(text, SHORT);
