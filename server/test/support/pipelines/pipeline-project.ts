import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { createCatalog, type TestCatalog } from '../shared-service.ts';
import type { Answer, CallOptions, TestService } from '../test-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

/** The sources of tests are on this machine, which pipelines may not read without this setting. */
export const FETCH_HERE = { RELATA_FETCH_ALLOW: '127.0.0.1' };

export const CSV = 'sku,title,Length\nA1,Drill,12.5 in\nB4,Bit set,2 in\n';
export const MAPPING = { identifier: 'sku', name: 'title', attributes: '*' };

/** The smallest definitions that the service accepts. */
export const byUpload = (more: object = {}) => ({
  name: 'Files',
  source: { type: 'upload' },
  format: { type: 'csv' },
  mapping: MAPPING,
  mode: 'full',
  trigger: { type: 'manual' },
  ...more,
});
export const byUrl = (url: string, more: object = {}) =>
  byUpload({ name: 'Fetched', source: { type: 'http', url }, ...more });

/** A project with the calls of its pipelines. */
export interface PipelineProject extends TestCatalog {
  /** The path of its pipelines. */
  readonly path: string;
  manage(method: string, path?: string, options?: CallOptions): Promise<Answer<AnyBody>>;
  /** @returns the pipeline of the answer */
  create(definition: object): Promise<AnyBody>;
  read(pipeline: { id: number }): Promise<AnyBody>;
  /** @returns the finished task of a run that must be accepted */
  run(pipeline: { id: number }): Promise<AnyBody>;
  upload(
    pipeline: { id: number },
    file: unknown,
    options?: CallOptions & { name?: string },
  ): Promise<Answer<AnyBody>>;
}

export async function createPipelineProject(service: TestService): Promise<PipelineProject> {
  const catalog = await createCatalog(service);
  const root = `/management/projects/${catalog.projectId}/pipelines`;
  const manage: PipelineProject['manage'] = (method, path = '', options = {}) =>
    service.call(method, `${root}${path}`, options);
  return {
    ...catalog,
    path: root,
    manage,
    async create(definition) {
      const { status, body } = await manage('POST', '', { body: definition });
      assert.equal(status, 201, JSON.stringify(body));
      return body;
    },
    async read({ id }) {
      const { status, body } = await manage('GET', `/${id}`);
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    },
    run: async ({ id }) => catalog.done(await manage('POST', `/${id}/run`)),
    upload: ({ id }, file, { name, headers, ...options } = {}) =>
      manage('POST', `/${id}/upload${name === undefined ? '' : `?name=${encodeURIComponent(name)}`}`, {
        ...options,
        body: file,
        headers: { 'content-type': 'text/csv', ...headers },
      }),
  };
}

export interface TestSource {
  readonly url: string;
  /** The received requests. */
  readonly requests: readonly IncomingMessage[];
  /** Answers with this text from now on. */
  serve(text: string): void;
  /** Stops answering until the returned function is called. */
  hold(): () => void;
}

/** A source on loopback that ends after the tests of the file. */
export async function startSource(text = CSV): Promise<TestSource> {
  let content = text;
  let free = Promise.resolve();
  const requests: IncomingMessage[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    requests.push(request);
    await free;
    response.setHeader('content-type', 'text/csv').end(content);
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed.csv`,
    requests,
    serve(next) {
      content = next;
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      free = promise;
      return resolve;
    },
  };
}
