import { ServiceError } from '../../kernel/errors.ts';
import type { IdentifierRange, ListedRow } from '../port.ts';
import {
  computeValueId,
  mainCategory,
  mainImage,
  smallImage,
  type UploadedProduct,
} from '../products/products.ts';

/** How a list shows products. Source: docs/interface.md §14.3. */

/** `upload`: all that was uploaded. `table`: what a table of many shows of each. */
export type ListForm = 'upload' | 'table';

export type UploadFront = Omit<UploadedProduct, 'attributes' | 'settings'>;

/** Where the front of an upload ends: quotes inside a string are escaped, so no string holds this. */
export const FRONT_END = ',"attributes":[';

/** @param after the last one seen */
export function planRange(prefix = '', after?: string): IdentifierRange {
  const to = findEnd(prefix);
  return after !== undefined && after >= prefix
    ? { from: after, isAfter: true, to }
    : { from: prefix, isAfter: false, to };
}

const LAST_CODE_POINT = 0x10ffff;
const BEFORE_SURROGATES = 0xd7ff;
const AFTER_SURROGATES = 0xe000;

/** @returns the first text behind all that begin with the prefix: its last code point that can grow is one greater */
function findEnd(prefix: string): string | undefined {
  const points = [...prefix].map((one) => one.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  return String.fromCodePoint(...points, last === BEFORE_SURROGATES ? AFTER_SURROGATES : last + 1);
}

/** @returns how many rows to read after a page that was cut: to measure those that do not fit takes as long as to read them */
export const nextPage = (
  most: number,
  { rows, isCut }: { readonly rows: readonly unknown[]; readonly isCut: boolean },
): number => (isCut ? Math.min(2 * rows.length, most) : most);

export interface ListedPage {
  /** JSON each. */
  readonly items: readonly string[];
  readonly nextCursor: string | null;
}

/** @returns JSON: the upload with id and lastUpdateTs behind its fields, without being parsed */
export const toListItem = ({ text, id, updatedAt }: ListedRow): string =>
  `${text.slice(0, -1)},"id":${id},"lastUpdateTs":${updatedAt}}`;

/** @returns JSON: a line of a table */
export const writeTableItem = (row: ListedRow): string => JSON.stringify(toTableItem(row));

/** The front is a small part of a large upload. */
export function readFront({ text }: ListedRow): UploadFront {
  const end = text.indexOf(FRONT_END);
  return JSON.parse(end < 0 ? text : `${text.slice(0, end)}}`) as UploadFront;
}

export const toTableItem = (row: ListedRow, front = readFront(row)) => ({
  id: row.id,
  ...describeBriefly(front),
  lastUpdateTs: row.updatedAt,
});

/** What many products are shown by; the image and the category as in docs/interface.md §12.5 rules 7 and 8. */
export const describeBriefly = ({ identifier, groupIdentifier, name, images, categories }: UploadFront) => ({
  identifier,
  groupId: groupIdentifier,
  name,
  image: mainImage(images)?.url ?? '',
  thumbnail: smallImage(images)?.url ?? '',
  category: mainCategory(categories)?.path ?? [],
});

/** @returns the number by which products under a category path are found; 53 bits, so that no two paths of a catalog share it */
export const keyOfCategory = (path: readonly string[]): number => computeValueId(0, JSON.stringify(path));

/** Names the categories of a product and those above them with their keys, each once. */
export function visitCategories(
  { categories }: Pick<UploadFront, 'categories'>,
  visit: (key: number, path: readonly string[]) => void,
): void {
  const keys = new Set<number>();
  for (const { path } of categories) {
    for (let depth = 1; depth <= path.length; depth += 1) {
      const above = path.slice(0, depth);
      const key = keyOfCategory(above);
      if (!keys.has(key)) visit(key, above);
      keys.add(key);
    }
  }
}

const MAX_DEPTH = 20;

/** Reads a category of a query. @throws query_invalid */
export function readCategory(parameter: string, text: string): string[] {
  const path = readNames(text);
  if (path !== undefined && path.length >= 1 && path.length <= MAX_DEPTH) return path;
  throw new ServiceError(
    'query_invalid',
    `/${parameter} must be a JSON list of 1 to ${MAX_DEPTH} names, such as ["Tools","Drills"]`,
  );
}

/** @returns a JSON list of texts; undefined for anything else */
function readNames(text: string): string[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : undefined;
  } catch {
    // Told to the caller with an example, whatever the parser met.
    return undefined;
  }
}
