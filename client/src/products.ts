import { readNdjson } from './lines.ts';
import type { ListedProduct, ProductPage, UploadProduct } from './product.ts';
import { choose, type ProjectChoice } from './project-choice.ts';
import { createPush } from './push.ts';
import type { AnswerOf, CallOptions, QueryOf, Transport } from './transport.ts';
import { createUpdates } from './updates.ts';
import type { TableProduct } from './wire.ts';

/** Words, filters and order of a search. */
export type FindQuery = QueryOf<'getManagementProjectsByIdProductsSearch'>;

/** Selects the products of a listing: those with a prefix, or the hits of a search by words, filter and category. */
export interface ProductListQuery extends CallOptions {
  readonly identifierPrefix?: string | undefined;
  readonly q?: string | undefined;
  readonly filter?: string | undefined;
  readonly category?: readonly string[] | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number;
}

/** Selects the categories of a listing. */
export interface CategoryListQuery extends CallOptions {
  /** Only categories below this path. */
  readonly under?: readonly string[] | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number;
}

/** Products: lookup, updates, listing. Source: docs/interface §4.2 to §4.6, §14.3. */
export function createProducts(transport: Transport) {
  return {
    ...createUpdates(transport),
    ...createPush(transport),
    ...createLookups(transport),
    ...createListings(transport),
    ...createPages(transport),
  };
}

function createLookups({ call }: Transport) {
  return {
    /** @returns the products found, in the order of the identifiers */
    lookUp: async (identifiers: readonly string[], { projectId, ...options }: ProjectChoice = {}) => {
      const body = { identifiers: [...identifiers] };
      const query = choose(projectId);
      return (await call('postProductServiceProductsBySku', { query, body }, options)).products;
    },

    lookUpOne: (identifier: string, { projectId, ...options }: ProjectChoice = {}) =>
      call('getProductServiceProductBySku', { query: { identifier, ...choose(projectId) } }, options),

    /** Finds words in any order, with filters and facets. Source: docs/interface §4.13. */
    search: (query: FindQuery, { projectId, ...options }: ProjectChoice = {}) =>
      call('getSearchProducts', { query: { ...query, ...choose(projectId) } }, options),

    /** @deprecated the former name of `search` */
    find: (query: FindQuery, { projectId, ...options }: ProjectChoice = {}) =>
      call('getSearchProducts', { query: { ...query, ...choose(projectId) } }, options),

    /** The same for management keys. */
    findManaged: (projectId: number, query: FindQuery, options: CallOptions = {}) =>
      call('getManagementProjectsByIdProductsSearch', { path: { id: projectId }, query }, options),
  };
}

const listPath = (projectId: number) => `/management/projects/${projectId}/products`;

function createListings({ request, sendJson }: Transport) {
  const list = <Item>(
    projectId: number,
    { signal, category, ...query }: ProductListQuery & { readonly format?: 'table' },
  ) =>
    sendJson<{ items: Item[]; nextCursor: string | null }>({
      method: 'GET',
      path: listPath(projectId),
      query: { ...query, ...(category?.length && { category }) },
      ...(signal && { signal }),
    });
  return {
    /** A page of the catalog. */
    list: (projectId: number, query: ProductListQuery = {}) => list<ListedProduct>(projectId, query),

    /** A page of the catalog, with the fields that a table shows. */
    listTable: (projectId: number, query: ProductListQuery = {}) =>
      list<TableProduct>(projectId, { ...query, format: 'table' }),

    /** A page of the category paths. If `isComplete` is false, categories of a large change may still be missing. */
    listCategories: (projectId: number, { signal, under, ...query }: CategoryListQuery = {}) =>
      sendJson<AnswerOf<'getManagementProjectsByIdCategories'>>({
        method: 'GET',
        path: `/management/projects/${projectId}/categories`,
        query: { ...query, ...(under?.length && { under }) },
        ...(signal && { signal }),
      }),

    /** The whole catalog in upload form. */
    async *export(projectId: number, { signal }: CallOptions = {}) {
      const response = await request({
        method: 'GET',
        path: listPath(projectId),
        query: { format: 'ndjson' },
        ...(signal && { signal }),
      });
      yield* readNdjson<UploadProduct>(response);
    },
  };
}

/** All data of the service about one product. */
function createPages({ call }: Transport) {
  return {
    /** One product as uploaded and as answered, and the values without a fact. */
    open: (projectId: number, identifier: string, options: CallOptions = {}) =>
      call(
        'getManagementProjectsByIdProductsByIdentifier',
        { path: { id: projectId, identifier } },
        options,
      ) as Promise<ProductPage>,

    /**
     * The relations of one product in both directions. `limit` counts groups for each relation. Source: docs/interface
     * §12.7.
     */
    relationsOf: (
      projectId: number,
      identifier: string,
      { limit, locale, ...options }: CallOptions & { readonly limit?: number; readonly locale?: string } = {},
    ) =>
      call(
        'getManagementProjectsByIdProductsByIdentifierRelations',
        {
          path: { id: projectId, identifier },
          query: { ...(limit !== undefined && { limit }), ...(locale && { locale }) },
        },
        options,
      ),
  };
}
