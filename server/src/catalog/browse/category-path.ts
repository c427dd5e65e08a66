import { ServiceError } from '../../kernel/errors.ts';

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

const MAX_DEPTH = 20;

/** Reads a category of a query. @throws query_invalid */
export function readCategory(parameter: string, text: string): string[] {
  const path = readNames(text);
  if (path !== undefined && path.length >= 1 && path.length <= MAX_DEPTH) return path;
  throw new ServiceError('query_invalid', {
    details: [`/${parameter} must be a JSON list of 1 to ${MAX_DEPTH} names, such as ["Tools","Drills"]`],
  });
}

/** @returns a JSON list of texts; undefined for anything else */
export function readNames(text: string): string[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : undefined;
  } catch {
    // Told to the caller with an example, whatever the parser met.
    return undefined;
  }
}
