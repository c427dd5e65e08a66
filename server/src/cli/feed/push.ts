import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { FullUpdatePreview, PushOptions, PushResult, PushState } from '@relata/client';
import { readClientSettings } from '../../config.ts';
import { openProgressLine } from '../progress-line.ts';
import type { Connection, ConnectionFlags } from './connection.ts';
import { connect, connectWith, PATIENT_RETRIES, readStored, UsageError } from './connection.ts';
import { type FileProgress, measureFiles, readProducts } from './product-files.ts';
import { ask, confirm, countOf, formatCount, isInteractive, print } from './terminal.ts';

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

type Mode = PushOptions['mode'];
type OnInvalid = NonNullable<PushOptions['onInvalid']>;

/** `relata push FILE…`: sends batches one by one and records each, so that an interrupted push can be resumed. */
export async function push(files: readonly string[], flags: PushFlags): Promise<number> {
  const mode = readMode(flags);
  const connection = connectWith(flags, PATIENT_RETRIES);
  const size = Number(flags.batch);
  const progress = measureFiles(files);
  await connect(flags).relata.installation.live();
  const record = openRecord({ ...connection, mode, files, size, isResumed: flags.resume === true });
  const line = openProgressLine(process.stderr);
  let sent = record.state?.batches ?? 0;
  let deletes = 0;
  const { projectId, relata } = connection;
  try {
    const pushed = await relata.products.push(readBatches(files, { progress, size }), {
      mode,
      projectId,
      onInvalid: flags.onInvalid,
      ...(record.state && { state: record.state }),
      onState(state) {
        record.keep(state);
        if (state.batches > sent) line.show(describe(progress, state.products));
        sent = state.batches;
      },
      onGone: () =>
        console.error('The interrupted full update no longer exists, so this push begins a new one.'),
      async confirm(preview) {
        line.end();
        deletes = preview.deleted.count;
        console.error(describePreview(preview));
        return isRequested(preview, flags);
      },
      allowDeletes: flags.allowDeletes === undefined ? undefined : Number(flags.allowDeletes),
      onGuard: async (refusal) =>
        flags.allowDeletes === undefined ? askDeletes(refusal, deletes) : undefined,
    });
    line.end();
    const committed = await finish(pushed, connection, flags);
    record.close();
    if (flags.json) print(report(pushed, { mode, committed }));
    else if (committed) console.log(describePush(pushed.state));
    return committed || flags.preview ? 0 : 1;
  } finally {
    line.end();
  }
}

/** Discards a full update that is not committed. @returns whether the push took effect */
async function finish(
  { state: { fullUpdateId }, preview, task }: PushResult,
  { relata, projectId }: Connection,
  flags: PushFlags,
): Promise<boolean> {
  if (task === undefined && preview !== undefined) {
    await relata.products.giveUpFullUpdate({ projectId, fullUpdateId });
    return false;
  }
  if (flags.preview)
    console.error('There is nothing to preview: the commit had already begun when the push was interrupted.');
  return true;
}

function report({ state, preview }: PushResult, { mode, committed }: { mode: Mode; committed: boolean }) {
  const { products, batches, skipped, tasks } = state;
  const counts = preview && countsOf(preview);
  return committed
    ? { mode, products, batches, skipped, ...counts, tasks, committed }
    : { mode, ...counts, committed };
}

function describePush({ products, batches, skipped }: PushState): string {
  const left =
    skipped > 0 ? `, ${formatCount(skipped)} invalid skipped (the reports of the tasks name them)` : '';
  return `pushed ${countOf(products, 'product')} in ${formatCount(batches)} ${batches === 1 ? 'batch' : 'batches'}${left}`;
}

function readMode({ full, incremental, partial, preview, allowDeletes }: PushFlags): Mode {
  const named = Object.entries({ full, incremental, partial }).filter(([, isSet]) => isSet);
  if (named.length > 1) throw new UsageError('use only one of --full, --incremental and --partial');
  const mode = (named[0]?.[0] as Mode | undefined) ?? 'incremental';
  // Refused, because an ignored flag would send products that the user only wants to preview.
  if (mode !== 'full' && preview)
    throw new UsageError('--preview is for --full: other updates have no preview');
  if (mode !== 'full' && allowDeletes !== undefined)
    throw new UsageError('--allow-deletes is for --full: other updates delete nothing');
  return mode;
}

