import type { Image } from '../../catalog/products/schemas/schemas.ts';
import { type ColumnValue, cellOf, isSelector, listColumns } from '../../formats/input/input.ts';
import { isStorableText } from '../../kernel/storable-text.ts';
import { isQuantity, MOST_QUANTITY } from '../../relations/links/links.ts';
import { type CompiledColumn, MappingProblem, quote, type RowView } from './mapping-columns.ts';
import type { Column, KeyValuesSpec, Mapping } from './mapping-schemas.ts';

/**
 * A product in the form of an update. In mode partial it has only the mapped parts, and in mode delete only the
 * identifier.
 */
export interface MappedProduct {
  readonly identifier: string;
  groupIdentifier?: string;
  name?: string;
  productUrl?: string;
  images?: Image[];
  categories?: MappedPath[];
  attributes?: MappedValue[];
  /** Only in mode links, in which the identifier is that of the source. */
  targets?: (string | CountedTarget)[];
}

interface CountedTarget {
  readonly identifier: string;
  readonly quantity: number;
}

interface MappedPath {
  readonly path: readonly string[];
}

export interface MappedValue {
  readonly key: string;
  /** null removes the attribute, in mode partial. */
  readonly value: string | null;
  readonly userGroups?: readonly string[];
  /** Values of a product with the same row belong together. Source: docs/interface §13.8 rule 12. */
  readonly row?: number;
}

/** Adds its part to a product, or notes why it cannot. */
export type MapPart = (row: RowView, product: MappedProduct) => void;

/** Source: docs/interface §2.3. The mapping checks them by column, so that a report can name the column. */
const LENGTHS = {
  identifier: 255,
  source: 255,
  groupIdentifier: 255,
  name: 1_000,
  productUrl: 4_096,
} as const;
const URL_LENGTH = 4_096;
const IMAGES = 200;
const CATEGORIES = 100;
const LEVELS = 20;
const LEVEL_LENGTH = 1_000;

/** @returns the single text of a column; undefined, with a note, if a product cannot have the value */
export function readText(
  row: RowView,
  column: CompiledColumn,
  { field, isNeeded }: { readonly field: keyof typeof LENGTHS; readonly isNeeded: boolean },
): string | undefined {
  const before = row.problems.length;
  const value = column.read(row);
  if (typeof value === 'string') {
    const reason = findTextProblem(value, LENGTHS[field]);
    if (reason === undefined) return value;
    note(row, { field, column, reason });
  } else if (value !== undefined) {
    note(row, { field, column, reason: 'has several values; only one is allowed' });
  } else if (isNeeded && row.problems.length === before) note(row, { field, column, reason: 'is empty' });
  return undefined;
}

export function mapText(
  field: 'groupIdentifier' | 'name' | 'productUrl',
  column: CompiledColumn,
  isNeeded: boolean,
): MapPart {
  return (row, product) => {
    const text = readText(row, column, { field, isNeeded });
    if (text !== undefined) product[field] = text;
  };
}

interface ImageSource {
  readonly column: CompiledColumn;
  readonly type: Image['type'] | undefined;
}

/** The first image is the large one, unless the mapping specifies another type. */
export function mapImages(sources: readonly ImageSource[]): MapPart {
  const field = 'images';
  return (row, product) => {
    const images = new Map<string, Image>();
    for (const source of sources) addImages(images, source, row);
    if (images.size > IMAGES) note(row, { field, reason: `are more than ${IMAGES}` });
    if (images.size > 0) product.images = [...images.values()];
  };
}

function addImages(images: Map<string, Image>, { column, type }: ImageSource, row: RowView): void {
  for (const url of toList(column.read(row))) {
    const reason = findTextProblem(url, URL_LENGTH);
    if (reason !== undefined) note(row, { field: 'images', column, reason });
    const usual = images.size === 0 ? 'LARGE' : 'ALTERNATIVE';
    if (!images.has(url)) images.set(url, { url, type: type ?? usual });
  }
}

interface PathSource {
  readonly column: CompiledColumn;
  readonly separator: string | undefined;
}

/** Names are trimmed, because the spaces around separators often vary. */
export function mapCategories(sources: readonly PathSource[]): MapPart {
  return (row, product) => {
    const distinct = new Map<string, MappedPath>();
    for (const source of sources) addPaths(distinct, source, row);
    if (distinct.size > 0) product.categories = [...distinct.values()];
  };
}

