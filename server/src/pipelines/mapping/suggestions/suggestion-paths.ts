import type { Confidence } from './suggestion-reasons.ts';

/** Signs between the levels of a path, the surest first; the last four stand in names as well. */
const LEVEL_SIGNS = ['>', '»', '→', '::', '\\', '|', '/', ';'];
const IN_NAMES = new Set(['|', '/', ';']);
/** Signs between paths, where another one stands between levels. */
const PATH_SIGNS = ['\n', '||', '|', ';', ',', '#'];
/** `Hoodies &amp; Sweatshirts`: the sign that ends an entity separates nothing. */
const ENTITY = /&(?:[a-z]{2,8}|#\d{1,6});/gi;

export interface PathFormat {
  readonly separator?: string;
  readonly split?: string;
  readonly confidence: Confidence;
  readonly reason: string;
}

/** @returns how the cells of a column of categories are written, as far as it can be seen */
export function findPathFormat(cells: readonly string[]): PathFormat {
  const values = cells.map((cell) => cell.replace(ENTITY, '&'));
  const sign = findLevelSign(values);
  if (sign === undefined) return describeFlat(values);
  const split = PATH_SIGNS.find((between) => between !== sign && separatesPaths(values, sign, between));
  const separator = withSpaces(values, sign);
  const paths = values.flatMap((value) => (split === undefined ? value : value.split(split)));
  const found = { separator, ...(split !== undefined && { split }) };
  const tops = new Set(paths.map((path) => topOf(path, separator)));
  const isTree = tops.size * 2 <= new Set(paths).size;
  if (IN_NAMES.has(sign) && !isTree)
    return {
      ...found,
      confidence: 'low',
      reason: `${show(sign)} may be part of the names: few paths have the same top`,
    };
  const loose = split === undefined ? findLooseSign(values, sign) : undefined;
  if (loose !== undefined)
    return { ...found, confidence: 'low', reason: `${show(loose)} may stand between several paths` };
  const between = split === undefined ? '' : `, ${show(split)} between paths`;
  return { ...found, confidence: 'high', reason: `${show(separator)} stands between levels${between}` };
}

/** Of flat categories: a sign that may mean something is asked about. */
function describeFlat(values: readonly string[]): PathFormat {
  const sign = LEVEL_SIGNS.find((one) => values.some((value) => value.includes(one)));
  if (sign === undefined) return { confidence: 'high', reason: 'each value is one category' };
  return { confidence: 'low', reason: `${show(sign)} is taken as part of the names` };
}

function findLevelSign(values: readonly string[]): string | undefined {
  const counts = LEVEL_SIGNS.map((sign) => ({
    sign,
    count: values.filter((value) => value.includes(sign)).length,
  }));
  const most = Math.max(0, ...counts.map(({ count }) => count));
  const found = counts.find(({ count }) => count > 0 && count * 2 >= most);
  if (found === undefined || !IN_NAMES.has(found.sign)) return found?.sign;
  return found.count * 2 > values.length || sharesTops(values, found.sign) ? found.sign : undefined;
}

/** A sign that stands in names too is one between levels where several values begin alike. */
function sharesTops(values: readonly string[], sign: string): boolean {
  const distinct = [...new Set(values)].filter((value) => value.includes(sign));
  return new Set(distinct.map((value) => topOf(value, sign))).size < distinct.length;
}

const topOf = (path: string, separator: string): string => path.split(separator, 1)[0]?.trim() ?? '';

/**
 * Some cell has several parts, and each part begins like a path: at a top that another cell begins with, or with levels
 * of its own. The comma of `Nuts, bolts` is followed by neither.
 */
function separatesPaths(values: readonly string[], sign: string, between: string): boolean {
  const several = values.filter((value) => value.includes(between));
  const tops = new Set(values.map((value) => topOf(value.split(between, 1)[0] ?? '', sign)));
  const isPath = (part: string) =>
    tops.has(topOf(part, sign)) || (part.includes(sign) && !isContinued(part, between));
  return several.length > 0 && several.every((value) => value.split(between).slice(1).every(isPath));
}

/** `Tops, Tees/Shirts`: after a comma with a space a new top is less likely than the rest of a name. */
const isContinued = (part: string, between: string) => between === ',' && part.startsWith(' ');

/** A sign that would part paths in some cells, and does not in others. */
function findLooseSign(values: readonly string[], sign: string): string | undefined {
  const tops = new Set(values.map((value) => topOf(value, sign)));
  return PATH_SIGNS.find(
    (between) =>
      between !== sign &&
      values.some((value) =>
        value
          .split(between)
          .slice(1)
          .some((part) => tops.has(topOf(part, sign))),
      ),
  );
}

/** A name may hold the sign without spaces, as `TV/HiFi / Audio`. */
function withSpaces(values: readonly string[], sign: string): string {
  const spaced = ` ${sign} `;
  const all = values.filter((value) => value.includes(sign));
  const isSpaced = (value: string) => value.includes(spaced);
  return (IN_NAMES.has(sign) ? all.some(isSpaced) : all.every(isSpaced)) ? spaced : sign;
}

const show = (sign: string): string => JSON.stringify(sign);
