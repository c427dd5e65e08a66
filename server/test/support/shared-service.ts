import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { Stops } from './stops.ts';
import {
  type Answer,
  type CallOptions,
  startTestService,
  type TestProduct,
  type TestService,
  type TestServiceOptions,
} from './test-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

/**
 * One service for all tests of a file, each of which uses its own project. Its log must end without errors.
 * @returns the service, once tests run
 */
export function shareService(
  options: TestServiceOptions = {},
  prepare?: (service: TestService) => Promise<void>,
): () => TestService {
  const stops = new Stops();
  let service: TestService | undefined;
  before(async () => {
    service = await startTestService(stops, options);
    await prepare?.(service);
  });
  after(async () => {
    await stops.stopAll();
    // A full disk does not count as a fault of the service.
    const lines = service?.log.filter(
      (line) => /"level":[56]0/.test(line) && !line.includes('free space has run out'),
    );
    const faults = lines?.map(describeFault);
    assert.deepEqual(
      [...new Set(faults)],
      [],
      'no request of the tests caused a fault of the service (§7.4)',
    );
  });
  return () => service ?? assert.fail('the service has not started yet');
}

function describeFault(line: string): string {
  const { msg, err } = JSON.parse(line);
  return `${msg}: ${err?.stack}`;
}

/** A project with the calls of §4. A path may have further parameters: `/products?partial=true`. */
export interface TestCatalog {
  readonly projectId: number;
  call(method: string, path: string, options?: CallOptions): Promise<Answer<AnyBody>>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<AnyBody>>;
  /** Runs an incremental update until its task has ended. */
  update(...products: readonly object[]): Promise<AnyBody>;
  /** Runs a partial update until its task has ended. */
  patch(...products: readonly object[]): Promise<AnyBody>;
  /** @returns the finished task of a write that must succeed */
  done(answer: Answer<AnyBody>): Promise<AnyBody>;
  load(...products: readonly TestProduct[]): Promise<AnyBody>;
  find(...identifiers: readonly string[]): Promise<AnyBody[]>;
  /** @returns the stored upload shape */
  stored(identifier: string): Promise<AnyBody>;
  /** @returns the identifiers of all products */
  list(): Promise<string[]>;
  tasks(): Promise<AnyBody[]>;
  report(task: { id: string }): Promise<AnyBody[]>;
  /** Makes ordered tasks of the project wait until the returned function is called. */
  hold(): Promise<() => Promise<void>>;
}

let projects = 0;

/** @returns a new empty project */
export async function createCatalog(service: TestService, settings?: object): Promise<TestCatalog> {
  const projectId = await service.createProject(`Project ${++projects}`, settings);
  const call: TestCatalog['call'] = (method, path, options) =>
    service.call(method, `${path}${path.includes('?') ? '&' : '?'}projectId=${projectId}`, options);
  const post: TestCatalog['post'] = (path, body, headers) =>
    call('POST', path, { body, ...(headers && { headers }) });

  async function done(answer: Answer<AnyBody>): Promise<AnyBody> {
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { task } = answer.body.data ?? answer.body;
    return service.ended(task.id);
  }

  return {
    projectId,
    call,
    post,
    done,
    update: async (...products) => done(await post('/products', { products })),
    patch: async (...products) => done(await post('/products?partial=true', { products })),
    load: (...products) => service.loadCatalog(products, projectId),
    find: (...identifiers) => service.lookUp(identifiers, projectId),
    async stored(identifier) {
      const path = `/management/projects/${projectId}/products/${encodeURIComponent(identifier)}`;
      return (await service.call('GET', path)).body.upload;
    },
    async list() {
      const identifiers: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = `limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
        const { body } = await service.call('GET', `/management/projects/${projectId}/products?${page}`);
        identifiers.push(...body.items.map((item: { identifier: string }) => item.identifier));
        cursor = body.nextCursor;
      }
      return identifiers;
    },
    tasks: async () => (await call('GET', '/tasks?limit=1000')).body.tasks,
    report: ({ id }) => service.report(id),
    hold: () => holdTasks(service, projectId),
  };
}

async function holdTasks(service: TestService, projectId: number): Promise<() => Promise<void>> {
  const released = Promise.withResolvers<void>();
  const hold = {
    kind: `test.hold.${projectId}.${performance.now()}`,
    name: 'hold',
    increment: 'STEP_BASED',
    acceptedAs: 'RUNNING',
    isOrdered: true,
    run: () => released.promise,
  } as const;
  service.app.tasks.define([hold]);
  const project = { id: projectId, name: 'held', accountId: 1 };
  const { id } = await service.app.tasks.accept(hold, { project, payload: {} });
  return async () => {
    released.resolve();
    await service.ended(id);
  };
}

/** A refusal in the shape of §7.1, without `requestId`. */
export function assertRefused(
  answer: Answer<AnyBody>,
  status: number,
  message?: string | RegExp,
): asserts answer is Answer<AnyBody> {
  const shown = JSON.stringify(answer.body);
  assert.equal(answer.status, status, shown);
  assert.equal(answer.body.status, 'failure', shown);
  assert.equal(answer.body.code, status, shown);
  assert.match(answer.body.requestId, /^[0-9a-f-]{36}$/, shown);
  if (typeof message === 'string') assert.equal(answer.body.message, message);
  else if (message !== undefined) assert.match(answer.body.message, message);
  const { details } = answer.body;
  if (details !== undefined)
    assert.ok(
      details.every((line: unknown) => typeof line === 'string'),
      shown,
    );
  assert.doesNotMatch(shown, /node_modules|\.ts:\d+/, 'no stack');
}
