/**
 * The serving thread's side of a run's thread: its orders, its time limits, and its reports. The operations of the
 * thread are in `run-thread.ts`.
 */
import { ServiceError } from '../../kernel/errors.ts';
import type { ThreadPlace } from '../../storage/storage.ts';
import { createThreadSupply } from '../../storage/threads/threads.ts';
import type { ReportLine, TaskRun } from '../../tasks/tasks.ts';
import type {
  BatchCounts,
  Preview,
  ReadSummary,
  RejectedRowPolicy,
} from '../pipeline-definitions/pipeline-definitions.ts';
import type { SourceSettings } from '../sources/sources.ts';
import type { PreviewOrder } from './run-preview.ts';
import { describeUnread, type ReadEvent, type ReadOrder } from './run-reading.ts';

/** The data with which the thread of a run starts. */
export interface RunThreadData {
  readonly place: ThreadPlace;
  readonly sources: SourceSettings;
}

/** The limit for objects of a thread. 600 MB suffice for any format and its mapping. */
const HEAP_MIB = 1_024;
const HOUR_MS = 3_600_000;
/** The limit of a preview, because a person waits for it. */
const PREVIEW_MS = 60_000;
/**
 * The limit of a run without its writes. The largest file from a slow source, with an expression for every row, takes a
 * night.
 */
const READ_HOURS = 12;
/** The share of reading in a run's progress. The rest belongs to its writes. */
const READ_SHARE = 0.6;
/** How many lines are stored for a run that continues after a crash. While the run works, its report is complete. */
const STORED_LINES = 1_000;

export type RunThreads = ReturnType<typeof createRunThreads>;

export interface ReadParts {
  readonly run: TaskRun;
  readonly onRejectedRow: RejectedRowPolicy;
  /** @returns when there is room for more products */
  onProducts(bytes: Uint8Array): Promise<void>;
}

/** A run has its own thread. The thread ends with the run if the run is stopped midway. */
export function createRunThreads(entry: URL, data: RunThreadData) {
  const threads = createThreadSupply(entry, { workerData: data, heapMib: HEAP_MIB });

  /** @param signal stops the work with its reason */
  async function use<Result>(
    work: Parameters<typeof threads.use<Result>>[1],
    { ms, time, signal }: { ms: number; time: string; signal: AbortSignal | undefined },
  ): Promise<Result> {
    const timeUp = AbortSignal.timeout(ms);
    try {
      return await threads.use(signal === undefined ? timeUp : AbortSignal.any([signal, timeUp]), work);
    } catch (error) {
      signal?.throwIfAborted();
      if (!timeUp.aborted) throw translateDeath(error);
      throw new ServiceError('source_unreadable', `Reading and mapping the source took longer than ${time}`);
    }
  }

  return {
    /** @returns a summary of what was read; undefined if the source is unchanged */
    read: (order: ReadOrder, parts: ReadParts) =>
      use(
        async (thread) => {
          await thread.run('open', order, { key: 0 });
          return takeEvents(() => thread.run<ReadEvent>('next', {}, { key: 0 }), parts);
        },
        { ms: READ_HOURS * HOUR_MS, time: `${READ_HOURS} hours`, signal: parts.run.signal },
      ),
    preview: (order: PreviewOrder, signal?: AbortSignal) =>
      use((thread) => thread.run<Preview>('preview', order, { key: 0 }), {
        ms: PREVIEW_MS,
        time: `${PREVIEW_MS / 1_000} s`,
        signal,
      }),
    close: () => threads.close(),
  };
}

/** Reports the progress of reading to the run. @throws rows_rejected */
async function takeEvents(
  next: () => Promise<ReadEvent>,
  { run, onRejectedRow, onProducts }: ReadParts,
): Promise<Omit<ReadSummary, 'revision'> | undefined> {
  const total = { rows: 0, products: 0, filtered: 0, rejected: 0 };
  const stored: ReportLine[] = [];
  let unreported = 0;

  function reportRows(lines: readonly ReportLine[], more: number): void {
    for (const line of lines) run.report(line);
    run.leaveOut(more);
    const added = lines.slice(0, STORED_LINES - stored.length);
    stored.push(...added);
    unreported += lines.length - added.length + more;
  }

  async function takeBatch({ batch, percent }: Extract<ReadEvent, { kind: 'batch' }>): Promise<void> {
    const { bytes, counts, report } = batch;
    for (const key of ['rows', 'products', 'filtered', 'rejected'] as const) total[key] += counts[key];
    reportRows(report, batch.unreported);
    run.count({ ...total });
    if (onRejectedRow === 'stop' && total.rejected > 0) throw refuseRows(total, stored);
    if (bytes !== undefined) await onProducts(bytes);
    if (percent !== undefined) await run.progress(percent * READ_SHARE);
  }

  async function end(step: Extract<ReadEvent, { kind: 'end' }>) {
    await logEnd(run, step, total);
    for (const [path, count] of step.unread)
      run.report({ code: 'element_unread', column: path, count, message: describeUnread(path, count) });
    for (const { column, message } of step.unsplit)
      run.report({ code: 'list_unsplit', column, message: `${message}, and the mapping has no separator` });
    if (typeof onRejectedRow === 'number' && total.rejected > onRejectedRow * total.rows)
      throw refuseRows(total, stored);
    return { ...total, stamp: step.stamp, report: stored, unreported };
  }

  for (let coming = next(); ; ) {
    const step = await coming;
    if (step.kind === 'nothing-new') return undefined;
    if (step.kind === 'end') return end(step);
    // The thread reads ahead while this step is stored. If it fails, the failure is handled when the next step is due.
    coming = next();
    coming.catch(() => {});
    if (step.kind === 'opened') await run.log(`reading ${describeFiles(step.files)}`);
    else await takeBatch(step);
  }
}

async function logEnd(
  run: TaskRun,
  { found, missing }: Extract<ReadEvent, { kind: 'end' }>,
  { rows, products, filtered, rejected }: BatchCounts,
): Promise<void> {
  const about = Object.entries(found).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  await run.log([`read ${rows} rows`, ...about].join(', '));
  await run.log(`mapped ${products} products, ${filtered} rows were filtered out, ${rejected} rejected`);
  if (missing.length > 0)
    await run.log(`no row has ${missing.map((name) => JSON.stringify(name)).join(', ')}`);
}

/** Lists the first rejected rows in the failure. The report has all of them. */
function refuseRows({ rows, rejected }: BatchCounts, report: readonly ReportLine[]): ServiceError {
  const shown = report.slice(0, 10).map(({ row, column, message }) => {
    const where = column === undefined ? `row ${row}` : `row ${row}, column ${column}`;
    return `${where}: ${message}`;
  });
  return new ServiceError('rows_rejected', { details: [`${rejected} of ${rows} rows so far`, ...shown] });
}

function describeFiles(files: readonly string[]): string {
  const shown = files.slice(0, 10).join(', ');
  return files.length > 10 ? `${shown} and ${files.length - 10} more files` : shown;
}

/** A thread dies if it exceeds its memory. */
function translateDeath(error: unknown): unknown {
  const { code } = error as { code?: string };
  if (code !== 'ERR_WORKER_OUT_OF_MEMORY') return error;
  const details = [`Reading it takes more than ${HEAP_MIB} MiB of memory`];
  return new ServiceError('format_unreadable', { details, cause: error });
}
