import { compileNumber, type NumberFormat } from '../mapping-numbers.ts';

export const isUrl = (text: string) => /^https?:\/\/[^\s/]/i.test(text);

export function isImageUrl(text: string): boolean {
  return isUrl(text) && /\.(jpe?g|png|gif|webp|avif|svg|bmp|tiff?)([?#\s,;|]|$)/i.test(text);
}

/** @returns what stands between several URLs in a cell */
export function findImageSplit(values: readonly string[]): string | undefined {
  return [',', '|', ';', '\n', ' '].find((sign) =>
    values.some((value) => value.split(sign).filter((part) => isUrl(part.trim())).length > 1),
  );
}

/** Signs between the levels of a path, the surest first. */
const LEVEL_SIGNS = ['>', '»', '→', '|', '\\', '::', '/', ';'];
/** Signs between paths, where another one stands between levels. */
const PATH_SIGNS = ['\n', '||', '|', ';', ',', '#'];

/** @returns how the cells of a column of categories are written, as far as it can be seen */
export function findPathFormat(values: readonly string[]): { separator?: string; split?: string } {
  const counts = LEVEL_SIGNS.map((sign) => ({
    sign,
    count: values.filter((value) => value.includes(sign)).length,
  }));
  const most = Math.max(0, ...counts.map(({ count }) => count));
  const sign = counts.find(({ count }) => count > 0 && count * 2 >= most)?.sign;
  if (sign === undefined) return {};
  const split = PATH_SIGNS.find((between) => between !== sign && separatesPaths(values, sign, between));
  return { separator: withSpaces(values, sign), ...(split !== undefined && { split }) };
}

/** Some cell has several parts, and in every such cell each part is a path of its own. */
function separatesPaths(values: readonly string[], sign: string, between: string): boolean {
  const several = values.filter((value) => value.includes(between));
  return (
    several.length > 0 && several.every((value) => value.split(between).every((part) => part.includes(sign)))
  );
}

/** A name may hold the sign without spaces, as `TV/HiFi / Audio`. */
function withSpaces(values: readonly string[], sign: string): string {
  const spaced = ` ${sign} `;
  const all = values.filter((value) => value.includes(sign));
  return all.every((value) => value.includes(spaced)) ? spaced : sign;
}

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
