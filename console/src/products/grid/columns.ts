import { t } from '../../languages/text.ts';
import { readList } from '../../rules/saved-views.ts';

/** Columns that every product has besides identifier and name; columns of attributes begin with a colon. */
const OWN = ['category', 'group', 'changed'] as const;
/** More columns would be too narrow to read. */
export const MOST_COLUMNS = 8;

/** `category`, or `:Price`. */
export type Column = string;

export const columnOf = (attribute: string): Column => `:${attribute}`;

/** @returns the name of the attribute; undefined for columns that every product has */
export const attributeOf = (column: Column): string | undefined =>
  column.startsWith(':') ? column.slice(1) : undefined;

export const nameColumn = (column: Column): string =>
  attributeOf(column) ??
  { category: t('Category'), group: t('Group'), changed: t('Changed') }[column] ??
  column;

export const listOwn = (): readonly Column[] => OWN;

/** @returns the columns of an address or of the browser's storage; the default ones if it is unreadable */
export function readColumns(text: string): readonly Column[] {
  const list = readList(text);
  return list ? [...new Set(list.filter(isColumn))].slice(0, MOST_COLUMNS) : OWN;
}

const isColumn = (value: unknown): value is Column =>
  typeof value === 'string' &&
  (value.length > 1 && value.startsWith(':') ? true : OWN.some((name) => name === value));

export const writeColumns = (columns: readonly Column[]): string => JSON.stringify(columns);