function addPaths(distinct: Map<string, MappedPath>, { column, separator }: PathSource, row: RowView): void {
  const paths = toList(column.read(row)).map((text) => splitPath(text, separator));
  const reason = findPathsProblem([...paths, ...distinct.values().map(({ path }) => path)]);
  if (reason !== undefined) note(row, { field: 'categories', column, reason });
  for (const path of paths) if (path.length > 0) distinct.set(path.join('\0'), { path });
}

function findPathsProblem(paths: readonly (readonly string[])[]): string | undefined {
  if (paths.length > CATEGORIES) return `has more than ${CATEGORIES} paths`;
  const tooDeep = `has a path of more than ${LEVELS} levels`;
  return paths
    .flatMap((path) =>
      path.length > LEVELS ? tooDeep : path.map((name) => findTextProblem(name, LEVEL_LENGTH)),
    )
    .find(Boolean);
}

function splitPath(text: string, separator: string | undefined): string[] {
  const names = separator === undefined ? [text] : text.split(separator);
  return names.map((name) => name.trim()).filter((name) => name !== '');
}

function note(
  row: RowView,
  { field, column, reason }: { field: string; column?: CompiledColumn; reason: string },
): void {
  row.problems.push({ field, ...(column?.label !== undefined && { column: column.label }), reason });
}

/**
 * Counts characters by code point, as JSON Schema does. Without a limit of length, only characters that no store
 * accepts are a problem.
 */
export function findTextProblem(text: string, maxLength: number): string | undefined {
  if (text.length > maxLength && [...text].length > maxLength)
    return `is longer than ${maxLength.toLocaleString('en')} characters`;
  if (isStorableText(text)) return undefined;
  return 'contains NUL or an unpaired surrogate';
}

const NONE: readonly string[] = [];

export function toList(value: ColumnValue | undefined): readonly string[] {
  if (value === undefined) return NONE;
  return typeof value === 'string' ? [value] : value;
}

/** Source: docs/interface §2.3. */
export const KEY_LENGTH = 255;
const VALUE_LENGTH = 65_536;
const ATTRIBUTES = 2_000;
/** How many characters of a name that is too long for a key a report shows. */
const SHOWN_LENGTH = 289;

export interface ValueSource {
  readonly column: CompiledColumn;
  readonly userGroups: readonly string[] | undefined;
}

/** @param removesEmpty whether a cell that is present but empty removes the attribute */
export function mapAttribute(key: string, sources: readonly ValueSource[], removesEmpty: boolean): MapPart {
  return (row, product) => {
    const before = product.attributes?.length ?? 0;
    for (const source of sources) addValues(key, source, { row, product });
    const isEmpty = removesEmpty && (product.attributes?.length ?? 0) === before;
    if (isEmpty && sources.some(({ column }) => isPresent(row, column))) push(product, { key, value: null });
  };
}

interface Mapped {
  readonly row: RowView;
  readonly product: MappedProduct;
}

function addValues(key: string, { column, userGroups }: ValueSource, { row, product }: Mapped): void {
  for (const { value, row: number } of readValues(row, column)) {
    const reason = findTextProblem(value, VALUE_LENGTH);
    if (reason !== undefined) note(row, { field: `attributes.${key}`, column, reason });
    const mapped: { -readonly [Part in keyof MappedValue]: MappedValue[Part] } = { key, value };
    if (userGroups !== undefined) mapped.userGroups = userGroups;
    if (number !== undefined) mapped.row = number;
    push(product, mapped);
  }
}

interface ReadValue {
  readonly value: string;
  readonly row?: number;
}

/** Returns the values of a column. Values in a list of objects are read one by one, with the number of their object. */
function readValues(row: RowView, column: CompiledColumn): readonly ReadValue[] {
  const name = column.uses[0] ?? '';
  const numbers = column.uses.length === 1 ? row.source.rows?.[name] : undefined;
  if (numbers === undefined) return toList(column.read(row)).map((value) => ({ value }));
  return toList(cellOf(row.source, name)).flatMap((text, index) => {
    const values = Object.assign(Object.create(null), { [name]: text });
    const read = column.read({ ...row, source: { values } });
    return toList(read).map((value) => ({ value, ...rowOf(numbers[index]) }));
  });
}

const rowOf = (row: number | undefined) => (row === undefined ? {} : { row });

/** An absent column has no effect, but a column that is present and empty does. */
function isPresent({ source }: RowView, { uses }: CompiledColumn): boolean {
  return uses.some((name) => cellOf(source, name) !== undefined);
}

