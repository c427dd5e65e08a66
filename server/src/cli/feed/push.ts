import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type FullUpdatePreview, RelataError, TaskError } from '@relata/client';
import { readClientSettings } from '../../config.ts';
import { ProgressLine } from '../progress-line.ts';
import {
  type Connection,
  type ConnectionFlags,
  connect,
  connectWith,
  PATIENT_RETRIES,
  UsageError,
} from './connection.ts';
import { type FileProgress, measureFiles, readProducts } from './product-files.ts';
import { ask, confirm, countOf, isInteractive, print, say } from './terminal.ts';

export interface PushFlags extends ConnectionFlags {
  readonly full?: boolean;
  readonly incremental?: boolean;
  readonly partial?: boolean;
  readonly preview?: boolean;
  readonly yes?: boolean;
  readonly onInvalid?: OnInvalid;
  readonly allowDeletes?: string;
  readonly resume?: boolean;
  readonly batch: string;
}

type Mode = 'full' | 'incremental' | 'partial';
type OnInvalid = 'refuse' | 'skip';

interface Push {
  readonly connection: Connection;
  readonly mode: Mode;
  readonly onInvalid: OnInvalid | undefined;
  readonly record: PushRecord;
  readonly files: readonly string[];
  /** Products in a batch. */
  readonly size: number;
}

/** `relata push FILE…`: batch by batch, each named, so that what was broken off goes on where it was. */
export async function push(files: readonly string[], flags: PushFlags): Promise<number> {
  const mode = readMode(flags);
  const connection = connectWith(flags, PATIENT_RETRIES);
  const size = Number(flags.batch);
  measureFiles(files);
  await connect(flags).relata.installation.live();
  const record = PushRecord.open({ ...connection, mode, files, size, isResumed: flags.resume === true });
  const pushed: Push = { connection, mode, files, size, record, onInvalid: flags.onInvalid };
  if (mode === 'full') return pushAll(pushed, flags);
  await sendBatches(pushed);
  await waitForAll(pushed);
  return report(pushed, flags);
}

async function pushAll(pushed: Push, flags: PushFlags): Promise<number> {
  const { record, connection, mode } = pushed;
  if (await finishCommit(pushed, flags)) return report(pushed, flags);
  await openSession(pushed);
  await sendBatches(pushed);
  const preview = await connection.relata.products.preview(choiceOf(pushed));
  const counts = countsOf(preview);
  console.error(describePreview(preview));
  if (await isRequested(preview, flags)) {
    await commit(pushed, counts.deleted, flags);
    return report(pushed, flags, counts);
  }
  await connection.relata.products.giveUpFullUpdate(choiceOf(pushed));
  record.close();
  if (flags.json) print({ mode, ...counts, committed: false });
  return flags.preview ? 0 : 1;
}

function readMode({ full, incremental, partial, preview, allowDeletes }: PushFlags): Mode {
  const named = Object.entries({ full, incremental, partial }).filter(([, isSet]) => isSet);
  if (named.length > 1) throw new UsageError('say one of --full, --incremental and --partial');
  const mode = (named[0]?.[0] as Mode | undefined) ?? 'incremental';
  // Swallowed, it would send what the caller wants to see first.
  if (mode !== 'full' && preview) throw new UsageError('--preview is for --full: other updates have none');
  if (mode !== 'full' && allowDeletes !== undefined)
    throw new UsageError('--allow-deletes is for --full: other updates delete nothing');
  return mode;
}

const choiceOf = ({ connection: { projectId }, record }: Push) => ({
  ...(projectId !== undefined && { projectId }),
  ...(record.state.fullUpdateId !== undefined && { fullUpdateId: record.state.fullUpdateId }),
});

