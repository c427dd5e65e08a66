import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  type Endpoint,
  ErrorAnswer,
  ListQuery,
  ProjectParams,
  ProjectQuery,
  type Routes,
  serve,
  serveOnce,
} from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { actorOf } from '../../projects/projects.ts';
import { toTableItem } from '../browse/browse.ts';
import { TableProduct, UploadBody } from '../products/products.ts';
import type { ArrivingBatch, FailedBatch } from './full-update-store.ts';
import { InitiateAnswer, StartAnswer, success, UpdateAnswer } from './update-answers.ts';
import {
  about,
  config,
  onInvalid,
  rawBodyOf,
  SENDS,
  type UpdateRouteParts,
  untilDone,
} from './update-routes.ts';

const FullUpdateQuery = Type.Object({
  ...ProjectQuery.properties,
  fullUpdateId: Type.Optional(Type.Integer({ description: 'refuse when another full update is open' })),
});
const UploadQuery = Type.Object({ ...FullUpdateQuery.properties, onInvalid });
const StartQuery = Type.Object({
  ...FullUpdateQuery.properties,
  allowDeletes: Type.Optional(
    Type.Integer({ minimum: 0, description: 'the exact number of products that the commit may delete' }),
  ),
  batches: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'how many batches were accepted; refuse when it is another number',
    }),
  ),
  products: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'the sum of nrOfParsed over the accepted batches; refuse when it is another number',
    }),
  ),
});
const Counted = Type.Object({
  count: Type.Integer(),
  identifiers: Type.Array(Type.String(), { maxItems: 100 }),
});
const PreviewAnswer = Type.Object({
  status: success,
  created: Counted,
  changed: Counted,
  unchanged: Counted,
  deleted: Counted,
  deletePercent: Type.Number(),
});
/** Source: docs/interface.md §4.4 rule 28. */
const DeletedQuery = Type.Object({ ...FullUpdateQuery.properties, ...ListQuery.properties });
const DeletedAnswer = Type.Object({
  status: success,
  products: Type.Array(TableProduct),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
});
const Shown = Type.Object({
  status: success,
  fullUpdateId: Type.Integer(),
  batches: Type.Integer({ description: 'accepted uploads' }),
  products: Type.Integer({ description: 'the sum of their nrOfParsed' }),
  arriving: Type.Integer({ description: 'uploads that are not yet accepted or refused' }),
  lastBatch: Type.Union([Type.Literal('accepted'), Type.Literal('failed'), Type.Literal('in doubt')]),
  lastBatchAt: Type.Integer({ description: 'epoch milliseconds; without a batch when it was opened' }),
});
const Found = Type.Object({
  fullUpdate: Type.Union([Shown, Type.Null()], { description: 'null: none is open' }),
});
const GivenUp = Type.Object({ status: success, fullUpdateId: Type.Integer() });