/** Maps all other columns under their own names. This is the hot part of most mappings: all cells of all rows. */
export function mapRest(isUsed: (column: string) => boolean, removesEmpty: boolean): MapPart {
  // Most cells of a wide table are empty.
  const isLeftOut = (key: string, value: ColumnValue) =>
    (value === '' && !removesEmpty) || key === '' || isUsed(key) || isSelector(key);
  return (row, product) => {
    for (const key of listColumns(row.source)) {
      const value = cellOf(row.source, key);
      if (value === undefined || isLeftOut(key, value)) continue;
      addRest(key, value, { row, product });
      if (removesEmpty && toList(value).every((text) => text === '')) push(product, { key, value: null });
    }
  };
}

function addRest(key: string, value: ColumnValue, mapped: Mapped): void {
  const numbers = mapped.row.source.rows?.[key];
  if (typeof value === 'string') addCell({ key, value }, mapped);
  else
    for (const [index, text] of value.entries())
      addCell({ key, value: text, ...rowOf(numbers?.[index]) }, mapped);
}

function addCell(cell: MappedValue & { readonly value: string }, { row, product }: Mapped): void {
  const { key, value } = cell;
  if (value === '') return;
  const isLongKey = key.length > KEY_LENGTH && [...key].length > KEY_LENGTH;
  const reason = isLongKey
    ? `the name of the column is longer than ${KEY_LENGTH} characters`
    : findTextProblem(value, VALUE_LENGTH);
  if (reason !== undefined)
    // The key is truncated before it is stored, because a substring retains the whole text, and this happens for each
    // row.
    row.problems.push({ field: `attributes.${key.slice(0, SHOWN_LENGTH)}`, column: key, reason });
  push(product, cell);
}

function push(product: MappedProduct, value: MappedValue): void {
  if (product.attributes === undefined) product.attributes = [value];
  else product.attributes.push(value);
}

export const checkAttributes: MapPart = (row, { attributes }) => {
  if ((attributes?.length ?? 0) > ATTRIBUTES)
    note(row, { field: 'attributes', reason: `are more than ${ATTRIBUTES.toLocaleString('en')}` });
};

/** Maps attributes that a cell lists with their keys, such as Magento's additional_attributes: `color=red,size=M`. */
export function mapKeyValues(column: CompiledColumn, spec: KeyValuesSpec, removesEmpty: boolean): MapPart {
  const addPart = (part: CellPart, mapped: Mapped) => {
    const pairs = readKeyValues(part.text, spec);
    const reason = `${quote(part.text)} does not begin with a key`;
    if (pairs === undefined) note(mapped.row, { field: 'keyValues', column, reason });
    for (const pair of pairs ?? [])
      addPair({ ...pair, ...rowOf(part.row) }, { ...spec, removesEmpty }, mapped);
  };
  return (row, product) => {
    for (const text of toList(column.read(row)))
      for (const part of splitRows(text, spec, product)) addPart(part, { row, product });
  };
}

interface CellPart {
  readonly text: string;
  readonly row?: number;
}

const ROW_SIGN = '|';

/**
 * Splits `a=1,b=2|a=3,b=4` into two rows, because a key follows the sign. `color=red|blue` is one row with one or two
 * values.
 */
function splitRows(
  text: string,
  { split, assign = '=', separator = ',' }: KeyValuesSpec,
  { attributes = [] }: MappedProduct,
): CellPart[] {
  const parts = text.split(ROW_SIGN);
  const beginsRow = (part: string) =>
    part.indexOf(assign) > 0 && !part.slice(0, part.indexOf(assign)).includes(separator);
  const isRows = parts.length > 1 && split !== ROW_SIGN && separator !== ROW_SIGN && parts.every(beginsRow);
  if (!isRows) return [{ text }];
  const last = attributes.reduce((most, { row = 0 }) => Math.max(most, row), 0);
  return parts.map((part, index) => ({ text: part, row: last + index + 1 }));
}

function addPair(
  { key, value, ...rest }: MappedValue & { readonly value: string },
  { split, removesEmpty }: KeyValuesSpec & { readonly removesEmpty: boolean },
  mapped: Mapped,
): void {
  if (removesEmpty && value === '') push(mapped.product, { key, value: null });
  for (const valuePart of split === undefined ? [value] : value.split(split))
    addCell({ key, value: valuePart.trim(), ...rest }, mapped);
}

/**
 * A value may contain the separator. Text that follows without a key belongs to the value.
 * @returns undefined for a text that does not begin with a key
 */
function readKeyValues(
  text: string,
  { separator = ',', assign = '=' }: Pick<KeyValuesSpec, 'separator' | 'assign'>,
): { key: string; value: string }[] | undefined {
  const pairs: { key: string; value: string }[] = [];
  for (const part of text.split(separator)) {
    const assignIndex = part.indexOf(assign);
    const key = assignIndex === -1 ? '' : part.slice(0, assignIndex).trim();
    const last = pairs.at(-1);
    if (key !== '') pairs.push({ key, value: part.slice(assignIndex + assign.length).trim() });
    else if (last !== undefined) last.value += separator + part;
    else if (part.trim() !== '') return undefined;
  }
  return pairs;
}

