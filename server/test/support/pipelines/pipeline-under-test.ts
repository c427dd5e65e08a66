import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createCatalog, type TestCatalog } from '../shared-service.ts';
import type { Stopping } from '../stops.ts';
import type { TestService } from '../test-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

/** A pipeline in a project of its own. */
export interface TestPipeline extends TestCatalog {
  readonly id: number;
  /** Its address in the management API. */
  readonly path: string;
  /** Starts a run. @returns its accepted task */
  start(): Promise<AnyBody>;
  /** Starts a run and waits for its end. */
  run(): Promise<AnyBody>;
  /** Uploads a file and waits for the end of the run that it starts. */
  upload(content: string | Uint8Array, name?: string): Promise<AnyBody>;
  /** @returns the lines of the task's log */
  log(task: { id: string }): Promise<string[]>;
  /** @returns the counts of the newest run */
  counts(): Promise<AnyBody>;
  /** Changes fields of the definition. */
  change(fields: object): Promise<void>;
}

export const CSV_MAPPING = { identifier: 'sku', name: 'name', attributes: '*' };

/** @param fields replace those of the default definition, an uploaded csv file that makes a full update */
export async function createPipeline(
  service: TestService,
  fields: object = {},
  settings?: object,
): Promise<TestPipeline> {
  const catalog = await createCatalog(service, settings);
  return addPipeline(service, catalog, fields);
}

/** Adds a pipeline to the project of another. */
export async function addPipeline(
  service: TestService,
  catalog: TestCatalog,
  fields: object = {},
): Promise<TestPipeline> {
  const definition = {
    name: 'Feed',
    source: { type: 'upload' },
    format: { type: 'csv' },
    mapping: CSV_MAPPING,
    mode: 'full',
    trigger: { type: 'manual' },
    maxDeletePercent: 100,
    ...fields,
  };
  const collection = `/management/projects/${catalog.projectId}/pipelines`;
  const created = await service.call('POST', collection, { body: definition });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const path = `${collection}/${created.body.id}`;

  async function succeed(method: string, address: string, body?: unknown): Promise<AnyBody> {
    const answer = await service.call(method, address, body === undefined ? {} : { body });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  }

  return {
    ...catalog,
    id: created.body.id,
    path,
    start: async () => (await succeed('POST', `${path}/run`)).task,
    run: async () => service.ended((await succeed('POST', `${path}/run`)).task.id),
    async upload(content, name = 'feed.csv') {
      const { task } = await succeed('POST', `${path}/upload?name=${encodeURIComponent(name)}`, content);
      return service.ended(task.id);
    },
    log: async ({ id }) => (await succeed('GET', `/tasks/${id}/log`)).log.map(({ line }: AnyBody) => line),
    counts: async () => (await succeed('GET', `${path}/runs`)).items[0].counts,
    async change(more) {
      await succeed('PUT', path, { ...definition, ...more });
    },
  };
}

export type Answerer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server on loopback with a handler per test, which counts the requests. */
export interface FeedServer {
  readonly url: string;
  readonly requests: IncomingMessage[];
  answer(next: Answerer): void;
  /** Answers with a file. */
  serve(content: string, headers?: Record<string, string>): void;
}

export async function startFeedServer(t: Stopping): Promise<FeedServer> {
  let answerer: Answerer = (_, response) => response.writeHead(404).end();
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answerer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/feed.csv`,
    requests,
    answer(next) {
      answerer = next;
    },
    serve(content, headers = {}) {
      answerer = (_, response) => response.writeHead(200, headers).end(content);
    },
  };
}
