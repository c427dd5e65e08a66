import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Static } from 'typebox';
import {
  type CountLook,
  ProjectParams,
  type Routes,
  type Server,
  sendRaw,
  serve,
  serveRaw,
  whileCallerWaits,
} from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Catalog } from '../catalog.ts';
import { indexByKey } from '../ontology/ontology.ts';
import {
  CategoryListQuery,
  CategoryPage,
  type LookupProduct,
  ProductDetail,
  ProductListQuery,
  ProductPage,
  ProductParams,
} from '../products/products.ts';
import { readCategory, readNames } from './category-path.ts';
import { exportLine } from './export.ts';
import { type AttributeFilter, nextPage, type ProductFilter, planRange } from './product-list.ts';
import { type FoundPart, isScanned, type ListedPage, type WantedList } from './product-lists.ts';

export interface ProductRouteParts {
  readonly catalog: Catalog;
  readonly countLook: CountLook;
}

const config = { guard: 'management', access: 'manage' } as const;
const tags = ['Products'];
const EXPORT_PAGE = 500;
const JSON_TYPE = 'application/json; charset=utf-8';
const NDJSON = 'application/x-ndjson';

/** Source: docs/interface.md §14.3. */
export const productRoutes =
  (parts: ProductRouteParts): Routes =>
  (server) => {
    serveList(server, parts);
    serveProduct(server, parts);
    serveCategories(server, parts);
  };

function serveList(server: Server, { catalog, countLook }: ProductRouteParts): void {
  const endpoint = {
    method: 'GET',
    path: '/management/projects/:id/products',
    ...{ config, tags },
    summary: 'List, search or export the catalog of a project',
    description:
      'With `Accept: application/x-ndjson` products come as they are found, a line each, `{"product":…}`, between lines of progress, `{"scanned":n,"of":m}`.',
    ...{ params: ProjectParams, query: ProductListQuery, answer: { 200: ProductPage } },
    why: 'exports and finds are streams of lines',
  } as const;
  serveRaw(server, endpoint, async (request, reply) => {
    const { project } = request;
    const { limit = 100, cursor, format = 'json' } = request.query;
    const filter = await readFilter(catalog, project.id, request.query);
    const send = (lines: AsyncGenerator<string>) =>
      // One part ahead: whoever goes away ends the scan.
      sendRaw(reply, `${NDJSON}; charset=utf-8`, Readable.from(lines, { highWaterMark: 1 }));
    if (format === 'ndjson') {
      refuseFilter(filter);
      return send(exportCatalog(catalog, project.id, cursor));
    }
    const form = format === 'table' ? 'table' : 'upload';
    const wanted: WantedList = { filter, form, cursor, limit };
    if (isScanned(filter)) countLook(request, reply);
    return whileCallerWaits(reply, async (signal) =>
      (request.headers.accept ?? '').includes(NDJSON)
        ? send(writeParts(catalog.lists.follow(project.id, wanted, signal)))
        : sendRaw(reply, JSON_TYPE, writePage(await catalog.lists.page(project.id, wanted, signal))),
    );
  });
}

function serveProduct(server: Server, { catalog }: ProductRouteParts): void {
  const endpoint = {
    method: 'GET',
    path: '/management/projects/:id/products/:identifier',
    ...{ config, tags },
    summary: 'Read one product: uploaded and extracted values side by side, and what changed it last',
    ...{ params: ProductParams, answer: { 200: ProductDetail } },
    why: 'a large page is made as bytes, by another thread',
  } as const;
  serveRaw(server, endpoint, ({ project, params: { identifier } }, reply) =>
    whileCallerWaits(reply, async (signal) => {
      const page = await catalog.readProductPage({ projectId: project.id, identifier }, signal);
      if (page === undefined)
        throw new ServiceError('not_found', { details: [`no product ${JSON.stringify(identifier)}`] });
      if (Array.isArray(page)) return sendRaw(reply, JSON_TYPE, page);
      // A stored answer, which was made to this schema.
      return { ...page, product: page.product as Static<typeof LookupProduct> };
    }),
  );
}

function serveCategories(server: Server, { catalog }: ProductRouteParts): void {
  const endpoint = {
    method: 'GET',
    path: '/management/projects/:id/categories',
    ...{ config, tags },
    summary: 'List the categories that products of a project stand in',
    ...{ params: ProjectParams, query: CategoryListQuery, answer: { 200: CategoryPage } },
  } as const;
  serve(server, endpoint, async ({ project, query }) => {
    const { limit = 100, cursor, under } = query;
    const wanted = { under: under ? readCategory('under', under) : undefined, cursor, limit };
    return catalog.lists.pageOfCategories(project.id, wanted);
  });
}

interface SentFilter {
  readonly identifierPrefix?: string;
  readonly category?: string;
  readonly name?: string;
  readonly attribute?: string | string[];
}

/** @throws query_invalid */
async function readFilter(catalog: Catalog, projectId: number, sent: SentFilter): Promise<ProductFilter> {
  const { identifierPrefix, category, name, attribute } = sent;
  const attributes = [attribute ?? []].flat().map(readAttribute);
  return {
    ...(identifierPrefix && { identifierPrefix }),
    ...(name && { name }),
    ...(category && { category: readCategory('category', category) }),
    ...(attributes.length > 0 && { attributes: await findKeys(catalog, projectId, attributes) }),
  };
}

function readAttribute(text: string): [name: string, contains: string] {
  const [name, contains = '', ...others] = readNames(text) ?? [];
  if (name !== undefined && others.length === 0) return [name, contains];
  throw new ServiceError('query_invalid', {
    details: ['/attribute must be a JSON list of a name and a part of its value, such as ["Length","in"]'],
  });
}

/** An attribute of the ontology stands for all keys that mean it; any other name for itself. */
async function findKeys(
  catalog: Catalog,
  projectId: number,
  wanted: readonly (readonly [name: string, contains: string])[],
): Promise<AttributeFilter[]> {
  const known = indexByKey((await catalog.store.getOntology(projectId)).attributes);
  return wanted.map(([name, contains]) => {
    const attribute = known.get(name);
    return { keys: attribute ? [attribute.name, ...(attribute.synonyms ?? [])] : [name], contains };
  });
}

function refuseFilter(filter: ProductFilter): void {
  const [name] = Object.keys(filter);
  if (name === undefined) return;
  const details = [`format=ndjson exports the whole catalog: leave ${name} out, or the format`];
  throw new ServiceError('query_invalid', { details });
}

const writePage = ({ items, nextCursor }: ListedPage): Buffer =>
  Buffer.from(`{"items":[${items.join()}],"nextCursor":${JSON.stringify(nextCursor)}}`);

async function* writeParts(parts: AsyncGenerator<FoundPart>): AsyncGenerator<string> {
  for await (const { items, ...progress } of parts) {
    const products = items.map((product) => `{"product":${product}}\n`);
    yield `${products.join('')}${JSON.stringify(progress)}\n`;
  }
}

async function* exportCatalog(
  catalog: Catalog,
  projectId: number,
  cursor: string | undefined,
): AsyncGenerator<string> {
  let limit = EXPORT_PAGE;
  for (let after = cursor && Buffer.from(cursor, 'base64url').toString(); ; ) {
    const range = { ...planRange('', after), limit, isWhole: true };
    const { rows, isCut } = await catalog.store.listRange(projectId, range);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(exportLine).join('');
    // The embedded store reads at once: other requests get their turn between two pages.
    await nextTurn();
    after = last.identifier;
    limit = nextPage(EXPORT_PAGE, { rows, isCut });
  }
}
