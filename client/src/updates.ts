import type { PartialProduct, UploadProduct } from './product.ts';
import { choose, type ProjectChoice } from './project-choice.ts';
import type { AnswerOf, CallOptions, Transport } from './transport.ts';
import type { TableProduct } from './wire.ts';

/** The effect that a commit would have. */
export type FullUpdatePreview = AnswerOf<'postProductsBatchPreview'>;

export interface SessionChoice extends ProjectChoice {
  /** Refused if another session is open. */
  readonly fullUpdateId?: number | undefined;
}

/** The treatment of invalid products. Default: the setting of the project. */
export interface InvalidChoice {
  readonly onInvalid?: 'refuse' | 'skip';
}

/** A page of the products that a commit would delete. */
export interface DeletedQuery extends SessionChoice {
  readonly limit?: number;
  readonly cursor?: string | undefined;
}

export interface StartChoice extends SessionChoice {
  readonly allowDeletes?: number | undefined;
  /** The number of accepted batches. Refused if the session has another number. */
  readonly batches?: number | undefined;
  /** The sum of `nrOfParsed` over the accepted batches. Refused if the session has another number. */
  readonly products?: number | undefined;
}

/** Full updates step by step, and changes of products. Source: docs/interface §4.2 to §4.5. */
export const createUpdates = (transport: Transport) => ({
  ...createFullUpdate(transport),
  ...createChanges(transport),
});

function createFullUpdate({ call, sendJson }: Transport) {
  const initiate = ({ projectId, ...options }: ProjectChoice = {}) =>
    call('postProductsBatchInitiate', { query: choose(projectId) }, options);
  /** @param products or a ready JSON body */
  const upload = (
    products: readonly UploadProduct[] | Uint8Array,
    { onInvalid, ...options }: SessionChoice & InvalidChoice = {},
  ) =>
    call(
      'postProductsBatchUpload',
      { query: { ...chooseSession(options), ...(onInvalid && { onInvalid }) }, body: toBody(products) },
      { ...rest(options), ...(options.idempotencyKey && { idempotencyKey: options.idempotencyKey }) },
    );
  const preview = (options: SessionChoice = {}) =>
    call('postProductsBatchPreview', { query: chooseSession(options) }, rest(options));
  const previewDeleted = ({ limit, cursor, ...options }: DeletedQuery = {}) =>
    sendJson<{ products: TableProduct[]; nextCursor: string | null }>({
      method: 'GET',
      path: '/products/batch/preview/deleted',
      query: { ...chooseSession(options), limit, cursor },
      ...rest(options),
    });
  const start = ({ allowDeletes, batches, products, ...options }: StartChoice = {}) => {
    const query = {
      ...chooseSession(options),
      ...(allowDeletes !== undefined && { allowDeletes }),
      ...(batches !== undefined && { batches }),
      ...(products !== undefined && { products }),
    };
    return call('postProductsBatchStart', { query }, rest(options));
  };

  return { initiate, upload, preview, previewDeleted, start };
}

/** The commit to undo. */
export interface RestoreChoice extends ProjectChoice {
  readonly commit?: number;
  readonly ifLast?: number;
}

function createChanges({ call }: Transport) {
  return {
    /** An incremental update: creates each product or replaces it completely. At most 10,000. */
    replace: (
      products: readonly UploadProduct[] | Uint8Array,
      { projectId, onInvalid, ...options }: ProjectChoice & InvalidChoice = {},
    ) => {
      const query = { ...choose(projectId), ...(onInvalid && { onInvalid }) };
      return call('postProducts', { query, body: toBody(products) }, options);
    },

    /** A partial update: changes only the named attributes and fields. At most 10,000. */
    change: (
      products: readonly PartialProduct[] | Uint8Array,
      { projectId, onInvalid, ...options }: ProjectChoice & InvalidChoice = {},
    ) => {
      const query = { partial: true, ...choose(projectId), ...(onInvalid && { onInvalid }) };
      return call('postProducts', { query, body: toBody(products) }, options);
    },

    /** At most 10,000 identifiers. */
    delete: (identifiers: readonly string[], { projectId, ...options }: ProjectChoice = {}) => {
      const body = { identifiers: [...identifiers] };
      return call('deleteProducts', { query: choose(projectId), body }, options);
    },

    /** The open full update. @throws RelataError 400 if none is open, or one other than `fullUpdateId` */
    openFullUpdate: ({ projectId, fullUpdateId, ...options }: SessionChoice = {}) =>
      call('getProductsBatch', { query: chooseSession({ projectId, fullUpdateId }) }, options),

    /** The open full update. Undefined if none is open. */
    findFullUpdate: async (projectId: number, options: CallOptions = {}) =>
      (await call('getManagementProjectsByIdFullUpdate', { path: { id: projectId } }, options)).fullUpdate ??
      undefined,

    /** Discards the open full update. @throws RelataError 400 if none is open, or one other than `fullUpdateId` */
    giveUpFullUpdate: ({ projectId, fullUpdateId, ...options }: SessionChoice = {}) =>
      call('deleteProductsBatch', { query: chooseSession({ projectId, fullUpdateId }) }, options),

    /**
     * Undoes the last commit or delete, or all down to `commit`. @throws RelataError 412 if `ifLast` is not the last
     */
    restore: ({ projectId, commit, ifLast, ...options }: RestoreChoice = {}) => {
      const limits = { ...(commit !== undefined && { commit }), ...(ifLast !== undefined && { ifLast }) };
      return call('postProductsBatchRestore', { query: { ...choose(projectId), ...limits } }, options);
    },
  };
}

/** @returns the query parameters that are defined */
const chooseSession = ({ projectId, fullUpdateId }: SessionChoice) => ({
  ...choose(projectId),
  ...(fullUpdateId !== undefined && { fullUpdateId }),
});

/** @returns a body. Bytes are used unchanged. */
const toBody = <Sent>(products: readonly Sent[] | Uint8Array) =>
  (products instanceof Uint8Array ? products : { products: [...products] }) as { products: Sent[] };

/** An idempotency key names one request, and a session makes many. */
const rest = ({ signal }: ProjectChoice) => (signal ? { signal } : {});
