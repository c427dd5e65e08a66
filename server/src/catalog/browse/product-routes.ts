import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Static } from 'typebox';
import { ProjectParams } from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import { type Routes, sendJson, sendRaw, serveRaw } from '../../http/server/server.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Catalog } from '../catalog.ts';
import type { CatalogStore, IdentifierRange } from '../port.ts';
import {
  type LookupProduct,
  ProductDetail,
  ProductListQuery,
  ProductPage,
  ProductParams,
} from '../products/schemas/schemas.ts';
import { type ListedPage, type ListForm, readCategory, toListItem, writeTableItem } from './browse.ts';

const about = { config: { guard: 'management', access: 'manage' }, tags: ['Products'] } as const;
const EXPORT_PAGE = 500;

/** The search for products that the list uses; a room to the right implements it. */
export interface FoundProducts {
  /** @returns a page of the products found @throws query_invalid, search_not_ready */
  list(
    projectId: number,
    listed: { readonly question: FoundQuestion; readonly form: ListForm },
    signal: AbortSignal,
  ): Promise<ListedPage>;
}

interface FoundQuestion extends NonNullable<ReturnType<typeof readQuestion>> {
  readonly cursor: string | undefined;
  readonly limit: number;
}

interface ProductRouteParts {
  readonly catalog: Catalog;
  readonly search: FoundProducts;
}

/** Source: docs/interface §14.3. */
export const productRoutes =
  ({ catalog, search }: ProductRouteParts): Routes =>
  (server) => {
    serveRaw(server, 'GET /management/projects/:id/products', {
      ...about,
      summary: 'List, find or export the catalog of a project',
      params: ProjectParams,
      query: ProductListQuery,
      answer: { 200: ProductPage },
      why: 'uploads are sent in their stored form',
      async handle({ project, query }, reply) {
        const { limit = 100, cursor, format = 'json', identifierPrefix } = query;
        const question = readQuestion(query);
        if (format === 'ndjson') {
          refuseBeside('format=ndjson, which exports the whole catalog', { identifierPrefix, ...question });
          // Reads one page ahead, so that the export ends when the caller disconnects.
          const lines = Readable.from(exportCatalog(catalog, project.id, cursor), { highWaterMark: 1 });
          return sendRaw(reply, 'application/x-ndjson; charset=utf-8', lines);
        }
        const form = format === 'table' ? 'table' : 'upload';
        const { items, nextCursor } =
          question === undefined
            ? await listRange(catalog.store, project.id, { identifierPrefix, cursor, limit, form })
            : await whileCallerWaits(reply, (signal) => {
                refuseBeside('q, filter and category', { identifierPrefix });
                const listed = { question: { ...question, cursor, limit }, form } as const;
                return search.list(project.id, listed, signal);
              });
        return sendJson(reply, await writePage(items, nextCursor));
      },
    });
    serveRaw(server, 'GET /management/projects/:id/products/:identifier', {
      ...about,
      summary: 'Read one product: its uploaded and extracted values, and its last change',
      params: ProductParams,
      answer: { 200: ProductDetail },
      why: 'another thread writes a large page as bytes',
      handle: ({ project, params: { identifier } }, reply) =>
        whileCallerWaits(reply, async (signal) => {
          const page = await catalog.readProductPage({ projectId: project.id, identifier }, signal);
          if (page === undefined)
            throw new ServiceError('not_found', `no product ${JSON.stringify(identifier)}`);
          if (Array.isArray(page)) return sendJson(reply, page);
          // The writer of answers made the product in the form of this schema.
          return { ...page, product: page.product as Static<typeof LookupProduct> };
        }),
    });
  };

/** @returns undefined if the list is ordered by identifier @throws query_invalid */
function readQuestion({ q, filter, category }: Static<typeof ProductListQuery>) {
  if (!q && !filter && !category) return undefined;
  return { q, filter, category: category ? readCategory('category', category) : undefined };
}

/** @throws query_invalid */
function refuseBeside(format: string, given: Readonly<Record<string, unknown>>): void {
  const name = Object.keys(given).find((parameter) => given[parameter]);
  if (name === undefined) return;
  throw new ServiceError('query_invalid', `send ${name} without ${format}`);
}

/** How many characters are encoded in one piece; this takes the serving thread a few milliseconds. */
const PIECE_CHARACTERS = 512 * 1024;

/** @returns the JSON of a page, in pieces. Other requests get their turn between two pieces. */
async function writePage(items: readonly string[], nextCursor: string | null): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let piece = '{"items":[';
  for (const [index, item] of items.entries()) {
    piece += index === 0 ? item : `,${item}`;
    if (piece.length < PIECE_CHARACTERS) continue;
    pieces.push(Buffer.from(piece));
    piece = '';
    await nextTurn();
  }
  return [...pieces, Buffer.from(`${piece}],"nextCursor":${JSON.stringify(nextCursor)}}`)];
}

/** A prefix followed by this text sorts after every identifier with the prefix. */
const LAST = '\u{10ffff}'.repeat(255);

/** @param after the last identifier seen */
function planRange(prefix = '', after?: string): IdentifierRange {
  const to = prefix === '' ? undefined : prefix + LAST;
  return after !== undefined && after >= prefix
    ? { from: after, isAfter: true, to }
    : { from: prefix, isAfter: false, to };
}

async function listRange(
  store: CatalogStore,
  projectId: number,
  { identifierPrefix, cursor, limit, form }: Listing,
): Promise<ListedPage> {
  const range = planRange(identifierPrefix, readCursor(cursor));
  const order = { ...range, limit: limit + 1, isWhole: form === 'upload' };
  const { rows, isCut } = await store.listRange(projectId, order);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const hasMore = isCut || rows.length > limit;
  return {
    items: page.map(form === 'table' ? writeTableItem : toListItem),
    nextCursor: hasMore && last ? Buffer.from(last.identifier).toString('base64url') : null,
  };
}

type Listing = Record<'identifierPrefix' | 'cursor', string | undefined> & { limit: number; form: ListForm };

const readCursor = (cursor: string | undefined): string | undefined =>
  cursor === undefined ? undefined : Buffer.from(cursor, 'base64url').toString().replaceAll('\0', '');

async function* exportCatalog(catalog: Catalog, projectId: number, cursor: string | undefined) {
  let limit = EXPORT_PAGE;
  for (let after = readCursor(cursor); ; ) {
    const range = { ...planRange('', after), limit, isWhole: true };
    const { rows, isCut } = await catalog.store.listRange(projectId, range);
    const last = rows.at(-1);
    if (last === undefined) return;
    // A stored upload has the form of an uploaded product, so an export can be uploaded again unchanged.
    yield rows.map(({ text }) => `${text}\n`).join('');
    // The embedded store reads synchronously, so other requests get their turn between two pages.
    await nextTurn();
    after = last.identifier;
    // If products did not fit, the next page is smaller, because measuring products takes as long as reading them.
    limit = isCut ? Math.min(2 * rows.length, EXPORT_PAGE) : EXPORT_PAGE;
  }
}
