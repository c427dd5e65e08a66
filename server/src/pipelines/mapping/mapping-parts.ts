import { isStorableText } from '../../kernel/storable-text.ts';
import type { ColumnValue } from '../formats/formats.ts';
import type { CompiledColumn, RowView } from './mapping-columns.ts';

/** A product as an update takes it; in mode partial only what is mapped, in mode delete the identifier alone. */
export interface MappedProduct {
  readonly identifier: string;
  groupIdentifier?: string;
  name?: string;
  productUrl?: string;
  images?: MappedImage[];
  categories?: MappedPath[];
  attributes?: MappedValue[];
  /** In mode links, where the identifier is that of the source. */
  targets?: string[];
}

export interface MappedImage {
  readonly url: string;
  readonly type: 'SMALL' | 'LARGE' | 'THUMB' | 'ALTERNATIVE';
}

interface MappedPath {
  readonly path: readonly string[];
}

export interface MappedValue {
  readonly key: string;
  /** null: the attribute is removed, in mode partial. */
  readonly value: string | null;
  readonly userGroups?: readonly string[];
}

/** Adds its part to a product, or notes why it cannot. */
export type MapPart = (row: RowView, product: MappedProduct) => void;

/** Source: docs/interface.md §2.3. Here they are checked by column, so that a report can name it. */
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

interface TextPlace {
  readonly field: keyof typeof LENGTHS;
  readonly isNeeded: boolean;
}

/** @returns the one text of a column; undefined, and a note, when it is none that a product can have */
export function readText(
  row: RowView,
  column: CompiledColumn,
  { field, isNeeded }: TextPlace,
): string | undefined {
  const before = row.problems.length;
  const value = column.read(row);
  if (typeof value === 'string') {
    const reason = findTextProblem(value, LENGTHS[field]);
    if (reason === undefined) return value;
    note(row, { field, column, reason });
  } else if (value !== undefined) {
    note(row, { field, column, reason: 'has several values, where one is needed' });
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
  readonly type: MappedImage['type'] | undefined;
}

/** The first image is the one that is shown large, unless the mapping says otherwise. */
export function mapImages(sources: readonly ImageSource[]): MapPart {
  const field = 'images';
  return (row, product) => {
    const images = new Map<string, MappedImage>();
    for (const source of sources) addImages(images, source, row);
    if (images.size > IMAGES) note(row, { field, reason: `are more than ${IMAGES}` });
    if (images.size > 0) product.images = [...images.values()];
  };
}

function addImages(images: Map<string, MappedImage>, { column, type }: ImageSource, row: RowView): void {
  for (const url of toList(column.read(row))) {
    const reason = findTextProblem(url, URL_LENGTH);
    if (reason !== undefined) note(row, { field: 'images', column, reason });
    const usual = images.size === 0 ? 'LARGE' : 'ALTERNATIVE';
    if (!images.has(url)) images.set(url, { url, type: type ?? usual });
  }
}

export interface PathSource {
  readonly column: CompiledColumn;
  readonly separator: string | undefined;
}

/** Names are trimmed, since separators are often written with more or fewer spaces than they should be. */
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
  return paths.map(findPathProblem).find((reason) => reason !== undefined);
}

function splitPath(text: string, separator: string | undefined): string[] {
  const names = separator === undefined ? [text] : text.split(separator);
  return names.map((name) => name.trim()).filter((name) => name !== '');
}

function findPathProblem(path: readonly string[]): string | undefined {
  if (path.length > LEVELS) return `has a path of more than ${LEVELS} levels`;
  return path.map((name) => findTextProblem(name, LEVEL_LENGTH)).find((reason) => reason !== undefined);
}

interface Note {
  readonly field: string;
  readonly column?: CompiledColumn;
  readonly reason: string;
}

export function note(row: RowView, { field, column, reason }: Note): void {
  row.problems.push({ field, ...(column?.label !== undefined && { column: column.label }), reason });
}

/** Characters are counted as JSON Schema counts them, by code point. Texts without a length hold what no store keeps. */
export function findTextProblem(text: string, maxLength: number): string | undefined {
  if (text.length > maxLength && [...text].length > maxLength)
    return `is longer than ${maxLength.toLocaleString('en')} characters`;
  if (isStorableText(text)) return undefined;
  return 'holds NUL or an unpaired surrogate';
}

export function toList(value: ColumnValue | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
