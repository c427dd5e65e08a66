import type { FastifyRequest } from 'fastify';
import {
  type AnswerOnce,
  type Endpoint,
  ErrorAnswer,
  ProjectQuery,
  type RawBody,
  type Routes,
  type Server,
  serve,
  serveOnce,
} from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { actorOf } from '../../projects/projects.ts';
import { toTableItem } from '../browse/browse.ts';
import type { Catalog } from '../catalog.ts';
import {
  DeletedAnswer,
  DeletedQuery,
  FullUpdateQuery,
  InitiateAnswer,
  PreviewAnswer,
  StartAnswer,
  StartQuery,
  UpdateAnswer,
  UpdateBody,
  UpdateQuery,
  UploadBody,
  UploadQuery,
} from '../products/products.ts';
import type { ArrivingBatch, FailedBatch } from './full-update-store.ts';
import { startAnswer } from './update-answers.ts';

export interface UpdateRouteParts {
  readonly catalog: Catalog;
  readonly answerOnce: AnswerOnce;
  readonly uploadMaxMib: number;
}

const about = { tags: ['Updates'], failures: { '4xx': ErrorAnswer, 507: ErrorAnswer } };
const config = { guard: 'project', access: 'write' } as const;
/** Some connectors PUT what others POST. */
const SENDS = ['POST', 'PUT'] as const;

/** Source: docs/interface.md §4.3. */
export const productUpdateRoutes =
  ({ catalog, answerOnce, uploadMaxMib }: UpdateRouteParts): Routes =>
  (server) => {
    const update = {
      ...about,
      hooks: { onRequest: readPartial, preParsing: storingBody(catalog) },
      path: '/products',
      config: { ...config, body: 'raw', maxBodyMib: uploadMaxMib },
      summary: 'Replace products (incremental update) or change some of their fields (partial update)',
      ...{ query: UpdateQuery, body: UpdateBody, answer: { 200: UpdateAnswer }, answerOnce },
    } as const;
    for (const method of SENDS)
      serveOnce(server, { ...update, method }, (request, once) => {
        const { onInvalid } = request.query;
        const partial = request.query.partial === 'true';
        return untilDone(
          request,
          once((record) =>
            catalog.updates.update(request.project, rawBodyOf(request), { partial, onInvalid, record }),
          ),
        );
      });
  };

const storingBody = (catalog: Catalog) => async (request: FastifyRequest) => {
  request.payload = catalog.openPayload(request.project.id);
};

/** As PHP (1, 0) and Python (True, False) write it. */
async function readPartial({ query }: FastifyRequest): Promise<void> {
  const asked = query as Record<string, unknown>;
  if (typeof asked.partial !== 'string') return;
  const written = asked.partial.toLowerCase();
  asked.partial = { '1': 'true', '0': 'false' }[written] ?? written;
}

/** Source: docs/interface.md §4.4. */
export const fullUpdateRoutes =
  (parts: UpdateRouteParts): Routes =>
  (server) => {
    serveInitiate(server, parts);
    serveUpload(server, parts);
    servePreview(server, parts);
    serveDeleted(server, parts);
    serveStart(server, parts);
  };

/** Their bodies mean nothing; some connectors send the last batch again. */
const stepOf = ({ uploadMaxMib }: UpdateRouteParts) =>
  ({ ...config, maxBodyMib: uploadMaxMib, body: 'raw' }) as const;

function serveInitiate(server: Server, parts: UpdateRouteParts): void {
  const { catalog, answerOnce } = parts;
  const endpoint = {
    ...about,
    method: 'POST',
    path: '/products/batch/initiate',
    config: stepOf(parts),
    summary: 'Full update, step 1: begin; an open one is discarded',
    ...{ query: ProjectQuery, answer: { 200: InitiateAnswer }, answerOnce },
  } as const;
  serveOnce(server, endpoint, ({ project }, once) =>
    once((record) => catalog.fullUpdates.initiate(project, record)),
  );
}

