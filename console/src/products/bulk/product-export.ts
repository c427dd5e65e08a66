import type { Relata, UploadProduct } from '@relata/client';
import { readPath } from '../../rules/category-path.ts';
import { toCsvLine } from '../../rules/csv.ts';
import { type ProductFilters, readAttribute, wayOf } from '../finding/product-filters.ts';
import { toQuestion } from '../finding/product-question.ts';
import { attributeOf, type Column, nameColumn } from '../grid/columns.ts';
import { type ProductRow, toRow, toValues, type Values } from '../grid/product-rows.ts';

/** The most that the service gives at once, in a list and in a search. */
const LISTED = 1_000;
const FOUND = 100;
const NO_VALUES = toValues({ facts: [] });

/** Which products of which project. */
export interface Wanted {
  readonly relata: Relata;
  readonly projectId: number;
  readonly filters: ProductFilters;
  readonly signal: AbortSignal;
}

/** @yields the rows of everything that the filters find, page by page, in the order of the table */
export async function* listRows(wanted: Wanted): AsyncGenerator<readonly ProductRow[]> {
  const way = wayOf(wanted.filters);
  if (way === 'search') yield* findRows(wanted);
  else if (way === 'scan') for await (const hits of scan(wanted, 'searchTable')) yield hits.map(toRow);
  else for await (const items of list(wanted, 'listTable')) yield items.map(toRow);
}

async function* findRows({
  relata,
  projectId,
  filters,
  signal,
}: Wanted): AsyncGenerator<readonly ProductRow[]> {
  const question = toQuestion(filters);
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { ...question, limit: FOUND, ...(cursor && { cursor }) };
    const page = await relata.products.findManaged(projectId, query, { signal });
    yield page.items.map(toRow);
    cursor = page.nextCursor;
  }
}

type Listing = Relata['products'];
type Item<Way extends 'list' | 'listTable'> = Awaited<ReturnType<Listing[Way]>>['items'][number];

async function* list<Way extends 'list' | 'listTable'>(
  { relata, projectId, filters: { prefix, category }, signal }: Wanted,
  way: Way,
): AsyncGenerator<readonly Item<Way>[]> {
  const query = {
    limit: LISTED,
    identifierPrefix: prefix || undefined,
    category: readPath(category),
    signal,
  };
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await relata.products[way](projectId, { ...query, cursor });
    yield page.items as readonly Item<Way>[];
    cursor = page.nextCursor;
  }
}

type Line<Way extends 'search' | 'searchTable'> =
  ReturnType<Listing[Way]> extends AsyncGenerator<infer Any> ? Any : never;
type Hit<Way extends 'search' | 'searchTable'> = Extract<Line<Way>, { product: unknown }>['product'];

async function* scan<Way extends 'search' | 'searchTable'>(
  { relata, projectId, filters, signal }: Wanted,
  way: Way,
): AsyncGenerator<readonly Hit<Way>[]> {
  const { prefix, category, name, attribute } = filters;
  const query = {
    ...{ identifierPrefix: prefix || undefined, category: readPath(category), name: name || undefined },
    ...{ attribute: readAttribute(attribute), limit: LISTED, signal },
  };
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const hits: Hit<Way>[] = [];
    const lines = relata.products[way](projectId, { ...query, cursor });
    cursor = null;
    for await (const line of lines) {
      if ('product' in line) hits.push(line.product as Hit<Way>);
      else cursor = line.nextCursor ?? null;
    }
    yield hits;
  }
}

/** A piece of a file, and how many products it has. */
export interface Piece {
  readonly text: string;
  readonly count: number;
}

/** @yields the table as it is seen: identifier, name and the columns, the values of attributes looked up page by page */
export async function* writeTable(
  wanted: Wanted,
  columns: readonly Column[],
  separator: string,
): AsyncGenerator<Piece> {
  const { relata, projectId, signal } = wanted;
  const hasValues = columns.some((column) => attributeOf(column) !== undefined);
  yield { text: toCsvLine(['identifier', 'name', ...columns.map(nameColumn)], separator), count: 0 };
  for await (const rows of listRows(wanted)) {
    const identifiers = rows.map(({ identifier }) => identifier);
    const products =
      hasValues && rows.length > 0 ? await relata.products.lookUp(identifiers, { projectId, signal }) : [];
    const values = new Map(products.map((product) => [product.identifier, toValues(product)]));
    const lines = rows.map((row) =>
      toCsvLine(toCells(row, columns, values.get(row.identifier) ?? NO_VALUES), separator),
    );
    yield { text: lines.join(''), count: rows.length };
  }
}

function toCells(row: ProductRow, columns: readonly Column[], values: Values): unknown[] {
  const cells = columns.map((column) => {
    if (column === 'changed') return new Date(row.lastUpdateTs).toISOString();
    if (column === 'category') return row.category;
    return column === 'group' ? row.group : values[attributeOf(column) ?? ''];
  });
  return [row.identifier, row.name, ...cells];
}

/** @yields whole products, a line each, as an upload takes them back; the search by words does not give them */
export async function* writeProducts(wanted: Wanted): AsyncGenerator<Piece> {
  const pages = wayOf(wanted.filters) === 'scan' ? scan(wanted, 'search') : list(wanted, 'list');
  for await (const products of pages) {
    const text = products.map((product) => `${JSON.stringify(toUpload(product))}\n`).join('');
    yield { text, count: products.length };
  }
}

const toUpload = ({ id: _, lastUpdateTs: __, ...product }: Item<'list'>): UploadProduct => product;
