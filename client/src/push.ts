import type { UploadProduct } from './product.ts';
import type { ProjectChoice } from './project-choice.ts';
import { RelataError, TaskError } from './relata-error.ts';
import { createTasks } from './tasks.ts';
import { makeName, type Transport } from './transport.ts';
import { createUpdates, type FullUpdatePreview, type InvalidChoice, type SessionChoice } from './updates.ts';
import type { Task } from './wire.ts';

/** The most products in a batch. Source: docs/interface §8. */
const BATCH_PRODUCTS = 10_000;
/** Far below the smallest usual limit of a body, also when every character takes three bytes. */
const BATCH_CHARACTERS = 16_000_000;

/** How far a push is: stored, it lets a later push of the same batches go on. */
export interface PushState {
  /** Names its requests: one that is sent again counts once. Source: docs/interface §7.5. */
  readonly run: string;
  readonly fullUpdateId?: number;
  readonly batches: number;
  readonly products: number;
  /** Products that are not valid and were left out. */
  readonly skipped: number;
  /** Of each batch; of a full update the commit. */
  readonly tasks: readonly string[];
  readonly isCommitting: boolean;
}

export interface PushOptions extends ProjectChoice, InvalidChoice {
  readonly mode: 'full' | 'incremental' | 'partial';
  /** Of an earlier push of the same batches, which was broken off. */
  readonly state?: PushState;
  /** Called with each state, which is to be stored before it returns. */
  readonly onState?: (state: PushState) => void;
  /** Of a full update: looks at what the commit would do; false leaves the session open and the catalog as it is. */
  readonly confirm?: ((preview: FullUpdatePreview) => boolean | Promise<boolean>) | undefined;
  /** Exactly how many products may be deleted, to pass the delete guard. */
  readonly allowDeletes?: number | undefined;
  /** Called when the delete guard refuses: how many may be deleted; undefined: the refusal stands. */
  readonly onGuard?: (refusal: RelataError) => Promise<number | undefined>;
  /** Called when the full update of `state` is gone: this one begins anew. */
  readonly onGone?: () => void;
}

export interface PushResult {
  readonly state: PushState;
  /** What the commit was going to do; undefined for one that an earlier push began. */
  readonly preview?: FullUpdatePreview;
  /** The commit, ended; undefined when `confirm` said no, and of other modes. */
  readonly task?: Task;
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

type Products = Iterable<UploadProduct> | AsyncIterable<UploadProduct>;
/** A body as it is to be sent, in JSON, may be used again when the next one is taken. */
type Batches = AsyncIterable<readonly UploadProduct[] | Uint8Array>;

/** Whole updates, batch by batch. Source: docs/interface §4.4, §4.5. */
export function createPush(transport: Transport) {
  const service = { ...createUpdates(transport), ...createTasks(transport) };

  /**
   * Sends batches, and ends when the catalog has them. Broken off, it goes on with its last state.
   * @throws TaskError when a batch or the commit fails
   */
  const push = (batches: Batches, options: PushOptions): Promise<PushResult> =>
    new Push(service, options).run(batches);

  /**
   * Makes the catalog what is given: products that are not in it are deleted. Sends batches as the products come, and
   * holds one batch in memory.
   * @throws TaskError when the commit fails
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
    // Each, so that the first failure is reported.
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

  /** Goes on with the session of the state, if that is still open, else begins one. */
  async #open(): Promise<void> {
    if (this.#state.fullUpdateId !== undefined) {
      if (await this.#isOpen()) return;
      this.#options.onGone?.();
      this.#state = begin();
    }
    const opened = await unlessGone(this.#initiate);
    // An earlier push began it without noting its id, and it is gone since.
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
      // Accepted by an earlier push: the same batches have the same numbers.
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

  /** What the delete guard refuses may be allowed then. */
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
      // After any other failure the commit may run: a later push finds it.
      if (isRefused(error)) this.#note({ isCommitting: false, tasks: [] });
      throw error;
    }
  }

  /** @returns its task, also of one that has begun before. Source: docs/interface §4.4 rule 17. */
  async #start(allowDeletes: number | undefined): Promise<string> {
    const choice = { ...this.#session, allowDeletes, batches: this.#state.batches };
    const { data } = await this.#service.start(choice);
    this.#note({ tasks: [data.task.id] });
    return data.task.id;
  }

  /**
   * Of a push that lost sight of its commit. While the session is open the commit never began. One that is closed never opens
   * again, so starting it finds its task and commits nothing.
   * @returns the commit, ended; false where there is none
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

/** A task that is no longer stored says nothing. */
const isRefused = (error: unknown) =>
  error instanceof TaskError || (error instanceof RelataError && [400, 404].includes(error.status));

const GONE: ReadonlySet<string> = new Set([
  'full_update_ended',
  'full_update_missing',
  'full_update_other',
  'full_update_replaced',
]);

/** @returns false where the full update is gone: ended, given up or replaced. Any other refusal says nothing of it. */
async function unlessGone<Result>(work: () => Promise<Result>): Promise<Result | false> {
  try {
    return await work();
  } catch (error) {
    const reason = error instanceof RelataError ? error.reason : undefined;
    if (reason !== undefined && GONE.has(reason)) return false;
    throw error;
  }
}

/** Batches bounded in number and size. */
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
