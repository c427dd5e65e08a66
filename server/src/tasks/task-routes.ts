import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { cutPage, PageQuery } from '../http/answers/answers.ts';
import { type Routes, type Server, sendRaw, serve, serveRaw } from '../http/server/server.ts';
import { type Caller, nameCaller } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import { OpenCounts } from '../kernel/open-counts.ts';
import type { Task } from './task.ts';
import { TaskAnswer, TaskList, TaskListQuery, TaskLog, TaskParams, WaitQuery } from './task-schemas.ts';
import { type Tasks, toWireTask } from './tasks.ts';

interface TaskRouteParts {
  readonly tasks: Tasks;
  /** Injected, because projects are to the right of tasks in the order of rooms, so tasks must not import them. */
  readonly projects: { reachesProject(caller: Caller, projectId: number): Promise<boolean> };
}

const config = { guard: 'key', access: 'read' } as const;
const about = { config, tags: ['Tasks'], params: TaskParams };
/**
 * The interval between comments that keep the connection open, because proxies close one that is silent for a minute.
 */
const EVENT_PULSE_MS = 15_000;

/** Source: docs/interface §4.7. */
export const taskRoutes =
  (parts: TaskRouteParts): Routes =>
  (server) => {
    const waiting = createWaitingCallers();
    serveList(server, parts);
    serveTask(server, parts, waiting);
    serveCancel(server, parts);
    serveLog(server, parts);
    serveReport(server, parts);
    serveEvents(server, parts, waiting);
  };

function serveList(server: Server, { tasks }: TaskRouteParts): void {
  serve(server, 'GET /tasks', {
    config: { guard: 'project', access: 'read' },
    tags: ['Tasks'],
    summary: 'List the tasks of a project',
    query: TaskListQuery,
    answer: { 200: TaskList },
    async handle({ project, query }) {
      const { limit = 100, cursor, ...filter } = query;
      const below = cursor === undefined ? undefined : readCursor(cursor);
      const listed = await tasks.list({ ...filter, projectId: project.id, below, limit: limit + 1 });
      const page = listed.slice(0, limit);
      const last = page.at(-1);
      const nextCursor = listed.length > limit && last !== undefined ? String(last.number) : null;
      return { status: 'success' as const, tasks: page.map(toWireTask), nextCursor };
    },
  });
}

function serveTask(server: Server, parts: TaskRouteParts, waiting: WaitingCallers): void {
  serve(server, 'GET /tasks/:id', {
    ...about,
    summary: 'Read one task, or wait for its end',
    query: WaitQuery,
    answer: { 200: TaskAnswer },
    async handle(request) {
      const task = await getTask(parts, request);
      const { wait = 0 } = request.query;
      if (wait === 0) return { status: 'success' as const, task: toWireTask(task) };
      const leave = waiting.enter(request.caller);
      const latest = await parts.tasks.waitUntilEnded(task, wait * 1000).finally(leave);
      return { status: 'success' as const, task: toWireTask(latest) };
    },
  });
}

function serveCancel(server: Server, parts: TaskRouteParts): void {
  serve(server, 'POST /tasks/:id/cancel', {
    ...about,
    config: { ...config, access: 'write' },
    summary: 'Cancel a task that has not taken effect',
    answer: { 200: TaskAnswer },
    async handle(request) {
      const task = await parts.tasks.cancel(await getTask(parts, request));
      return { status: 'success' as const, task: toWireTask(task) };
    },
  });
}

function serveLog(server: Server, parts: TaskRouteParts): void {
  serve(server, 'GET /tasks/:id/log', {
    ...about,
    summary: 'Read the log',
    query: PageQuery,
    answer: { 200: TaskLog },
    async handle(request) {
      const lines = await parts.tasks.readLog(await getTask(parts, request));
      // An index can be a cursor, because lines are only added at the end and never removed.
      const { page, nextCursor } = cutPage(lines, request.query, (_, index) => index);
      const isPage = request.query.limit !== undefined || request.query.cursor !== undefined;
      return { status: 'success' as const, log: page, ...(isPage && { nextCursor }) };
    },
  });
}