/** Source: docs/interface.md §4.4. */
export const fullUpdateRoutes =
  (parts: UpdateRouteParts): Routes =>
  (server) => {
    const { catalog, answerOnce, uploadMaxMib } = parts;
    const { fullUpdates } = catalog;
    /** Bodies of other steps than the upload mean nothing; some connectors send the last batch again. */
    const step = { ...about, config: { ...config, maxBodyMib: uploadMaxMib, body: 'raw' } } as const;
    const initiate = {
      ...step,
      method: 'POST',
      path: '/products/batch/initiate',
      summary: 'Full update, step 1: begin; an open one is discarded',
      ...{ query: ProjectQuery, answer: { 200: InitiateAnswer }, answerOnce },
    } as const;
    serveOnce(server, initiate, ({ project }, once) =>
      once((record) => fullUpdates.initiate(project, record)),
    );

    const arriving = new WeakMap<FastifyRequest, ArrivingBatch>();
    const hooks: Endpoint['hooks'] = {
      // Before the body is read: from here on, the store knows of the batch.
      preParsing: async (request) => {
        const { fullUpdateId } = request.query as { fullUpdateId?: number };
        const batch = await fullUpdates.failedBatches.expect(request.project.id, fullUpdateId);
        if (batch !== undefined) arriving.set(request, batch);
        request.payload = catalog.openPayload(request.project.id);
      },
      // However a batch fails, a commit right after it would miss its products.
      onError: (request, _, error) =>
        fullUpdates.failedBatches.note(readFailedBatch(request, error), arriving.get(request)),
    };
    const upload = {
      ...{ ...step, path: '/products/batch/upload', hooks },
      summary: 'Full update, step 2: send a batch, again and again',
      ...{ query: UploadQuery, body: UploadBody, answer: { 200: UpdateAnswer }, answerOnce },
    } as const;
    for (const method of SENDS)
      serveOnce(server, { ...upload, method }, async (request, once) => {
        const { fullUpdateId, onInvalid } = request.query;
        let isRepeated = true;
        const uploading = once((record) => {
          isRepeated = false;
          const options = { fullUpdateId, arriving: arriving.get(request), onInvalid, record };
          return fullUpdates.upload(request.project, rawBodyOf(request), options);
        });
        const answer = await untilDone(request, uploading);
        if (isRepeated) await fullUpdates.failedBatches.endRepeated(arriving.get(request));
        return answer;
      });

    const preview = {
      ...step,
      method: 'POST',
      path: '/products/batch/preview',
      config: { ...step.config, role: 'viewer' },
      summary: 'What the commit of the open full update would do',
      ...{ query: FullUpdateQuery, answer: { 200: PreviewAnswer } },
    } as const;
    serve(server, preview, async ({ project, query }) => {
      const { present, ...difference } = await fullUpdates.preview(project.id, query.fullUpdateId);
      const deletePercent = present === 0 ? 0 : (difference.deleted.count * 100) / present;
      return { status: 'success' as const, ...difference, deletePercent };
    });

    const listDeleted = {
      ...about,
      config,
      method: 'GET',
      path: '/products/batch/preview/deleted',
      summary: 'The products that the commit of the open full update would delete, page by page',
      ...{ query: DeletedQuery, answer: { 200: DeletedAnswer } },
    } as const;
    serve(server, listDeleted, async ({ project, query }) => {
      const { fullUpdateId, limit = 100, cursor = '' } = query;
      const after = Buffer.from(cursor, 'base64url').toString().replaceAll('\u0000', '');
      const found = await fullUpdates.listDeleted(project.id, { fullUpdateId, after, limit: limit + 1 });
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return {
        status: 'success' as const,
        products: page.map((row) => toTableItem(row)),
        nextCursor: last ? Buffer.from(last.identifier).toString('base64url') : null,
      };
    });

    const start = {
      ...step,
      method: 'POST',
      path: '/products/batch/start',
      summary: 'Full update, step 3: commit; products that no batch held are deleted',
      ...{ query: StartQuery, answer: { 200: StartAnswer }, answerOnce },
    } as const;
    serveOnce(server, start, ({ project, query, caller }, once) => {
      const { fullUpdateId, allowDeletes, batches, products } = query;
      const options = { fullUpdateId, allowDeletes, batches, products, author: actorOf(caller) };
      return once((record) => fullUpdates.start(project, { ...options, record }));
    });

    // Source: docs/interface.md §4.4 rules 30 to 32.
    const open = { ...about, config, path: '/products/batch', failures: { '4xx': ErrorAnswer } } as const;
    const show = {
      ...open,
      method: 'GET',
      summary: 'The open full update',
      ...{ query: FullUpdateQuery, answer: { 200: Shown } },
    } as const;
    serve(server, show, ({ project, query }) => fullUpdates.describe(project.id, query.fullUpdateId));
    const find = {
      method: 'GET',
      path: '/management/projects/:id/full-update',
      config: { guard: 'management', access: 'manage' },
      ...{ tags: about.tags, params: ProjectParams },
      summary: 'The open full update, or that there is none',
      answer: { 200: Found },
    } as const;
    serve(server, find, async ({ project }) => ({
      fullUpdate: await fullUpdates.describe(project.id, undefined).catch(toNone),
    }));
    const discard = {
      ...open,
      method: 'DELETE',
      summary: 'Give up the open full update',
      ...{ query: FullUpdateQuery, answer: { 200: GivenUp }, answerOnce },
    } as const;
    serveOnce(server, discard, ({ project, query }, once) =>
      once((record) => fullUpdates.giveUp(project.id, query.fullUpdateId, record)),
    );
  };

/** @returns undefined for a request that says nothing about a batch of the open full update */
function readFailedBatch(request: FastifyRequest, error: unknown): Omit<FailedBatch, 'at'> | undefined {
  const { project } = request as Partial<FastifyRequest>;
  const code = error instanceof ServiceError ? error.code : undefined;
  if (code === 'full_update_other') return undefined;
  if (project !== undefined) return { projectId: project.id, state: 'failed' };
  // Nothing could check whether the caller may write to the project, so it is taken at its word.
  const { projectId } = request.query as { projectId?: unknown };
  const named = /^\d{1,15}$/.test(String(projectId)) ? Number(projectId) : undefined;
  return code === 'not_ready' ? { projectId: named, state: 'in doubt' } : undefined;
}

function toNone(error: unknown): null {
  if (error instanceof ServiceError && error.code === 'full_update_missing') return null;
  throw error;
}
