import { compileNumber, type NumberFormat } from '../mapping-numbers.ts';

export const isUrl = (text: string) => /^https?:\/\/[^\s/]/i.test(text);

export function isImageUrl(text: string): boolean {
  return isUrl(text) && /\.(jpe?g|png|gif|webp|avif|svg|bmp|tiff?)([?#\s,;|]|$)/i.test(text);
}

/** A file of a picture, with or without the address before it. */
export const isImageFile = (text: string): boolean =>
  /^[^\s,;|]{1,2000}\.(jpe?g|png|gif|webp|avif|svg|bmp|tiff?)(\?[^\s,;|]{0,2000})?$/i.test(text);

/** @returns what stands between several images in a cell */
export function findImageSplit(values: readonly string[]): string | undefined {
  const isImage = (part: string) => isUrl(part.trim()) || isImageFile(part.trim());
  return [',', '|', ';', '\n', ' '].find((sign) =>
    values.some((value) => value.includes(sign) && value.split(sign).every(isImage)),
  );
}

/** @returns what stands between the words of a list, as `red, blue`; undefined where a cell is one text */
export function findListSplit(values: readonly string[]): string | undefined {
  return ['|', ';', ','].find(
    (sign) => values.filter((value) => value.includes(sign)).length * 4 >= values.length,
  );
}

/** A number, with a currency or a short unit if there is one: `19.90 EUR`, `€ 5`, `1.299,00`. */
export const isAmount = (text: string): boolean =>
  text.length <= 40 &&
  /^(\p{Sc}|[A-Z]{3} )?\s?[-+]?\d[\d.,']*\s?(\p{Sc}|%|[°"]|\p{L}{1,4})?$/u.test(text.trim());

/** `19.9`: what people sell is seldom numbered so. */
export const isFraction = (text: string): boolean => /^-?\d{1,15}[.,]\d{1,6}$/.test(text);

const DATE = /^(\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})/;
export const isDate = (text: string): boolean => DATE.test(text);

const comma = compileNumber({ decimal: 'comma' });
const point = compileNumber({ decimal: 'point' });

/**
 * @returns the format of numbers that are written with a decimal comma or with groups; undefined for numbers that can stay
 * as they are, and where not every value is a number of the format
 */
export function findNumberFormat(values: readonly string[]): NumberFormat | undefined {
  const isComma =
    values.some((value) => /\d,\d{1,2}$|\d,\d{4,}$/.test(value)) &&
    values.every((value) => comma(value) !== undefined);
  if (isComma) return { decimal: 'comma' };
  const isGrouped = values.some((value) => /\d[,' \u00a0\u202f]\d{3}\.\d/.test(value));
  return isGrouped && values.every((value) => point(value) !== undefined) ? { decimal: 'point' } : undefined;
}