const describe = ({ read, total }: FileProgress, products: number) => ({
  phase: 'sending',
  subject: '',
  rows: products,
  noun: 'products',
  done: total === 0 ? undefined : read / total,
  doneBefore: 0,
});

/** @returns the bodies of batches; each is valid until the next one is requested */
async function* readBatches(
  files: readonly string[],
  { progress, size }: { progress: FileProgress; size: number },
): AsyncGenerator<Buffer> {
  const batch = new BatchBody(size);
  let isAny = false;
  for await (const products of readProducts(files, progress)) {
    for (const product of products) {
      isAny = true;
      if (batch.add(product)) continue;
      yield batch.take();
      batch.add(product);
    }
  }
  if (batch.count > 0) yield batch.take();
  if (!isAny) throw new UsageError(`there is no product in ${files.join(', ')}`);
}

const countsOf = ({ created, changed, unchanged, deleted }: FullUpdatePreview) => ({
  created: created.count,
  changed: changed.count,
  unchanged: unchanged.count,
  deleted: deleted.count,
});

function describePreview(preview: FullUpdatePreview): string {
  const counts = Object.entries(countsOf(preview)).map(([name, count]) => `${formatCount(count)} ${name}`);
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
  if (deleted.count > 0) console.error('Nothing was committed: a commit that deletes products needs --yes.');
  return deleted.count === 0;
}

/** Asks for the number of products to delete, which confirms a commit that the delete guard refuses. */
async function askDeletes({ message }: Error, deletes: number): Promise<number | undefined> {
  if (!isInteractive()) return undefined;
  console.error(message);
  const typed = await ask(`Type ${deletes} to delete ${countOf(deletes, 'product')}: `);
  return typed === String(deletes) ? deletes : undefined;
}

/** Larger bodies do not make a push faster. */
const BATCH_BYTES = 8 * 1024 * 1024;
const BEGIN = Buffer.from('{"products":[');
const END = Buffer.from(']}');
const COMMA = 0x2c;

/** The body of a batch. All batches of a push share its memory, because new memory for each would be freed too late. */
export class BatchBody {
  count = 0;
  private bytes = Buffer.concat([BEGIN], BATCH_BYTES);
  private length = BEGIN.length;
  private readonly size: number;

  /** @param size the number of products in a batch */
  constructor(size: number) {
    this.size = size;
  }

  /** @returns false if the batch is full; an empty batch accepts a product of any length */
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

  /** @returns the body, which is valid until the next product is added to a new batch */
  take(): Buffer {
    const body = this.bytes.subarray(0, this.length + END.copy(this.bytes, this.length));
    this.length = BEGIN.length;
    this.count = 0;
    return body;
  }
}

interface PushedFiles extends Pick<Connection, 'url' | 'key' | 'projectId'> {
  readonly mode: string;
  readonly files: readonly string[];
  readonly size: number;
  readonly isResumed: boolean;
}

/**
 * Records the progress of a push on disk before each batch is sent.
 * @returns the record, with the state of an interrupted push to resume
 */
function openRecord(pushed: PushedFiles) {
  const path = pushed.files.includes('-') ? undefined : pathOf(pushed);
  const interrupted = path === undefined ? undefined : readStored<PushState>(path, ' (delete it)');
  if (pushed.isResumed && interrupted === undefined)
    console.error('There is no interrupted push of these files, so this push begins at the start.');
  if (!pushed.isResumed && interrupted !== undefined && interrupted.batches > 0)
    console.error(
      `A push of these files was interrupted after ${interrupted.products} products: use --resume to continue it.`,
    );
  return {
    state: pushed.isResumed ? interrupted : undefined,
    keep(state: PushState): void {
      if (path === undefined) return;
      writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600, flush: true });
      renameSync(`${path}.new`, path);
    },
    close: () => path !== undefined && rmSync(path, { force: true }),
  };
}

/** The path includes the sizes and times of the files: a changed file has other batches, so it is a different push. */
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
