import {
  chooseSession,
  createFullUpdate,
  type InvalidChoice,
  type SessionChoice,
  toBody,
} from './full-update.ts';
import { readNdjson } from './lines.ts';
import type { ListedProduct, PartialProduct, ProductPage, UploadProduct } from './product.ts';
import { choose, type ProjectChoice } from './project-choice.ts';
import type { AnswerOf, CallOptions, QueryOf, Transport } from './transport.ts';
import type { TableProduct } from './wire.ts';

/** Words, filters and order of a search. */
export type FindQuery = QueryOf<'getManagementProjectsByIdProductsSearch'>;

/** Which products of a listing: those of a prefix, or those that a search with words, filter and category finds. */
export interface ProductListQuery extends CallOptions {
  readonly identifierPrefix?: string | undefined;
  readonly q?: string | undefined;
  readonly filter?: string | undefined;
  readonly category?: readonly string[] | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number;
}

/** What is to be undone. */
export interface RestoreChoice extends ProjectChoice {
  readonly commit?: number;
  readonly ifLast?: number;
}

/** Which categories of a listing. */
export interface CategoryListQuery extends CallOptions {
  /** Only those below this path. */
  readonly under?: readonly string[] | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number;
}

/** Products: lookup, updates, listing. Source: docs/interface.md §4.2 to §4.6, §14.3. */
export function createProducts(transport: Transport) {
  return { ...createFullUpdate(transport), ...createChanges(transport), ...createListings(transport) };
}

function createChanges({ call }: Transport) {
  return {
    /** @returns the products found, in the order of the identifiers */
    lookUp: async (identifiers: readonly string[], { projectId, ...options }: ProjectChoice = {}) => {
      const body = { identifiers: [...identifiers] };
      const query = choose(projectId);
      return (await call('postProductServiceProductsBySku', { query, body }, options)).products;
    },

    lookUpOne: (identifier: string, { projectId, ...options }: ProjectChoice = {}) =>
      call('getProductServiceProductBySku', { query: { identifier, ...choose(projectId) } }, options),

    /** Replaces everything about each product, or creates it: an incremental update. At most 10,000. */
    replace: (
      products: readonly UploadProduct[] | Uint8Array,
      { projectId, onInvalid, ...options }: ProjectChoice & InvalidChoice = {},
    ) => {
      const query = { ...choose(projectId), ...(onInvalid && { onInvalid }) };
      return call('postProducts', { query, body: toBody(products) }, options);
    },

    /** Changes what is named and nothing else: a partial update. At most 10,000. */
    change: (
      products: readonly PartialProduct[] | Uint8Array,
      { projectId, onInvalid, ...options }: ProjectChoice & InvalidChoice = {},
    ) => {
      const query = { partial: 'true' as const, ...choose(projectId), ...(onInvalid && { onInvalid }) };
      return call('postProducts', { query, body: toBody(products) }, options);
    },

    /** At most 10,000 identifiers. */
    delete: (identifiers: readonly string[], { projectId, ...options }: ProjectChoice = {}) => {
      const body = { identifiers: [...identifiers] };
      return call('deleteProducts', { query: choose(projectId), body }, options);
    },

    /** The open full update. @throws RelataError 400 where none is open, or another than `fullUpdateId` */
    openFullUpdate: ({ projectId, fullUpdateId, ...options }: SessionChoice = {}) =>
      call('getProductsBatch', { query: chooseSession({ projectId, fullUpdateId }) }, options),

    /** The open full update; undefined where none is open. */
    findFullUpdate: async (projectId: number, options: CallOptions = {}) =>
      (await call('getManagementProjectsByIdFullUpdate', { path: { id: projectId } }, options)).fullUpdate ??
      undefined,

    /** Gives the open full update up. @throws RelataError 400 where none is open, or another than `fullUpdateId` */
    giveUpFullUpdate: ({ projectId, fullUpdateId, ...options }: SessionChoice = {}) =>
      call('deleteProductsBatch', { query: chooseSession({ projectId, fullUpdateId }) }, options),

    /** Undoes the last commit or delete, or all down to `commit`. @throws RelataError 412 where `ifLast` is not the last */
    restore: ({ projectId, commit, ifLast, ...options }: RestoreChoice = {}) => {
      const asked = { ...(commit !== undefined && { commit }), ...(ifLast !== undefined && { ifLast }) };
      return call('postProductsBatchRestore', { query: { ...choose(projectId), ...asked } }, options);
    },
  };
}

function createListings({ call, request, sendJson }: Transport) {
  const listPath = (projectId: number) => `/management/projects/${projectId}/products`;
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

    /** A page of the catalog, of each product what a table shows. */
    listTable: (projectId: number, query: ProductListQuery = {}) =>
      list<TableProduct>(projectId, { ...query, format: 'table' }),

    /** A page of the category paths; `isComplete` false: those of a large change may be missing yet. */
    listCategories: (projectId: number, { signal, under, ...query }: CategoryListQuery = {}) =>
      sendJson<AnswerOf<'getManagementProjectsByIdCategories'>>({
        method: 'GET',
        path: `/management/projects/${projectId}/categories`,
        query: { ...query, ...(under?.length && { under }) },
        ...(signal && { signal }),
      }),

    /** Words in any order, with filters and facets. Source: docs/interface.md §4.13. */
    search: (query: FindQuery, { projectId, ...options }: ProjectChoice = {}) =>
      call('getSearchProducts', { query: { ...query, ...choose(projectId) } }, options),

    /** @deprecated the name before `search` */
    find: (query: FindQuery, { projectId, ...options }: ProjectChoice = {}) =>
      call('getSearchProducts', { query: { ...query, ...choose(projectId) } }, options),

    /** The same for management keys. */
    findManaged: (projectId: number, query: FindQuery, options: CallOptions = {}) =>
      call('getManagementProjectsByIdProductsSearch', { path: { id: projectId }, query }, options),

    /** The whole catalog in upload shape. */
    async *export(projectId: number, { signal }: CallOptions = {}) {
      const response = await request({
        method: 'GET',
        path: listPath(projectId),
        query: { format: 'ndjson' },
        ...(signal && { signal }),
      });
      yield* readNdjson<UploadProduct>(response);
    },

    /** One product as it was sent, as it is answered, and what made no fact. */
    open: (projectId: number, identifier: string, options: CallOptions = {}) =>
      call(
        'getManagementProjectsByIdProductsByIdentifier',
        { path: { id: projectId, identifier } },
        options,
      ) as Promise<ProductPage>,

    /** The relations of one product in both directions; `limit` is of groups for each. Source: docs/interface.md §12.7. */
    relationsOf: (
      projectId: number,
      identifier: string,
      { limit, ...options }: CallOptions & { readonly limit?: number } = {},
    ) =>
      call(
        'getManagementProjectsByIdProductsByIdentifierRelations',
        { path: { id: projectId, identifier }, query: { ...(limit !== undefined && { limit }) } },
        options,
      ),
  };
}
