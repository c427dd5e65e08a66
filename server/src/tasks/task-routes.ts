import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { cutPage, PageQuery } from '../http/answers/answers.ts';
import { type Routes, type Server, sendRaw, serve, serveRaw } from '../http/server/server.ts';
import { type Caller, nameCaller } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import { OpenCounts } from '../kernel/open-counts.ts';
import type { Task } from './task.ts';
import { TaskAnswer, TaskList, TaskListQuery, TaskLog, TaskParams, WaitQuery } from './task-schemas.ts';
import { type Tasks, toWireTask } from './tasks.ts';

type Waiting = ReturnType<typeof createWaitingCallers>;

interface TaskRouteParts {
  readonly tasks: Tasks;
  /** Projects stand to the right of tasks. */
  readonly projects: { reachesProject(caller: Caller, projectId: number): Promise<boolean> };
}

const config = { guard: 'key', access: 'read' } as const;
const about = { config, tags: ['Tasks'], params: TaskParams };
/** Proxies close a connection that is silent for a minute. */
const EVENT_PULSE_MS = 15_000;

/** Source: docs/interface.md §4.7. */
export const taskRoutes =
  (parts: TaskRouteParts): Routes =>
  (server) => {
    const waiting = createWaitingCallers();
    serveTaskList(server, parts);
    serveTask(server, parts, waiting);
    serveCancel(server, parts);
    serveLogAndReport(server, parts);
    serveEvents(server, parts, waiting);
  };

/** @throws not_found for an unknown task and one of a project out of reach alike */
async function getTask(
  { tasks, projects }: TaskRouteParts,
  { caller, params: { id } }: FastifyRequest & { params: { id: string } },
): Promise<Task> {
  const task = await tasks.find(id);
  if (task === undefined || !(await projects.reachesProject(caller, task.projectId)))
    throw new ServiceError('not_found');
  return task;
}

/** A user's roles may change while the answer goes out. */
function refuseWhenLost({ projects }: TaskRouteParts, request: FastifyRequest, { projectId }: Task): void {
  const { checkCaller } = request;
  request.checkCaller = async () => {
    await checkCaller?.();
    const { caller } = request;
    const isLost = caller.scope.type === 'parts' && !(await projects.reachesProject(caller, projectId));
    if (isLost) throw new ServiceError('scope_refused');
  };
}

