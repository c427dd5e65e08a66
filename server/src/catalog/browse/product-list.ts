import {
  type ComparedAttribute,
  compileFilter,
  compileOperator,
  type Filter,
  viewUpload,
} from '../filters/filters.ts';
import type { UploadedProduct } from '../products/products.ts';
import { computeValueId, mainCategory, mainImage, smallImage } from '../products/products.ts';

/** Which products a list shows, and how. Source: docs/interface.md §14.3. */
export interface ProductFilter {
  readonly identifierPrefix?: string | undefined;
  /** The top of a category path, or all of it. */
  readonly category?: readonly string[] | undefined;
  /** A part of the name, upper or lower case. */
  readonly name?: string | undefined;
  /** All of them must hold. */
  readonly attributes?: readonly AttributeFilter[] | undefined;
}

/** A value uploaded under one of these keys, with this part, upper or lower case. */
export interface AttributeFilter {
  readonly keys: readonly string[];
  readonly contains: string;
}

/** `upload`: all that was uploaded. `table`: what a table of many shows of each. */
export type ListForm = 'upload' | 'table';

/** A product as a list reads it. */
export interface ListedRow {
  readonly id: number;
  readonly identifier: string;
  readonly updatedAt: number;
  /** JSON of the upload, or of its front: the fields before its attributes. */
  readonly text: string;
}

/** A product of one document. */
export interface PlacedRow extends ListedRow {
  readonly document: number;
}

export type UploadFront = Omit<UploadedProduct, 'attributes' | 'settings'>;

/** Where the front of an upload ends: quotes inside a string are escaped, so no string holds this. */
export const FRONT_END = ',"attributes":[';

/** Identifiers in the order of their bytes. */
export interface IdentifierRange {
  readonly from: string;
  /** Whether `from` itself is left out. */
  readonly isAfter: boolean;
  /** The first behind the range; undefined: to the end. */
  readonly to: string | undefined;
}

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

/** Whether the front of an upload is too little for it. */
export const needsAttributes = (filter: ProductFilter): boolean => (filter.attributes ?? []).length > 0;

/**
 * @returns a test for all of a filter except the prefix, by which rows are read. Category and attributes are conditions of
 * the language of filters: `contains`, of values taken as text whatever their type. It has no word for the name.
 */
export function compileListFilter({ category, name = '', attributes = [] }: ProductFilter) {
  const compared = attributes.map(toTextAttribute);
  const conditions = attributes.map(
    ({ contains }, at): Filter => ({ attribute: `${at}`, operator: 'contains', value: contains }),
  );
  const all = category === undefined ? conditions : [{ category }, ...conditions];
  const holds = compileFilter({ all }, (at) => compared[Number(at)] as ComparedAttribute);
  const isNamed = compileOperator('contains', [name]);
  return (product: UploadFront): boolean =>
    isNamed(product.name) && holds(viewUpload(product as UploadedProduct));
}

const toTextAttribute = ({ keys }: AttributeFilter): ComparedAttribute => ({
  name: '',
  type: 'UNTYPED_ATTRIBUTE',
  keys,
});

/** @returns how many rows to read after a page that was cut: to measure those that do not fit takes as long as to read them */
export const nextPage = (
  most: number,
  { rows, isCut }: { readonly rows: readonly unknown[]; readonly isCut: boolean },
): number => (isCut ? Math.min(2 * rows.length, most) : most);

/** @returns JSON: the upload with id and lastUpdateTs behind its fields, without being parsed, or a line of a table */
export function toListItem({ text, ...row }: ListedRow, form: ListForm): string {
  if (form === 'table') return JSON.stringify(toTableItem({ text, ...row }));
  return `${text.slice(0, -1)},"id":${row.id},"lastUpdateTs":${row.updatedAt}}`;
}

export const toTableItem = (row: ListedRow, parsed: UploadFront = JSON.parse(row.text)) => ({
  id: row.id,
  ...describeBriefly(parsed),
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
