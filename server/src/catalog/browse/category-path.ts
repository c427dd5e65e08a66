/**
 * A category path as one text, whose bytes sort as the lists of names do: a parent before what is below it, and that
 * before its next sibling. A name may hold any character but NUL, so the separator is escaped in names.
 */
const SEPARATOR = '\u0001\u0001';
const ESCAPED = '\u0001\u0002';

export const writePath = (path: readonly string[]): string =>
  path.map((name) => name.replaceAll('\u0001', ESCAPED)).join(SEPARATOR);

export const readPath = (text: string): string[] =>
  text.split(SEPARATOR).map((name) => name.replaceAll(ESCAPED, '\u0001'));

/** @returns what the texts of all paths below this one begin with */
export const beginBelow = (path: readonly string[]): string => `${writePath(path)}${SEPARATOR}`;