/** Goes on with the session of the record, if that is still open, else begins one. */
async function openSession(pushed: Push): Promise<void> {
  const { relata } = pushed.connection;
  const { record } = pushed;
  if (record.state.fullUpdateId !== undefined) {
    if (await isOpen(pushed)) return;
    console.error('The full update that was broken off is gone, this one begins anew.');
    record.restart();
  }
  const { fullUpdateId } = await relata.products.initiate({
    ...choiceOf(pushed),
    idempotencyKey: record.nameOf('initiate'),
  });
  record.keep({ fullUpdateId });
}

async function isOpen(pushed: Push): Promise<boolean> {
  try {
    await pushed.connection.relata.products.openFullUpdate(choiceOf(pushed));
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/** Any other refusal says nothing of the session. */
const isGone = (error: unknown) =>
  error instanceof RelataError && ['full_update_missing', 'full_update_other'].includes(error.reason ?? '');

async function sendBatches(pushed: Push): Promise<void> {
  const { record, files, size } = pushed;
  const progress = measureFiles(files);
  const line = new ProgressLine(process.stderr);
  let batch = 0;
  try {
    for await (const body of readBatches(files, { progress, size })) {
      batch += 1;
      // Accepted by an earlier process: the same files make the same batches.
      if (batch <= record.state.batches) continue;
      await sendBatch(pushed, batch, body);
      line.show(describe(progress, record.state.products));
    }
  } finally {
    line.end();
  }
  if (batch === 0) throw new UsageError(`there is no product in ${files.join(', ')}`);
}

const describe = ({ read, total }: FileProgress, products: number) => ({
  phase: 'sending',
  place: '',
  rows: products,
  noun: 'products',
  done: total === 0 ? undefined : read / total,
  doneBefore: 0,
});

/** @returns bodies, each until the next one is asked for */
async function* readBatches(
  files: readonly string[],
  { progress, size }: { progress: FileProgress; size: number },
): AsyncGenerator<Buffer> {
  const batch = new BatchBody(size);
  for await (const products of readProducts(files, progress)) {
    for (const product of products) {
      if (batch.add(product)) continue;
      yield batch.take();
      batch.add(product);
    }
  }
  if (batch.count > 0) yield batch.take();
}

async function sendBatch(pushed: Push, batch: number, body: Buffer): Promise<void> {
  const { connection, mode, record, onInvalid } = pushed;
  const options = {
    ...choiceOf(pushed),
    ...(onInvalid && { onInvalid }),
    idempotencyKey: record.nameOf(`batch-${batch}`),
  };
  const { products: service } = connection.relata;
  const { task, nrOfParsed, nrOfSent } =
    mode === 'full'
      ? await service.upload(body, options)
      : await service[mode === 'partial' ? 'change' : 'replace'](body, options);
  const { batches, products: sent, tasks, skipped } = record.state;
  record.keep({
    batches: batches + 1,
    products: sent + nrOfParsed,
    skipped: skipped + (nrOfSent - nrOfParsed),
    tasks: mode === 'full' ? tasks : [...tasks, task.id],
  });
}

const countsOf = ({ created, changed, unchanged, deleted }: FullUpdatePreview) => ({
  created: created.count,
  changed: changed.count,
  unchanged: unchanged.count,
  deleted: deleted.count,
});

function describePreview(preview: FullUpdatePreview): string {
  const counts = Object.entries(countsOf(preview)).map(([name, count]) => `${say(count)} ${name}`);
  const share = preview.deleted.count > 0 ? ` (${preview.deletePercent.toFixed(1)} % of the catalog)` : '';
  return `This commit: ${counts.join(', ')}${share}`;
}

async function isRequested({ deleted }: FullUpdatePreview, flags: PushFlags): Promise<boolean> {
  if (flags.preview) return false;
  if (flags.yes || flags.allowDeletes !== undefined) return true;
  if (isInteractive())
    return confirm(
      deleted.count > 0 ? `Commit, and delete ${countOf(deleted.count, 'product')}?` : 'Commit?',
    );
  if (deleted.count > 0) console.error('Nothing was committed: what deletes products needs --yes.');
  return deleted.count === 0;
}

/** What the guard refuses needs the number, typed or as a flag. */
async function commit(pushed: Push, deleted: number, flags: PushFlags): Promise<void> {
  const allowed = flags.allowDeletes === undefined ? undefined : Number(flags.allowDeletes);
  try {
    await tryCommit(pushed, allowed);
  } catch (error) {
    if (!isGuarded(error) || allowed !== undefined || !isInteractive()) throw error;
    console.error((error as Error).message);
    if ((await ask(`Type ${deleted} to delete ${countOf(deleted, 'product')}: `)) !== String(deleted))
      throw error;
    await tryCommit(pushed, deleted);
  }
}

async function tryCommit(pushed: Push, allowDeletes: number | undefined): Promise<void> {
  pushed.record.keep({ isCommitting: true, tasks: [] });
  await waitForCommit(pushed, allowDeletes);
}

async function waitForCommit(pushed: Push, allowDeletes?: number): Promise<void> {
  const { record, connection } = pushed;
  try {
    const id = record.state.tasks[0] ?? (await startCommit(pushed, allowDeletes));
    await connection.relata.tasks.wait(id);
  } catch (error) {
    if (isRefused(error)) record.keep({ isCommitting: false, tasks: [] });
    throw error;
  }
}

/** @returns its task, also of one that has begun before. Source: docs/interface.md §4.4 rule 17. */
async function startCommit(pushed: Push, allowDeletes: number | undefined): Promise<string> {
  const { record, connection } = pushed;
  const { data } = await connection.relata.products.start({
    ...choiceOf(pushed),
    ...(allowDeletes !== undefined && { allowDeletes }),
    batches: record.state.batches,
  });
  record.keep({ tasks: [data.task.id] });
  return data.task.id;
}

/**
 * Of a push that lost sight of its commit. While the session is open the commit never began: it is shown and asked for
 * like any other. One that is closed never opens again, so starting it finds its task and commits nothing.
 * @returns whether there was a commit, which has ended
 */
async function finishCommit(pushed: Push, { preview }: PushFlags): Promise<boolean> {
  if (!pushed.record.state.isCommitting || (await isOpen(pushed))) return false;
  try {
    await waitForCommit(pushed);
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
  if (preview)
    console.error('There is nothing to preview: the commit had begun when the push was broken off.');
  return true;
}

/** After any other failure the commit may run: `--resume` looks for it. A task that is no longer kept tells nothing. */
const isRefused = (error: unknown) =>
  error instanceof TaskError || (error instanceof RelataError && [400, 404].includes(error.status));

const isGuarded = (error: unknown) => error instanceof RelataError && error.reason === 'delete_guard';

/** Waits for each, so that the first failure is told. @throws TaskError */
async function waitForAll({ connection, record }: Push): Promise<void> {
  for (const id of record.state.tasks) await connection.relata.tasks.wait(id);
}

function report(pushed: Push, { json }: PushFlags, counts?: object): number {
  const { record, mode } = pushed;
  const { products, batches, skipped, tasks } = record.state;
  record.close();
  if (json) print({ mode, products, batches, skipped, ...counts, tasks, committed: true });
  else {
    const left = skipped > 0 ? `, ${say(skipped)} invalid left out (the tasks' reports name them)` : '';
    console.log(
      `pushed ${countOf(products, 'product')} in ${say(batches)} ${batches === 1 ? 'batch' : 'batches'}${left}`,
    );
  }
  return 0;
}

/** Larger bodies gain nothing. */
const BATCH_BYTES = 8 * 1024 * 1024;
const BEGIN = Buffer.from('{"products":[');
const END = Buffer.from(']}');
const COMMA = 0x2c;

/** The body of a batch, in memory that all batches of a push share: new memory for each would be freed too late. */
export class BatchBody {
  count = 0;
  private bytes = Buffer.concat([BEGIN], BATCH_BYTES);
  private length = BEGIN.length;
  private readonly size: number;

  /** @param size products in a batch */
  constructor(size: number) {
    this.size = size;
  }

  /** @returns false where the batch is full; an empty one takes a product of any length */
  add(product: Buffer): boolean {
    const comma = this.count === 0 ? 0 : 1;
    const length = this.length + comma + product.length;
    const isFull = this.count === this.size || length + END.length > BATCH_BYTES;
    if (isFull && this.count > 0) return false;
    if (length + END.length > this.bytes.length) this.bytes = Buffer.concat([BEGIN], length + END.length);
    if (comma === 1) this.bytes[this.length] = COMMA;
    product.copy(this.bytes, this.length + comma);
    this.length = length;
    this.count += 1;
    return true;
  }

  /** @returns the body, until the next product is added; the next one begins a batch */
  take(): Buffer {
    const body = this.bytes.subarray(0, this.length + END.copy(this.bytes, this.length));
    this.length = BEGIN.length;
    this.count = 0;
    return body;
  }
}

/** How far a push is. It is on the disk before the next batch is sent. */
interface PushState {
  /** Names its requests: one that is sent again counts once. Source: docs/interface.md §7.5. */
  readonly run: string;
  readonly fullUpdateId?: number;
  readonly batches: number;
  readonly products: number;
  readonly skipped: number;
  readonly tasks: readonly string[];
  readonly isCommitting: boolean;
}

interface PushedFiles {
  readonly url: string;
  readonly key: string;
  readonly projectId: number | undefined;
  readonly mode: string;
  readonly files: readonly string[];
  readonly size: number;
  readonly isResumed: boolean;
}

const begin = (): PushState => ({
  ...{ run: randomUUID(), batches: 0, products: 0, skipped: 0, tasks: [], isCommitting: false },
});

class PushRecord {
  state: PushState;
  private readonly path: string | undefined;

  private constructor(path: string | undefined, state: PushState) {
    this.path = path;
    this.state = state;
  }

  /** @throws UsageError where there is nothing to resume */
  static open(pushed: PushedFiles): PushRecord {
    const path = pushed.files.includes('-') ? undefined : pathOf(pushed);
    const known = path === undefined ? undefined : read(path);
    if (pushed.isResumed) {
      if (known !== undefined) return new PushRecord(path, known);
      console.error('No push of these files was broken off: this one begins at the start.');
    } else if (known !== undefined && known.batches > 0)
      console.error(
        `A push of these files was broken off after ${known.products} products: --resume goes on.`,
      );
    return new PushRecord(path, begin());
  }

  keep(changed: Partial<PushState>): void {
    this.state = { ...this.state, ...changed };
    if (this.path === undefined) return;
    writeFileSync(`${this.path}.new`, JSON.stringify(this.state), { mode: 0o600, flush: true });
    renameSync(`${this.path}.new`, this.path);
  }

  restart(): void {
    this.keep({ fullUpdateId: undefined, ...begin() } as PushState);
  }

  /** @returns an idempotency key */
  nameOf(request: string): string {
    return `${this.state.run}-${request}`;
  }

  close(): void {
    if (this.path !== undefined) rmSync(this.path, { force: true });
  }
}

function read(path: string): PushState | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as PushState;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new UsageError(`${path} cannot be read, delete it: ${(error as Error).message}`);
  }
}

/** A file that has changed since makes other batches, so it is another push. */
function pathOf({ url, key, projectId, mode, size, files }: PushedFiles): string {
  const described = files.map((file) => {
    const { size, mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? { size: 0, mtimeMs: 0 };
    return [resolve(file), size, mtimeMs];
  });
  const hash = createHash('sha256').update(
    JSON.stringify([url, key, projectId ?? null, mode, size, described]),
  );
  const folder = join(readClientSettings().stateHome ?? join(homedir(), '.local', 'state'), 'relata');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return join(folder, `push-${hash.digest('hex').slice(0, 32)}.json`);
}
