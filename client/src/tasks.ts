import { readEvents, readNdjson } from './lines.ts';
import { choose, type ProjectChoice } from './project-choice.ts';
import { TaskError } from './relata-error.ts';
import { pause, pauseBefore } from './retry.ts';
import type { CallOptions, QueryOf, Transport } from './transport.ts';
import type { Task } from './wire.ts';

/** A line of a task's report. Source: docs/interface §4.7 rule 5. */
export interface ReportLine {
  identifier?: string;
  code?: string;
  attribute?: string;
  /** For the build of a channel: the field of its format. */
  field?: string;
  value?: string;
  message?: string;
  /** For the run of a pipeline: the row of the file, counted with its header, and the column. */
  row?: number;
  column?: string;
  /** On the last line of a report that was cut: the number of further lines. */
  more?: number;
}

export interface TaskListQuery extends ProjectChoice {
  readonly status?: QueryOf<'getTasks'>['status'] | undefined;
  readonly limit?: number;
  readonly cursor?: string | undefined;
}

/** The longest wait of one request. Source: docs/interface §8. */
const WAIT_SECONDS = 60;

/** Limits the pause between two attempts to connect to about 8 seconds. */
const MOST_DOUBLINGS = 6;

const hasEnded = (task: Task) => task.finishTime !== null;

/** The outcome of an update. Source: docs/interface §4.7. */
export function createTasks(transport: Transport) {
  const { call, request } = transport;
  return {
    get: async (id: string, options: CallOptions = {}) =>
      (await call('getTasksById', { path: { id } }, options)).task,

    /**
     * Waits until the task has ended, however long it takes.
     * @throws TaskError if it ended as FAILED or CANCELLED
     */
    wait: (id: string, options: CallOptions = {}): Promise<Task> => wait(transport, id, options),

    /** Yields the task immediately and at every change, until it has ended. Opens a broken connection again. */
    follow: (id: string, options: CallOptions = {}): AsyncGenerator<Task> => follow(transport, id, options),

    /** A page, newest first. */
    list: ({ projectId, signal, ...query }: TaskListQuery = {}) =>
      call('getTasks', { query: { ...choose(projectId), ...defined(query) } }, rest(signal)),

    /** Oldest line first. */
    log: async (id: string, options: CallOptions = {}) =>
      (await call('getTasksByIdLog', { path: { id } }, options)).log,

    /** The report on single products and values, as it arrives. */
    async *report(id: string, { signal }: CallOptions = {}): AsyncGenerator<ReportLine> {
      const path = `/tasks/${encodeURIComponent(id)}/report`;
      yield* readNdjson<ReportLine>(await request({ method: 'GET', path, ...rest(signal) }));
    },

    /** @throws RelataError 409 for an upload, and for a task that has ended or is taking effect */
    cancel: async (id: string, options: CallOptions = {}) =>
      (await call('postTasksByIdCancel', { path: { id } }, options)).task,
  };
}

async function wait({ call }: Transport, id: string, options: CallOptions): Promise<Task> {
  for (;;) {
    const input = { path: { id }, query: { wait: WAIT_SECONDS } };
    const { task } = await call('getTasksById', input, options);
    if (task.taskStatus === 'FINISHED') return task;
    if (hasEnded(task)) throw new TaskError(task);
  }
}

async function* follow(transport: Transport, id: string, options: CallOptions): AsyncGenerator<Task> {
  for (let failures = 1; ; failures += 1) {
    for await (const task of listen(transport, id, options)) {
      failures = 1;
      yield task;
      if (hasEnded(task)) return;
    }
    await pause(pauseBefore(Math.min(failures, MOST_DOUBLINGS)), options.signal);
  }
}

/** One connection: it ends with the task, or when a proxy breaks it. */
async function* listen({ request }: Transport, id: string, { signal }: CallOptions): AsyncGenerator<Task> {
  const path = `/tasks/${encodeURIComponent(id)}/events`;
  const response = await request({ method: 'GET', path, accept: 'text/event-stream', ...rest(signal) });
  try {
    yield* readEvents<Task>(response, 'task');
  } catch (error) {
    // The stream broke, because proxies close quiet streams. The caller opens the next one.
    if (signal?.aborted || error instanceof SyntaxError) throw error;
  }
}

const rest = (signal: AbortSignal | undefined) => (signal ? { signal } : {});

/** A query omits an optional member that is undefined. */
function defined<Query extends object>(query: Query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [Name in keyof Query]: Exclude<Query[Name], undefined> };
}
