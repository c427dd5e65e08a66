import type { UploadProduct } from './product.ts';
import { choose, type ProjectChoice } from './project-choice.ts';
import { createTasks } from './tasks.ts';
import type { AnswerOf, Transport } from './transport.ts';
import type { TableProduct, Task } from './wire.ts';

/** As many products as a batch may have. Source: docs/interface.md §8. */
const BATCH_PRODUCTS = 10_000;
/** Far below the smallest usual limit of a body, also when every character takes three bytes. */
const BATCH_CHARACTERS = 16_000_000;

/** What a commit would do. */
export type FullUpdatePreview = AnswerOf<'postProductsBatchPreview'>;

export interface SessionChoice extends ProjectChoice {
  /** Refused when another session is open. */
  readonly fullUpdateId?: number | undefined;
}

/** What becomes of products that are not valid; default: the project's setting. */
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
  /** How many batches were accepted; refused when the session holds another number. */
  readonly batches?: number | undefined;
  /** The sum of `nrOfParsed` over the accepted batches; refused when the session holds another number. */
  readonly products?: number | undefined;
}

export interface FullUpdateOptions extends ProjectChoice {
  /** Looks at what the commit would do; false leaves the session open and the catalog as it is. */
  readonly confirm?: (preview: FullUpdatePreview) => boolean | Promise<boolean>;
  /** Called after each batch with the products sent so far. */
  readonly onBatch?: (sent: number) => void;
  /** Exactly how many products may be deleted, to pass the delete guard. */
  readonly allowDeletes?: number;
}

export interface FullUpdateResult {
  readonly fullUpdateId: number;
  readonly sent: number;
  /** The commit, ended; undefined when `confirm` said no. */
  readonly task: Task | undefined;
}

/** A session step by step, and as a whole. Source: docs/interface.md §4.4. */
export function createFullUpdate(transport: Transport) {
  const { call, sendJson } = transport;
  const tasks = createTasks(transport);
  const initiate = ({ projectId, ...options }: ProjectChoice = {}) =>
    call('postProductsBatchInitiate', { query: choose(projectId) }, options);
  /** @param products or a body as it is to be sent, in JSON */
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

  /**
   * Makes the catalog what is given: products that are not in it are deleted. Sends batches as the products come, and
   * holds one batch in memory.
   * @throws TaskError when the commit fails
   */
  async function fullUpdate(
    products: Iterable<UploadProduct> | AsyncIterable<UploadProduct>,
    { confirm, onBatch, allowDeletes, ...options }: FullUpdateOptions = {},
  ): Promise<FullUpdateResult> {
    const { fullUpdateId } = await initiate(options);
    const { idempotencyKey: _, ...shared } = options;
    const session = { ...shared, fullUpdateId };
    let sent = 0;
    let batches = 0;
    for await (const batch of toBatches(products)) {
      await upload(batch, session);
      batches += 1;
      sent += batch.length;
      onBatch?.(sent);
    }
    if (confirm !== undefined && !(await confirm(await preview(session)))) {
      return { fullUpdateId, sent, task: undefined };
    }
    const { data } = await start({ ...session, allowDeletes, batches });
    return { fullUpdateId, sent, task: await tasks.wait(data.task.id, rest(options)) };
  }

  return { initiate, upload, preview, previewDeleted, start, fullUpdate };
}

/** @returns the query parameters, as far as something was named */
export const chooseSession = ({ projectId, fullUpdateId }: SessionChoice) => ({
  ...choose(projectId),
  ...(fullUpdateId !== undefined && { fullUpdateId }),
});

/** @returns a body; bytes are one already */
export const toBody = <Sent>(products: readonly Sent[] | Uint8Array) =>
  (products instanceof Uint8Array ? products : { products: [...products] }) as { products: Sent[] };

/** An idempotency key names one request: a session has many. */
const rest = ({ signal }: ProjectChoice) => (signal ? { signal } : {});

/** Batches bounded in number and size. */
export async function* toBatches(
  products: Iterable<UploadProduct> | AsyncIterable<UploadProduct>,
): AsyncGenerator<UploadProduct[]> {
  let batch: UploadProduct[] = [];
  let characters = 0;
  for await (const product of products) {
    const length = JSON.stringify(product).length;
    if (batch.length === BATCH_PRODUCTS || (batch.length > 0 && characters + length > BATCH_CHARACTERS)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(product);
    characters += length;
  }
  if (batch.length > 0) yield batch;
}
