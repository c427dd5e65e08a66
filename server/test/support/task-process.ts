import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/kernel/clock.ts';
import { ServiceError } from '../../src/kernel/errors.ts';
import type { Database } from '../../src/storage/storage.ts';
import {
  createTasks,
  type Task,
  type TaskDefinition,
  type TaskRun,
  type Tasks,
} from '../../src/tasks/tasks.ts';
import type { TestStore } from './test-store.ts';

/**
 * A process that only runs tasks. `short`: an ordered task that ends without help. `gated`: one that waits for the
 * test. `effect`: the same, while it takes effect. `passed`: the same, but parts of it write during the wait. `beside`:
 * an unordered task that waits for the test, two per process and two per project at a time. `carried`: a task that
 * never runs.
 */
export interface TaskProcess {
  readonly tasks: Tasks;
  /** The texts of its runs in order of their start, including unfinished ones. */
  readonly begun: string[];
  readonly ended: Task[];
  readonly logged: string[];
  /** Runs waiting for the test, by text. */
  readonly gates: ReadonlyMap<string, Gate>;
  accept(kind: TaskKind, projectId: number, options?: { text?: string; isHeld?: boolean }): Promise<Task>;
  /** Cuts its connections to the database, like `kill -9`. The process still lives and may return. */
  cut(): void;
  /** The number of failed attempts to reach the database since the cut. */
  countFailures(): number;
  mend(): void;
  stop(): Promise<void>;
}

export interface Gate {
  readonly run: TaskRun;
  open(): void;
  fail(error: Error): void;
}

export type TaskKind = keyof typeof isOrdered;
const isOrdered = {
  short: true,
  gated: true,
  effect: true,
  passed: false,
  beside: false,
  few: false,
  carried: false,
} as const;
const SHORT_MS = 5;

interface Work {
  readonly text: string;
}

export async function startTaskProcess(
  store: TestStore,
  { runs = true }: { runs?: boolean } = {},
): Promise<TaskProcess> {
  const storage = await store.open();
  const { database, ...connection } = makeCuttable(storage.database);
  const logged: string[] = [];
  const note = ({ err = '' }: { err?: unknown }, message: string) => void logged.push(`${message} ${err}`);
  const ended: Task[] = [];
  const tasks = createTasks({
    database,
    clock: systemClock,
    logger: { debug: note, info: note, warn: note, error: note },
    describeRefusal: ({ code }) => ({ message: code }),
    onEnded: (task) => void ended.push(task),
    runs,
  });
  const begun: string[] = [];
  const gates = new Map<string, Gate>();
  const definitions = defineKinds(begun, gates);
  tasks.define([...definitions.values()]);
  await tasks.start();
  let stopped: Promise<void> | undefined;
  const process: TaskProcess = {
    tasks,
    begun,
    ended,
    logged,
    gates,
    ...connection,
    accept: (kind, projectId, { text = '', isHeld = false } = {}) =>
      tasks.accept(definitions.get(kind) ?? assert.fail(kind), {
        project: { id: projectId, name: 'Project' },
        payload: { text },
        isHeld,
        ...(kind === 'few' && { lane: text }),
      }),
    stop() {
      stopped ??= tasks.close().then(() => storage.close());
      return stopped;
    },
  };
  store.onRemove(async () => {
    connection.mend();
    for (const gate of gates.values()) gate.open();
    await process.stop();
  });
  return process;
}

function defineKinds(begun: string[], gates: Map<string, Gate>): Map<TaskKind, TaskDefinition<Work>> {
  const wait = ({ text }: Work, run: TaskRun, signal?: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    signal?.addEventListener('abort', () => reject(signal.reason));
    const gate = { run, open: resolve, fail: reject };
    gates.set(text, gate);
    return promise.finally(() => gates.get(text) === gate && gates.delete(text));
  };
  const waitForTest = (work: Work, run: TaskRun) => wait(work, run, run.signal);
  const work: Record<TaskKind, TaskDefinition<Work>['run']> = {
    short: () => delay(SHORT_MS),
    gated: waitForTest,
    beside: waitForTest,
    few: waitForTest,
    effect: async (payload, run) => void (await run.takeEffect(() => wait(payload, run))),
    async passed(payload, run) {
      await run.passOn(async () => {});
      await waitForTest(payload, run);
    },
    carried: undefined,
  };
  const define = (kind: TaskKind): TaskDefinition<Work> => {
    const run = work[kind];
    return {
      kind,
      name: kind,
      increment: 'STEP_BASED',
      acceptedAs: isOrdered[kind] ? 'RUNNING' : 'PENDING',
      isOrdered: isOrdered[kind],
      ...(kind === 'few' && { atOnce: { inProcess: 3, inAccount: 3, inProject: 2 } }),
      ...(run && {
        async run(payload: Work, running: TaskRun) {
          begun.push(payload.text);
          await run(payload, running);
        },
      }),
    };
  };
  return new Map((Object.keys(isOrdered) as TaskKind[]).map((kind) => [kind, define(kind)]));
}

function makeCuttable(real: Database) {
  let isCut = false;
  let failures = 0;
  const reach = () => {
    if (!isCut) return real;
    failures += 1;
    throw new ServiceError('not_ready');
  };
  const database: Database = {
    isShared: real.isShared,
    processId: real.processId,
    now: real.now,
    get read() {
      return reach().read;
    },
    write: async (of, work) => reach().write(of, work),
    close: () => real.close(),
  };
  return {
    database,
    cut() {
      isCut = true;
      failures = 0;
    },
    countFailures: () => failures,
    mend() {
      isCut = false;
    },
  };
}

/** Waits for a condition, up to a limit. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  limitMs = 10_000,
): Promise<void> {
  for (const end = performance.now() + limitMs; !(await isSo()); await delay(10)) {
    assert.ok(performance.now() < end, `not within ${limitMs} ms: ${what}`);
  }
}