function serveUpload(server: Server, parts: UpdateRouteParts): void {
  const { catalog, answerOnce } = parts;
  const { failedBatches } = catalog.fullUpdates;
  const arriving = new WeakMap<FastifyRequest, ArrivingBatch>();
  const hooks: Endpoint['hooks'] = {
    // Before the body is read: from here on, the store knows of the batch.
    preParsing: async (request) => {
      const { fullUpdateId } = request.query as { fullUpdateId?: number };
      const batch = await failedBatches.expect(request.project.id, fullUpdateId);
      if (batch !== undefined) arriving.set(request, batch);
      request.payload = catalog.openPayload(request.project.id);
    },
    // However a batch fails, a commit right after it would miss its products.
    onError: (request, _, error) =>
      failedBatches.note(readFailedBatch(request, error), arriving.get(request)),
  };
  const endpoint = {
    ...about,
    path: '/products/batch/upload',
    config: stepOf(parts),
    hooks,
    summary: 'Full update, step 2: send a batch, again and again',
    ...{ query: UploadQuery, body: UploadBody, answer: { 200: UpdateAnswer }, answerOnce },
  } as const;
  for (const method of SENDS)
    serveOnce(server, { ...endpoint, method }, async (request, once) => {
      const { fullUpdateId, onInvalid } = request.query;
      let isRepeated = true;
      const uploading = once((record) => {
        isRepeated = false;
        const options = { fullUpdateId, arriving: arriving.get(request), onInvalid, record };
        return catalog.fullUpdates.upload(request.project, rawBodyOf(request), options);
      });
      const answer = await untilDone(request, uploading);
      if (isRepeated) await failedBatches.endRepeated(arriving.get(request));
      return answer;
    });
}

/** @returns undefined for a request that says nothing about a batch of the open full update */
function readFailedBatch(request: FastifyRequest, error: unknown): Omit<FailedBatch, 'at'> | undefined {
  const { project } = request as Partial<FastifyRequest>;
  const code = error instanceof ServiceError ? error.code : undefined;
  if (code === 'full_update_other') return undefined;
  if (project !== undefined) return { projectId: project.id, state: 'failed' };
  // Nobody could look whether the caller may write to the project, so it is taken at its word.
  const { projectId } = request.query as { projectId?: unknown };
  const named = /^\d{1,15}$/.test(String(projectId)) ? Number(projectId) : undefined;
  return code === 'not_ready' ? { projectId: named, state: 'in doubt' } : undefined;
}

function servePreview(server: Server, parts: UpdateRouteParts): void {
  const { catalog } = parts;
  const endpoint = {
    ...about,
    method: 'POST',
    path: '/products/batch/preview',
    config: { ...stepOf(parts), role: 'viewer' },
    summary: 'What the commit of the open full update would do',
    ...{ query: FullUpdateQuery, answer: { 200: PreviewAnswer } },
  } as const;
  serve(server, endpoint, async ({ project, query }) => {
    const preview = await catalog.fullUpdates.preview(project.id, query.fullUpdateId);
    const { present, ...difference } = preview;
    const deletePercent = present === 0 ? 0 : (difference.deleted.count * 100) / present;
    return { status: 'success' as const, ...difference, deletePercent };
  });
}

function serveDeleted(server: Server, { catalog }: UpdateRouteParts): void {
  const endpoint = {
    ...about,
    method: 'GET',
    path: '/products/batch/preview/deleted',
    config,
    summary: 'The products that the commit of the open full update would delete, page by page',
    ...{ query: DeletedQuery, answer: { 200: DeletedAnswer } },
  } as const;
  serve(server, endpoint, async ({ project, query }) => {
    const { fullUpdateId: wanted, limit = 100, cursor } = query;
    const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString();
    const asked = { wanted, after: after.replaceAll('\u0000', ''), limit: limit + 1 };
    const found = await catalog.fullUpdates.listDeleted(project.id, asked);
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    return {
      status: 'success' as const,
      products: page.map((row) => toTableItem(row)),
      nextCursor: last ? Buffer.from(last.identifier).toString('base64url') : null,
    };
  });
}

function serveStart(server: Server, parts: UpdateRouteParts): void {
  const { catalog, answerOnce } = parts;
  const endpoint = {
    ...about,
    method: 'POST',
    path: '/products/batch/start',
    config: stepOf(parts),
    summary: 'Full update, step 3: commit; products that no batch held are deleted',
    ...{ query: StartQuery, answer: { 200: StartAnswer }, answerOnce },
  } as const;
  serveOnce(server, endpoint, ({ project, query, caller }, once) => {
    const { fullUpdateId, allowDeletes, batches, products } = query;
    const options = { fullUpdateId, allowDeletes, batches, products, author: actorOf(caller) };
    return once(async (record) =>
      startAnswer(await catalog.fullUpdates.start(project, { ...options, record })),
    );
  });
}

/** Gives back the memory of a body that nobody took over, e.g. of a request that repeats another. */
async function untilDone<Answer>({ rawBody }: FastifyRequest, work: Promise<Answer>): Promise<Answer> {
  try {
    return await work;
  } finally {
    rawBody?.loan?.giveBack();
  }
}

/** @throws body_not_json for a request without a body */
export function rawBodyOf(request: FastifyRequest): RawBody {
  if (request.rawBody === undefined)
    throw new ServiceError('body_not_json', { details: ['the body is empty'] });
  return request.rawBody;
}