function serveTaskList(server: Server, { tasks }: TaskRouteParts): void {
  const endpoint = {
    method: 'GET',
    path: '/tasks',
    config: { guard: 'project', access: 'read' },
    tags: ['Tasks'],
    summary: 'List the tasks of a project',
    ...{ query: TaskListQuery, answer: { 200: TaskList } },
  } as const;
  serve(server, endpoint, async ({ project, query }) => {
    const { limit = 100, cursor, ...filter } = query;
    const below = cursor === undefined ? undefined : readCursor(cursor);
    const found = await tasks.list({ ...filter, projectId: project.id, below, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const nextCursor = found.length > limit && last !== undefined ? String(last.number) : null;
    return { status: 'success' as const, tasks: page.map(toWireTask), nextCursor };
  });
}

function serveTask(server: Server, parts: TaskRouteParts, waiting: Waiting): void {
  const endpoint = {
    ...about,
    method: 'GET',
    path: '/tasks/:id',
    summary: 'Read one task, or wait for its end',
    ...{ query: WaitQuery, answer: { 200: TaskAnswer } },
  } as const;
  serve(server, endpoint, async (request) => {
    const task = await getTask(parts, request);
    const { wait = 0 } = request.query;
    if (wait === 0) return { status: 'success' as const, task: toWireTask(task) };
    const leave = waiting.enter(request.caller);
    const latest = await parts.tasks.waitUntilEnded(task, wait * 1000).finally(leave);
    return { status: 'success' as const, task: toWireTask(latest) };
  });
}

function serveLogAndReport(server: Server, parts: TaskRouteParts): void {
  const log = {
    ...about,
    method: 'GET',
    path: '/tasks/:id/log',
    ...{ summary: 'Read the log', query: PageQuery, answer: { 200: TaskLog } },
  } as const;
  serve(server, log, async (request) => {
    const lines = await parts.tasks.readLog(await getTask(parts, request));
    // Lines are added at the end and never removed.
    const { page, nextCursor } = cutPage(lines, request.query, (_, at) => at);
    const isPage = request.query.limit !== undefined || request.query.cursor !== undefined;
    return { status: 'success' as const, log: page, ...(isPage && { nextCursor }) };
  });

  const report = {
    ...about,
    method: 'GET',
    path: '/tasks/:id/report',
    summary: 'Read the report: a JSON line per product or value with something to say',
    ...{ produces: 'application/x-ndjson', why: 'a stream of lines' },
  } as const;
  serveRaw(server, report, async (request, reply) => {
    const task = await getTask(parts, request);
    return sendRaw(reply, 'application/x-ndjson; charset=utf-8', Readable.from(parts.tasks.readReport(task)));
  });
}

function serveEvents(server: Server, parts: TaskRouteParts, waiting: Waiting): void {
  const endpoint = {
    ...about,
    method: 'GET',
    path: '/tasks/:id/events',
    config: { ...config, isPatient: true },
    summary: 'Follow a task as server-sent events: a `task` event at once and at every change',
    ...{ produces: 'text/event-stream', why: 'a stream of events' },
  } as const;
  serveRaw(server, endpoint, async (request, reply) => {
    const task = await getTask(parts, request);
    refuseWhenLost(parts, request, task);
    reply.raw.once('close', waiting.enter(request.caller));
    reply.header('x-accel-buffering', 'no');
    const events = Readable.from(followAsEvents(parts.tasks, task, request));
    return sendRaw(reply, 'text/event-stream; charset=utf-8', events);
  });
}

function serveCancel(server: Server, parts: TaskRouteParts): void {
  const endpoint = {
    ...about,
    method: 'POST',
    path: '/tasks/:id/cancel',
    config: { ...config, access: 'write' },
    ...{ summary: 'Cancel a task that has not taken effect', answer: { 200: TaskAnswer } },
  } as const;
  serve(server, endpoint, async (request) => {
    const task = await parts.tasks.cancel(await getTask(parts, request));
    return { status: 'success' as const, task: toWireTask(task) };
  });
}

function readCursor(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor))
    throw new ServiceError('query_invalid', { details: ['/cursor is not one of ours'] });
  return Number(cursor);
}

async function* followAsEvents(tasks: Tasks, task: Task, request: FastifyRequest): AsyncGenerator<string> {
  const gone = new AbortController();
  request.raw.once('close', () => gone.abort());
  const changes = tasks.watch.follow(() => tasks.find(task.id), gone.signal);
  let next = changes.next();
  for (;;) {
    const change = await Promise.race([next, pulse()]);
    if (change === 'pulse') {
      yield ': still there\n\n';
      continue;
    }
    if (change.done) return;
    yield `event: task\ndata: ${JSON.stringify(toWireTask(change.value))}\n\n`;
    next = changes.next();
  }
}

async function pulse(): Promise<'pulse'> {
  return new Promise((resolve) => {
    setTimeout(() => resolve('pulse'), EVENT_PULSE_MS).unref();
  });
}

/** Of one key or user. Source: docs/interface.md §8. */
const MOST_WAITING = 1_000;

/** Limits waits for tasks, by `wait` or by events: each of them is notified of every change. */
export function createWaitingCallers() {
  const open = new OpenCounts<string>();
  return {
    /** @returns what ends the wait @throws too_many_waits */
    enter(caller: Caller): () => void {
      const name = nameCaller(caller);
      if (open.of(name) < MOST_WAITING) return open.begin(name);
      const details = [`one key or user may wait ${MOST_WAITING} times at once`];
      throw new ServiceError('too_many_waits', { details, retryAfterSeconds: 1 });
    },
  };
}
