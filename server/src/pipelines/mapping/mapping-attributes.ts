import type { ColumnValue } from '../formats/formats.ts';
import type { CompiledColumn, RowView } from './mapping-columns.ts';
import {
  findTextProblem,
  type MapPart,
  type MappedProduct,
  type MappedValue,
  note,
  toList,
} from './mapping-parts.ts';

/** Source: docs/interface.md §2.3. */
const KEY_LENGTH = 255;
const VALUE_LENGTH = 65_536;
const ATTRIBUTES = 2_000;
/** Of a name that is too long for a key. */
const SHOWN_LENGTH = 289;

export interface ValueSource {
  readonly column: CompiledColumn;
  readonly userGroups: readonly string[] | undefined;
}

/** `removesEmpty`: a cell that is there and empty removes the attribute. */
export function mapAttribute(key: string, sources: readonly ValueSource[], removesEmpty: boolean): MapPart {
  return (row, product) => {
    const before = product.attributes?.length ?? 0;
    for (const source of sources) addValues(key, source, { row, product });
    const isEmpty = removesEmpty && (product.attributes?.length ?? 0) === before;
    if (isEmpty && sources.some(({ column }) => isPresent(row, column))) push(product, { key, value: null });
  };
}

export interface Mapped {
  readonly row: RowView;
  readonly product: MappedProduct;
}

function addValues(key: string, { column, userGroups }: ValueSource, { row, product }: Mapped): void {
  for (const value of toList(column.read(row))) {
    const reason = findTextProblem(value, VALUE_LENGTH);
    if (reason !== undefined) note(row, { field: `attributes.${key}`, column, reason });
    push(product, userGroups === undefined ? { key, value } : { key, value, userGroups });
  }
}

/** A column that the row does not have says nothing; one that is there and empty does. */
function isPresent({ values }: RowView, { uses }: CompiledColumn): boolean {
  return uses.some((name) => values[name] !== undefined);
}

/** Every column but these, under its own name. The hot part of most mappings: all cells of all rows. */
export function mapRest(isUsed: (column: string) => boolean, removesEmpty: boolean): MapPart {
  return (row, product) => {
    const { values } = row;
    for (const key in values) {
      const value = values[key];
      if (value === undefined || key === '' || isUsed(key)) continue;
      addRest(key, value, { row, product });
      if (removesEmpty && toList(value).every((text) => text === '')) push(product, { key, value: null });
    }
  };
}

function addRest(key: string, value: ColumnValue, mapped: Mapped): void {
  if (typeof value === 'string') addCell(key, value, mapped);
  else for (const text of value) addCell(key, text, mapped);
}

export function addCell(key: string, value: string, { row, product }: Mapped): void {
  if (value === '') return;
  const isLongKey = key.length > KEY_LENGTH && [...key].length > KEY_LENGTH;
  const longKey = `the name of the column is longer than ${KEY_LENGTH} characters`;
  const reason = isLongKey ? longKey : findTextProblem(value, VALUE_LENGTH);
  if (reason !== undefined)
    // Cut before it is put together: a part of a text keeps the whole of it, here one for each row.
    row.problems.push({ field: `attributes.${key.slice(0, SHOWN_LENGTH)}`, column: key, reason });
  push(product, { key, value });
}

export function push(product: MappedProduct, value: MappedValue): void {
  if (product.attributes === undefined) product.attributes = [value];
  else product.attributes.push(value);
}

export const checkAttributes: MapPart = (row, { attributes }) => {
  if ((attributes?.length ?? 0) > ATTRIBUTES)
    note(row, { field: 'attributes', reason: `are more than ${ATTRIBUTES.toLocaleString('en')}` });
};
