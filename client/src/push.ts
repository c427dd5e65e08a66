import type { UploadProduct } from './product.ts';
import type { ProjectChoice } from './project-choice.ts';
import { RelataError, TaskError } from './relata-error.ts';
import { createTasks } from './tasks.ts';
import { makeName, type Transport } from './transport.ts';
import { createUpdates, type FullUpdatePreview, type InvalidChoice, type SessionChoice } from './updates.ts';
import type { Task } from './wire.ts';

/** The maximum of products in a batch. Source: docs/interface §8. */
const BATCH_PRODUCTS = 10_000;
/** Far below the smallest usual limit of a body, even if every character takes three bytes. */
const BATCH_CHARACTERS = 16_000_000;

/** The progress of a push. If it is stored, a later push of the same batches resumes there. */
export interface PushState {
  /** Names its requests, so that a repeated request counts once. Source: docs/interface §7.5. */
  readonly run: string;
  readonly fullUpdateId?: number;
  readonly batches: number;
  readonly products: number;
  /** Products that are invalid and were skipped. */
  readonly skipped: number;
  /** The tasks of the batches. For a full update, the task of the commit. */
  readonly tasks: readonly string[];
  readonly isCommitting: boolean;
}

export interface PushOptions extends ProjectChoice, InvalidChoice {
  readonly mode: 'full' | 'incremental' | 'partial';
  /** The state of an earlier push of the same batches that was interrupted. */
  readonly state?: PushState;
  /** Called with each state, and must store it before it returns. */
  readonly onState?: (state: PushState) => void;
  /** For a full update: receives the preview of the commit. False leaves the session open and the catalog unchanged. */
  readonly confirm?: ((preview: FullUpdatePreview) => boolean | Promise<boolean>) | undefined;
  /** The exact number of products that may be deleted, to override the delete guard. */
  readonly allowDeletes?: number | undefined;
  /** Called when the delete guard refuses. Returns how many products may be deleted. Undefined: the refusal stands. */
  readonly onGuard?: (refusal: RelataError) => Promise<number | undefined>;
  /** Called when the full update of `state` no longer exists and this push starts a new one. */
  readonly onGone?: () => void;
}

export interface PushResult {
  readonly state: PushState;
  /** The preview of the commit. Undefined for a commit that an earlier push began. */
  readonly preview?: FullUpdatePreview;
  /** The ended commit. Undefined if `confirm` returned false, and in other modes. */
  readonly task?: Task;
}

export interface FullUpdateOptions extends ProjectChoice {
  /** Receives the preview of the commit. False leaves the session open and the catalog unchanged. */
  readonly confirm?: (preview: FullUpdatePreview) => boolean | Promise<boolean>;
  /** Called after each batch with the number of products sent so far. */
  readonly onBatch?: (sent: number) => void;
  /** The exact number of products that may be deleted, to override the delete guard. */
  readonly allowDeletes?: number;
}

export interface FullUpdateResult {
  readonly fullUpdateId: number;
  readonly sent: number;
  /** The ended commit. Undefined if `confirm` returned false. */
  readonly task: Task | undefined;
}

type Products = Iterable<UploadProduct> | AsyncIterable<UploadProduct>;
/** A ready JSON body. Its buffer may be reused when the next body is requested. */
type Batches = AsyncIterable<readonly UploadProduct[] | Uint8Array>;

/** Whole updates, batch by batch. Source: docs/interface §4.4, §4.5. */
export function createPush(transport: Transport) {
  const service = { ...createUpdates(transport), ...createTasks(transport) };

  /**
   * Sends batches and returns when the catalog has them. An interrupted push resumes with its last state.
   * @throws TaskError if a batch or the commit fails
   */
  const push = (batches: Batches, options: PushOptions): Promise<PushResult> =>
    new Push(service, options).run(batches);

  /**
   * Makes the catalog equal to the given products: other products are deleted. Sends batches as the products arrive,
   * and keeps one batch in memory.
   * @throws TaskError if the commit fails
   */
  async function fullUpdate(
    products: Products,
    { onBatch, ...options }: FullUpdateOptions = {},
  ): Promise<FullUpdateResult> {
    let batches = 0;
    const onState = (state: PushState) => {
      if (state.batches > batches) onBatch?.(state.products + state.skipped);
      batches = state.batches;
    };
    const { state, task } = await push(toBatches(products), { mode: 'full', ...options, onState });
    return { fullUpdateId: state.fullUpdateId ?? 0, sent: state.products + state.skipped, task };
  }

  return { push, fullUpdate };
}

type Service = ReturnType<typeof createUpdates> & Pick<ReturnType<typeof createTasks>, 'wait'>;

class Push {
  readonly #service: Service;
  readonly #options: PushOptions;
  #state: PushState;

  constructor(service: Service, options: PushOptions) {
    this.#service = service;
    this.#options = options;
    this.#state = options.state ?? begin(options.idempotencyKey);
  }