/** Maps rows to links: a source, and its targets in the order of the columns. Source: docs/interface §13.9. */

/** The parts that a mapping of pairs may have. */
const PARTS = {
  links: ['source', 'targets', 'quantity', 'separator', 'filter'],
  table: ['source', 'target', 'filter'],
};
const OWN_PARTS = ['source', 'targets', 'target', 'quantity', 'separator'] as const;
/** Source: docs/interface §12.8. The mapping checks them by column, so that a report can name the column. */
const IDENTIFIER_LENGTH = 255;
const TARGETS = 1_000;

export type Compile = (column: Column, field: string) => CompiledColumn;

/** @throws MappingProblem */
export function planLinks(mapping: Mapping, mode: 'links' | 'table', compile: Compile) {
  const { source, separator } = mapping;
  const field = mode === 'links' ? 'targets' : 'target';
  const targets = mapping[field];
  if (source === undefined || targets === undefined)
    throw new MappingProblem(`source and ${field} are needed in mode ${mode}`);
  const foreign = Object.keys(mapping).filter((name) => !PARTS[mode].includes(name));
  if (foreign.length > 0) throw new MappingProblem(`${foreign.join(', ')}: must be left out in mode ${mode}`);
  const compileAll = (all: Column | Column[], part: string) =>
    [all].flat().map((column) => compile(splitBy(column, separator), part));
  const columns = compileAll(targets, field);
  const counts = compileAll(mapping.quantity ?? [], 'quantity');
  if (counts.length > 0 && counts.length !== columns.length)
    throw new MappingProblem(`quantity must have as many columns as ${field}: ${columns.length}`);
  const part: MapPart = (row, product) => {
    const listed = columns.flatMap((column, index) => readTargets(column, counts[index], row));
    const distinct = Map.groupBy(listed, (target) =>
      typeof target === 'string' ? target : target.identifier,
    );
    if (distinct.size > TARGETS) note(row, { field: 'targets', reason: `are more than ${TARGETS}` });
    product.targets = [...distinct.values()].flatMap(([first]) => first ?? []);
  };
  const identifier = compile(source, 'source');
  return { identifier, identifiedBy: 'source', parts: [part], takesRest: false } as const;
}

/** @throws MappingProblem */
export function refuseLinks(mapping: Mapping, mode: string): void {
  const foreign = OWN_PARTS.filter((name) => mapping[name] !== undefined);
  if (foreign.length > 0)
    throw new MappingProblem(
      `${foreign.join(', ')}: only for the modes links and table; this is mode ${mode}`,
    );
}

function splitBy(column: Column, separator: string | undefined): Column {
  if (separator === undefined) return column;
  const spec = typeof column === 'string' ? { column } : column;
  return { split: separator, trim: true, ...spec };
}

/**
 * Takes the quantity of the same object of a list, or else the one at the same position. A single quantity applies to
 * all targets.
 */
function readTargets(
  column: CompiledColumn,
  count: CompiledColumn | undefined,
  row: RowView,
): (string | CountedTarget)[] {
  const targets: readonly ReadValue[] =
    count === undefined ? toList(column.read(row)).map((value) => ({ value })) : readValues(row, column);
  const reason = targets.map(({ value }) => findTextProblem(value, IDENTIFIER_LENGTH)).find(Boolean);
  if (reason !== undefined) note(row, { field: 'targets', column, reason });
  const quantities = count === undefined ? [] : readValues(row, count);
  const refuse = (why: string) =>
    note(row, { field: 'quantity', ...(count && { column: count }), reason: why });
  if (!quantities.every(({ value }) => /^\d{1,7}$/.test(value) && isQuantity(Number(value))))
    refuse(`is not a whole number from 1 to ${MOST_QUANTITY}`);
  const isByRow = quantities.some((quantity) => quantity.row !== undefined);
  if (!isByRow && quantities.length > 1 && quantities.length !== targets.length)
    refuse(`has ${quantities.length} values for ${targets.length} targets`);
  const byRow = Map.groupBy(quantities, (quantity) => quantity.row);
  return targets.map(({ value: identifier, row: own }, index) => {
    const position = quantities.length === 1 ? 0 : index;
    const ownQuantity = isByRow ? byRow.get(own)?.[0] : quantities[position];
    return ownQuantity === undefined ? identifier : { identifier, quantity: Number(ownQuantity.value) };
  });
}
