import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { ErrorAnswer, type Routes, type Server } from '../http/http.ts';
import type { Caller } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Task } from './task.ts';
import { TaskAnswer, TaskList, TaskListQuery, TaskLog, TaskParams, WaitQuery } from './task-schemas.ts';
import { type Tasks, toWireTask } from './tasks.ts';
import { createWaitingCallers, type WaitingCallers } from './waiting-callers.ts';

export interface TaskRouteParts {
  readonly tasks: Tasks;
  /** Projects stand to the right of tasks. */
  readonly projects: { reachesProject(caller: Caller, projectId: number): Promise<boolean> };
}

const oneTask = { guard: 'key', access: 'write' } as const;
const failures = { '4xx': ErrorAnswer };
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
async function getTask({ tasks, projects }: TaskRouteParts, request: FastifyRequest): Promise<Task> {
  const task = await tasks.find((request.params as { id: string }).id);
  if (task === undefined || !(await projects.reachesProject(request.caller, task.projectId)))
    throw new ServiceError('not_found');
  return task;
}

function serveTaskList(server: Server, parts: TaskRouteParts): void {
  server.get(
    '/tasks',
    {
      config: { guard: 'project', access: 'write' },
      schema: {
        tags: ['Tasks'],
        summary: 'List the tasks of a project',
        querystring: TaskListQuery,
        response: { 200: TaskList, ...failures },
      },
    },
    async (request) => {
      const { status, limit = 100, cursor } = request.query;
      const below = cursor === undefined ? undefined : readCursor(cursor);
      const found = await parts.tasks.list({
        projectId: request.project.id,
        status,
        below,
        limit: limit + 1,
      });
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const nextCursor = found.length > limit && last !== undefined ? String(last.number) : null;
      return { status: 'success' as const, tasks: page.map(toWireTask), nextCursor };
    },
  );
}

function serveTask(server: Server, parts: TaskRouteParts, waiting: WaitingCallers): void {
  server.get(
    '/tasks/:id',
    {
      config: oneTask,
      schema: {
        tags: ['Tasks'],
        summary: 'Read one task, or wait for its end',
        params: TaskParams,
        querystring: WaitQuery,
        response: { 200: TaskAnswer, ...failures },
      },
    },
    async (request) => {
      const task = await getTask(parts, request);
      const { wait = 0 } = request.query;
      if (wait === 0) return { status: 'success' as const, task: toWireTask(task) };
      const leave = waiting.enter(request.caller);
      const latest = await parts.tasks.waitUntilEnded(task, wait * 1000).finally(leave);
      return { status: 'success' as const, task: toWireTask(latest) };
    },
  );
}

function serveLogAndReport(server: Server, parts: TaskRouteParts): void {
  server.get(
    '/tasks/:id/log',
    {
      config: oneTask,
      schema: {
        tags: ['Tasks'],
        summary: 'Read the log',
        params: TaskParams,
        response: { 200: TaskLog, ...failures },
      },
    },
    async (request) => ({
      status: 'success' as const,
      log: await parts.tasks.readLog(await getTask(parts, request)),
    }),
  );

  server.get(
    '/tasks/:id/report',
    {
      config: oneTask,
      schema: {
        tags: ['Tasks'],
        summary: 'Read the report: a JSON line per product or value with something to say',
        params: TaskParams,
        produces: ['application/x-ndjson'],
        response: failures,
      },
    },
    async (request, reply) => {
      const task = await getTask(parts, request);
      reply.type('application/x-ndjson; charset=utf-8');
      return reply.send(Readable.from(parts.tasks.readReport(task)) as never);
    },
  );
}

function serveEvents(server: Server, parts: TaskRouteParts, waiting: WaitingCallers): void {
  server.get(
    '/tasks/:id/events',
    {
      config: { ...oneTask, isPatient: true },
      schema: {
        tags: ['Tasks'],
        summary: 'Follow a task as server-sent events: a `task` event at once and at every change',
        params: TaskParams,
        produces: ['text/event-stream'],
        response: failures,
      },
    },
    async (request, reply) => {
      const task = await getTask(parts, request);
      reply.raw.once('close', waiting.enter(request.caller));
      reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no');
      return reply.send(Readable.from(followAsEvents(parts.tasks, task, request)) as never);
    },
  );
}

function serveCancel(server: Server, parts: TaskRouteParts): void {
  server.post(
    '/tasks/:id/cancel',
    {
      config: oneTask,
      schema: {
        tags: ['Tasks'],
        summary: 'Cancel a task that has not taken effect',
        params: TaskParams,
        response: { 200: TaskAnswer, ...failures },
      },
    },
    async (request) => {
      const task = await parts.tasks.cancel(await getTask(parts, request));
      return { status: 'success' as const, task: toWireTask(task) };
    },
  );
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