function serveReport(server: Server, parts: TaskRouteParts): void {
  serveRaw(server, 'GET /tasks/:id/report', {
    ...about,
    summary: 'Read the report: a JSON line for each finding about a product or value',
    produces: 'application/x-ndjson',
    why: 'a stream of lines',
    async handle(request, reply) {
      const lines = Readable.from(parts.tasks.readReport(await getTask(parts, request)));
      return sendRaw(reply, 'application/x-ndjson; charset=utf-8', lines);
    },
  });
}

function serveEvents(server: Server, parts: TaskRouteParts, waiting: WaitingCallers): void {
  serveRaw(server, 'GET /tasks/:id/events', {
    ...about,
    config: { ...config, isPatient: true },
    summary: 'Follow a task as server-sent events: a `task` event immediately and at every change',
    produces: 'text/event-stream',
    why: 'a stream of events',
    async handle(request, reply) {
      const task = await getTask(parts, request);
      refuseWhenLost(parts, request, task);
      reply.raw.once('close', waiting.enter(request.caller));
      reply.header('x-accel-buffering', 'no');
      const events = Readable.from(followAsEvents(parts.tasks, task, request));
      return sendRaw(reply, 'text/event-stream; charset=utf-8', events);
    },
  });
}

/** @throws not_found for an unknown task, and for one of a project that the caller cannot access */
async function getTask(
  { tasks, projects }: TaskRouteParts,
  { caller, params: { id } }: FastifyRequest & { params: { id: string } },
): Promise<Task> {
  const task = await tasks.find(id);
  if (task === undefined || !(await projects.reachesProject(caller, task.projectId)))
    throw new ServiceError('not_found');
  return task;
}

/** Adds the task's project to the checks during a long answer, because a user's roles may change meanwhile. */
function refuseWhenLost({ projects }: TaskRouteParts, request: FastifyRequest, { projectId }: Task): void {
  const { checkCaller } = request;
  request.checkCaller = async () => {
    await checkCaller?.();
    const { caller } = request;
    const isLost = caller.scope.type === 'parts' && !(await projects.reachesProject(caller, projectId));
    if (isLost) throw new ServiceError('scope_refused');
  };
}

function readCursor(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new ServiceError('query_invalid', '/cursor is not one of ours');
  return Number(cursor);
}

async function* followAsEvents(tasks: Tasks, task: Task, request: FastifyRequest): AsyncGenerator<string> {
  const disconnected = new AbortController();
  request.raw.once('close', () => disconnected.abort());
  const changes = tasks.watch.follow(() => tasks.find(task.id), disconnected.signal);
  let next = changes.next();
  for (;;) {
    const pulse = delay(EVENT_PULSE_MS, 'pulse' as const, { ref: false });
    const change = await Promise.race([next, pulse]);
    if (change === 'pulse') {
      yield ': still there\n\n';
      continue;
    }
    if (change.done) return;
    yield `event: task\ndata: ${JSON.stringify(toWireTask(change.value))}\n\n`;
    next = changes.next();
  }
}

/** The limit for one key or user. Source: docs/interface §8. */
const MOST_WAITING = 1_000;

type WaitingCallers = ReturnType<typeof createWaitingCallers>;

/** Limits how many callers wait for tasks, with `wait` or for events, because each is notified of every change. */
export function createWaitingCallers() {
  const open = new OpenCounts<string>();
  return {
    /** @returns a function that ends the wait @throws too_many_waits */
    enter(caller: Caller): () => void {
      const name = nameCaller(caller);
      if (open.of(name) < MOST_WAITING) return open.begin(name);
      const details = [`one key or user may wait ${MOST_WAITING} times at once`];
      throw new ServiceError('too_many_waits', { details, retryAfterSeconds: 1 });
    },
  };
}