  async run(batches: Batches): Promise<PushResult> {
    if (this.#options.mode === 'full') return this.#runFull(batches);
    await this.#send(batches);
    // Waits for each task in order, so that the first failure is reported.
    for (const id of this.#state.tasks) await this.#service.wait(id, this.#place);
    return { state: this.#state };
  }

  async #runFull(batches: Batches): Promise<PushResult> {
    const found = await this.#findCommit();
    if (found) return { state: this.#state, task: found };
    await this.#open();
    await this.#send(batches);
    const { confirm } = this.#options;
    const preview = confirm && (await this.#service.preview(this.#session));
    const isConfirmed = !preview || (await confirm?.(preview));
    const task = isConfirmed ? await this.#commit() : undefined;
    return { state: this.#state, ...(preview && { preview }), ...(task && { task }) };
  }

  get #place(): ProjectChoice {
    const { projectId, signal } = this.#options;
    return { projectId, ...(signal && { signal }) };
  }

  get #session(): SessionChoice {
    return { ...this.#place, fullUpdateId: this.#state.fullUpdateId };
  }

  #note(changed: Partial<PushState>): void {
    this.#state = { ...this.#state, ...changed };
    this.#options.onState?.(this.#state);
  }

  #isOpen = () => unlessGone(async () => Boolean(await this.#service.openFullUpdate(this.#session)));

  /** Resumes the session of the state if it is still open. Otherwise begins a new one. */
  async #open(): Promise<void> {
    if (this.#state.fullUpdateId !== undefined) {
      if (await this.#isOpen()) return;
      this.#options.onGone?.();
      this.#state = begin();
    }
    const opened = await unlessGone(this.#initiate);
    // An earlier push began the session without storing its id, and the session no longer exists.
    if (opened === false) this.#state = begin();
    const { fullUpdateId } = opened || (await this.#initiate());
    this.#note({ fullUpdateId });
  }

  #initiate = () => {
    const idempotencyKey = `${this.#state.run}-initiate`;
    return this.#service.initiate({ ...this.#place, idempotencyKey });
  };

  async #send(batches: Batches): Promise<void> {
    let at = 0;
    for await (const batch of batches) {
      at += 1;
      // Skips batches that the service accepted in an earlier push. The same batches have the same numbers.
      if (at > this.#state.batches) await this.#sendOne(batch);
    }
  }

  async #sendOne(body: readonly UploadProduct[] | Uint8Array): Promise<void> {
    const { mode, onInvalid } = this.#options;
    const { run, batches, products, skipped, tasks } = this.#state;
    const idempotencyKey = `${run}-batch-${batches + 1}`;
    const about = { ...this.#session, idempotencyKey, ...(onInvalid && { onInvalid }) };
    const send = { full: 'upload', partial: 'change', incremental: 'replace' } as const;
    const { task, nrOfParsed, nrOfSent } = await this.#service[send[mode]](body, about);
    this.#note({
      batches: batches + 1,
      products: products + nrOfParsed,
      skipped: skipped + (nrOfSent - nrOfParsed),
      tasks: mode === 'full' ? tasks : [...tasks, task.id],
    });
  }

  /** The caller may then allow the deletions that the delete guard refused. */
  async #commit(): Promise<Task> {
    const { allowDeletes, onGuard } = this.#options;
    try {
      return await this.#tryCommit(allowDeletes);
    } catch (error) {
      const isGuarded = error instanceof RelataError && error.reason === 'delete_guard';
      const allowed = isGuarded ? await onGuard?.(error) : undefined;
      if (allowed === undefined) throw error;
      return this.#tryCommit(allowed);
    }
  }

  #tryCommit(allowDeletes: number | undefined): Promise<Task> {
    this.#note({ isCommitting: true, tasks: [] });
    return this.#waitForCommit(allowDeletes);
  }

  async #waitForCommit(allowDeletes?: number): Promise<Task> {
    try {
      const id = this.#state.tasks[0] ?? (await this.#start(allowDeletes));
      return await this.#service.wait(id, this.#place);
    } catch (error) {
      // After any other failure the commit may still run, and a later push finds it.
      if (isRefused(error)) this.#note({ isCommitting: false, tasks: [] });
      throw error;
    }
  }

  /** @returns its task, even if the commit has begun before. Source: docs/interface §4.4 rule 17. */
  async #start(allowDeletes: number | undefined): Promise<string> {
    const choice = { ...this.#session, allowDeletes, batches: this.#state.batches };
    const { data } = await this.#service.start(choice);
    this.#note({ tasks: [data.task.id] });
    return data.task.id;
  }

  /**
   * For a push that lost contact during its commit. If the session is open, the commit never began. A closed session
   * never opens again, so a start finds its task and commits nothing.
   * @returns the ended commit, or false if there is none
   */
  async #findCommit(): Promise<Task | false> {
    if (!this.#state.isCommitting || (await this.#isOpen())) return false;
    return unlessGone(() => this.#waitForCommit());
  }
}

const begin = (run = makeName()): PushState => ({
  run,
  batches: 0,
  products: 0,
  skipped: 0,
  tasks: [],
  isCommitting: false,
});

/** A task that is no longer stored proves nothing. */
const isRefused = (error: unknown) =>
  error instanceof TaskError || (error instanceof RelataError && [400, 404].includes(error.status));

const GONE: ReadonlySet<string> = new Set([
  'full_update_ended',
  'full_update_missing',
  'full_update_other',
  'full_update_replaced',
]);

/**
 * @returns false if the full update no longer exists, because it ended, was discarded or was replaced. Any other
 * refusal proves nothing.
 */
async function unlessGone<Result>(work: () => Promise<Result>): Promise<Result | false> {
  try {
    return await work();
  } catch (error) {
    const reason = error instanceof RelataError ? error.reason : undefined;
    if (reason !== undefined && GONE.has(reason)) return false;
    throw error;
  }
}

/** Batches that are limited in number of products and size. */
async function* toBatches(products: Products): AsyncGenerator<UploadProduct[]> {
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
