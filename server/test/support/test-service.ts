import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type App, createApp, type Replacements, type Role } from '../../src/app/app.ts';
import { readConfig } from '../../src/config.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import type { WireTask } from '../../src/tasks/tasks.ts';
import { checkAnswer } from './check-answer.ts';
import type { Stopping } from './stops.ts';
import { makeTestStore, type TestStore } from './test-store.ts';

/** A product in the upload shape of docs/interface §2.3, as tests write it. */
export interface TestProduct {
  identifier: string;
  name?: string;
  [field: string]: unknown;
}

export interface Answer<Body> {
  status: number;
  headers: Headers;
  body: Body;
}

export interface CallOptions {
  /** Sent as JSON; strings and bytes are sent unchanged. */
  body?: unknown;
  /** null: sends none. */
  key?: string | null;
  headers?: Record<string, string>;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

export interface TestService {
  readonly app: App;
  readonly address: string;
  /** An account key. */
  readonly key: string;
  readonly projectId: number;
  readonly store: TestStore;
  /** The whole log of the service, one JSON line each. */
  readonly log: string[];
  call(method: string, path: string, options?: CallOptions): Promise<Answer<AnyBody>>;
  /** Runs a full update with these products until its commit has ended. @returns the commit's task */
  loadCatalog(products: readonly TestProduct[], projectId?: number): Promise<WireTask>;
  /** @returns the task once it has ended */
  ended(taskId: string): Promise<WireTask>;
  /** @returns the report lines of an ended task */
  report(taskId: string): Promise<AnyBody[]>;
  /** @returns the found products as the lookup answers them */
  lookUp(identifiers: readonly string[], projectId?: number): Promise<AnyBody[]>;
  createProject(name: string, settings?: object): Promise<number>;
  /** Stops the service before the test ends. */
  stop(): Promise<void>;
}

export interface TestServiceOptions {
  /** RELATA_ settings in addition to those of the store. */
  settings?: Record<string, string>;
  clock?: Clock;
  /** A shared store, or the store of an earlier service. By default a new store, which is removed with the service. */
  store?: TestStore;
  role?: Role;
  /** Replacements for parts of the store, which run before the disk. */
  replace?: Replacements;
}

/** The longest task, a run over a catalog of real size, takes 20 s on two idle cores. */
const TASK_MINUTES = 5;
const KEY = 'test-key-of-at-least-thirty-two-characters';

const API_PAGE = new URL('../../../site/dist/api.html', import.meta.url);

/** The whole service on a free port of loopback. It stops when the test ends. */
export async function startTestService(t: Stopping, options: TestServiceOptions = {}): Promise<TestService> {
  const store = options.store ?? (await makeTestStore());
  if (options.store === undefined) t.after(store.remove);
  const log: string[] = [];
  // A test file may run without a build. Loading this always would add 40 ms to each file.
  if (!existsSync(API_PAGE)) (await import('../../../site/api-page.ts')).refreshApiPage();
  const app = await createApp({
    config: readConfig({ ...settingsOn(store), ...options.settings }),
    logTo: { write: (line) => void log.push(line) },
    ...(options.role && { role: options.role }),
    ...(options.clock && { clock: options.clock }),
    ...(options.replace && { replace: options.replace }),
  });
  await app.access.createFirstAccount(KEY);
  const address = await app.start();
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= app.stop();
    return stopped;
  };
  store.onRemove(stop);
  if (options.store !== undefined) t.after(stop);

  const projects = await succeed(address, 'GET /management/projects');
  const projectId: number = projects.items[0]?.id ?? (await createProject(address, 'Test project'));
  return { app, address, key: KEY, projectId, store, log, stop, ...createCalls(address, projectId) };
}

const settingsOn = (store: TestStore) => ({
  ...store.settings,
  RELATA_PORT: '0',
  RELATA_PARSER_THREADS: '1',
  // Ten times the default, for busy machines. relation-work.test.ts tests the limit.
  RELATA_RELATION_SECONDS: '1200',
  RELATA_WRITER_THREADS: '2',
  // An eighth of the memory by default, because a test of large answers would otherwise need gigabytes.
  RELATA_CACHE_MIB: '64',
  RELATA_LOG_LEVEL: 'debug',
});

type Calls = Pick<TestService, 'call' | 'ended' | 'createProject' | 'loadCatalog' | 'report' | 'lookUp'>;

const createCalls = (address: string, projectId: number): Calls => ({
  call: (method, path, options) => call(address, { ...options, method, path }),
  ended: (taskId) => awaitEnd(address, taskId),
  createProject: (name, settings) => createProject(address, name, settings),
  async loadCatalog(products, project = projectId) {
    await succeed(address, `POST /products/batch/initiate?projectId=${project}`);
    for (let start = 0; start < products.length; start += 10_000) {
      const batch = products
        .slice(start, start + 10_000)
        .map((product) => ({ name: product.identifier, ...product }));
      await succeed(address, `POST /products/batch/upload?projectId=${project}`, { products: batch });
    }
    const started = await succeed(address, `POST /products/batch/start?projectId=${project}`);
    return awaitEnd(address, started.data.task.id);
  },
  async report(taskId) {
    const { body } = await call(address, { method: 'GET', path: `/tasks/${taskId}/report` });
    return String(body)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  },
  async lookUp(identifiers, project = projectId) {
    const query = `projectId=${project}`;
    return (await succeed(address, `POST /product-service/products-by-sku?${query}`, { identifiers }))
      .products;
  },
});

async function call(
  address: string,
  { method, path, body, key = KEY, headers = {} }: CallOptions & { method: string; path: string },
): Promise<Answer<AnyBody>> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(`${address}${path}`, {
    method,
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: (isRaw ? body : JSON.stringify(body)) as string }),
  });
  const text = await response.text();
  const { status, headers: answered } = response;
  if (answered.get('content-type')?.startsWith('application/json') !== true)
    return { status, headers: answered, body: text };
  const answer = JSON.parse(text);
  checkAnswer({ method, path, status, body: answer });
  return { status, headers: answered, body: answer };
}

/** @param requested method and path */
async function succeed(address: string, requested: `${string} /${string}`, body?: unknown): Promise<AnyBody> {
  const [method = '', path = ''] = requested.split(' ');
  const answer = await call(address, { method, path, body });
  assert.ok(answer.status < 300, `${requested}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function createProject(address: string, name: string, settings?: object): Promise<number> {
  const group = await succeed(address, 'POST /management/project-groups', { name: `Group of ${name}` });
  const project = { name, projectGroupId: group.id, locale: 'de-DE', ...(settings && { settings }) };
  return (await succeed(address, 'POST /management/projects', project)).id;
}

async function awaitEnd(address: string, taskId: string): Promise<WireTask> {
  for (let minute = 1; minute <= TASK_MINUTES; minute += 1) {
    const { task } = await succeed(address, `GET /tasks/${taskId}?wait=60`);
    if (task.finishTime !== null) return task;
  }
  return assert.fail(`the task ${taskId} did not end within ${TASK_MINUTES} minutes`);
}

/** A clock that advances only when a test moves it. */
export class TestClock implements Clock {
  private present: number;
  constructor(present = Date.UTC(2026, 0, 1)) {
    this.present = present;
  }
  now(): number {
    return this.present;
  }
  pass(ms: number): void {
    this.present += ms;
  }
}
