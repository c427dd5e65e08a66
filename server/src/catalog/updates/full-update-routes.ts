import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  ErrorAnswer,
  ListQuery,
  orNull,
  ProjectParams,
  ProjectQuery,
  type RecordAnswer,
} from '../../http/answers/answers.ts';
import {
  type Endpoint,
  type Routes,
  type RouteTools,
  type Server,
  serve,
  serveOnce,
} from '../../http/server/server.ts';
import { nameCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { optional } from '../../kernel/optional.ts';
import { actorOf } from '../../projects/projects.ts';
import { toTableItem } from '../browse/browse.ts';
import type { Catalog } from '../catalog.ts';
import { InvalidProducts, TableProduct, UploadBody } from '../products/schemas/schemas.ts';
import type { ArrivingBatch } from './batch-store.ts';
import type { ChosenSession } from './full-update-store.ts';
import { giveBackBody, rawBodyOf, SENDS } from './sent-bodies.ts';
import { OF_OTHERS } from './session-choice.ts';
import {
  InitiateAnswer,
  type ProductsAccepted,
  StartAnswer,
  successWord,
  UpdateAnswer,
} from './update-answers.ts';
import type { FailedBatch } from './upload-process-store.ts';

interface FullUpdateRouteParts extends RouteTools {
  readonly catalog: Catalog;
}

const about = { tags: ['Updates'], failures: { '4xx': ErrorAnswer, 507: ErrorAnswer } };
const config = { guard: 'project', access: 'write' } as const;
/** Source: docs/interface §4.4 rules 30 to 32. */
const ofOpen = { ...about, config, failures: { '4xx': ErrorAnswer } } as const;

/** Bodies of steps other than the upload are ignored, because some connectors send the last batch again. */
const stepOf = ({ uploadMaxMib }: RouteTools) =>
  ({ ...about, config: { ...config, maxBodyMib: uploadMaxMib, body: 'raw' } }) as const;

/** Full updates, step by step. Source: docs/interface §4.4. */
export const fullUpdateRoutes =
  (parts: FullUpdateRouteParts): Routes =>
  (server) => {
    serveInitiate(server, parts);
    serveUpload(server, parts);
    servePreview(server, parts);
    serveDeleted(server, parts);
    serveStart(server, parts);
    serveOpenFullUpdate(server, parts);
    serveGiveUp(server, parts);
  };

const FullUpdateQuery = Type.Object({
  ...ProjectQuery.properties,
  fullUpdateId: optional.integer('refuses the request if another full update is open'),
});

/**
 * @returns the full update that a request names, and its caller; without a name, the request concerns the caller's
 * own full update
 */
const sessionOf = ({ query, caller }: FastifyRequest): ChosenSession => ({
  fullUpdateId: (query as { fullUpdateId?: number }).fullUpdateId,
  caller: nameCaller(caller),
});

function serveInitiate(server: Server, parts: FullUpdateRouteParts): void {
  const { sessions, repeats } = parts.catalog.fullUpdates;
  serveOnce(server, 'POST /products/batch/initiate', {
    ...stepOf(parts),
    summary: 'Full update, step 1: begin, and discard an open one',
    query: ProjectQuery,
    answer: { 200: InitiateAnswer },
    answerOnce: parts.answerOnce,
    checkRepeated: ({ project }, answer) => repeats.initiate(project.id, answer),
    handle: ({ project, caller }, record) =>
      sessions.initiate(project, { caller: nameCaller(caller), record }),
  });
}

function serveUpload(server: Server, parts: FullUpdateRouteParts): void {
  const { batches, repeats, failedBatches } = parts.catalog.fullUpdates;
  const step = stepOf(parts);
  const arriving = new WeakMap<FastifyRequest, ArrivingBatch>();
  for (const method of SENDS)
    serve(server, `${method} /products/batch/upload`, {
      ...step,
      config: { ...step.config, isOnce: true },
      hooks: countBatches(parts.catalog, arriving),
      summary: 'Full update, step 2: send a batch; repeat it for each batch',
      query: Type.Object({ ...FullUpdateQuery.properties, onInvalid: InvalidProducts }),
      body: UploadBody,
      answer: { 200: UpdateAnswer },
      async handle(request) {
        let isRepeated = true;
        const upload = (record: RecordAnswer<ProductsAccepted>) => {
          isRepeated = false;
          const { onInvalid } = request.query;
          const options = { ...sessionOf(request), onInvalid, arriving: arriving.get(request), record };
          return batches.upload(request.project, rawBodyOf(request), options);
        };
        const uploading = parts.answerOnce<ProductsAccepted>(request, upload, (answer) =>
          repeats.upload(request.project.id, answer),
        );
        const answer = await giveBackBody(request, uploading);
        if (isRepeated) await failedBatches.endRepeated(arriving.get(request));
        return answer;
      },
    });
}

/** @returns hooks that count each batch while it arrives, and note it if it fails */
const countBatches = (
  { fullUpdates: { batches, failedBatches }, ingest }: Catalog,
  arriving: WeakMap<FastifyRequest, ArrivingBatch>,
): NonNullable<Endpoint['hooks']> => ({
  // Runs before the body is read, so that the store counts the batch from here on.
  preParsing: async (request) => {
    const batch = await batches.expect(request.project.id, sessionOf(request));
    if (batch !== undefined) arriving.set(request, batch);
    request.payload = ingest.openPayload(request.project.id);
  },
  // Runs for every error of a batch, because a commit right after it would lack its products.
  onError: (request, _, error) => failedBatches.note(readFailedBatch(request, error), arriving.get(request)),
});

/**
 * @returns the caller whose full update a batch concerns; undefined if the batch names a full update, which may
 * belong to another caller
 */
function ownerOf(request: FastifyRequest): string | undefined {
  const { fullUpdateId } = request.query as { fullUpdateId?: unknown };
  const { caller } = request as Partial<FastifyRequest>;
  return fullUpdateId === undefined && caller !== undefined ? nameCaller(caller) : undefined;
}

/** @returns undefined for a request that does not concern a batch of the open full update */
function readFailedBatch(request: FastifyRequest, error: unknown): Omit<FailedBatch, 'at'> | undefined {
  const { project } = request as Partial<FastifyRequest>;
  const code = error instanceof ServiceError ? error.code : undefined;
  if (code !== undefined && OF_OTHERS.has(code)) return undefined;
  if (project !== undefined) return { projectId: project.id, caller: ownerOf(request), state: 'failed' };
  // The caller's access to the project could not be checked, so this trusts the project id of the request.
  const { projectId } = request.query as { projectId?: unknown };
  const named = /^\d{1,16}$/.test(String(projectId)) ? Number(projectId) : undefined;
  return code === 'not_ready' ? { projectId: named, state: 'in doubt' } : undefined;
}

const Counted = Type.Object({
  count: Type.Integer(),
  identifiers: Type.Array(Type.String(), { maxItems: 100 }),
});
const PreviewAnswer = Type.Object({
  status: successWord,
  created: Counted,
  changed: Counted,
  unchanged: Counted,
  deleted: Counted,
  deletePercent: Type.Number(),
});

function servePreview(server: Server, parts: FullUpdateRouteParts): void {
  const { preview } = parts.catalog.fullUpdates;
  const step = stepOf(parts);
  serve(server, 'POST /products/batch/preview', {
    ...step,
    config: { ...step.config, role: 'viewer' },
    summary: 'Preview the commit of the open full update',
    query: FullUpdateQuery,
    answer: { 200: PreviewAnswer },
    async handle(request) {
      const { present, ...difference } = await preview.compare(request.project.id, sessionOf(request), true);
      const deletePercent = present === 0 ? 0 : (difference.deleted.count * 100) / present;
      return { status: 'success' as const, ...difference, deletePercent };
    },
  });
}

/** Source: docs/interface §4.4 rule 28. */
const DeletedQuery = Type.Object({ ...FullUpdateQuery.properties, ...ListQuery.properties });
const DeletedAnswer = Type.Object({
  status: successWord,
  products: Type.Array(TableProduct),
  nextCursor: orNull(Type.String()),
});

function serveDeleted(server: Server, { catalog }: FullUpdateRouteParts): void {
  serve(server, 'GET /products/batch/preview/deleted', {
    ...about,
    config,
    summary: 'List the products that the commit of the open full update would delete',
    query: DeletedQuery,
    answer: { 200: DeletedAnswer },
    async handle(request) {
      const { limit = 100, cursor = '' } = request.query;
      const after = Buffer.from(cursor, 'base64url').toString().replaceAll('\u0000', '');
      const rows = await catalog.fullUpdates.preview.listDeleted(request.project.id, sessionOf(request), {
        after,
        limit: limit + 1,
      });
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return {
        status: 'success' as const,
        products: page.map((row) => toTableItem(row)),
        nextCursor: last ? Buffer.from(last.identifier).toString('base64url') : null,
      };
    },
  });
}

const StartQuery = Type.Object({
  ...FullUpdateQuery.properties,
  allowDeletes: optional.integer({
    minimum: 0,
    description: 'the exact number of products that the commit may delete',
  }),
  batches: optional.integer({
    minimum: 0,
    description: 'how many batches were accepted; refuses the commit if the number differs',
  }),
  products: optional.integer({
    minimum: 0,
    description: 'the sum of nrOfParsed over the accepted batches; refuses the commit if the number differs',
  }),
});

function serveStart(server: Server, parts: FullUpdateRouteParts): void {
  const { starts, repeats } = parts.catalog.fullUpdates;
  serveOnce(server, 'POST /products/batch/start', {
    ...stepOf(parts),
    summary: 'Full update, step 3: commit, which deletes products that were in no batch',
    query: StartQuery,
    answer: { 200: StartAnswer },
    answerOnce: parts.answerOnce,
    checkRepeated: (request, answer) => repeats.start(request.project.id, sessionOf(request), answer),
    handle: (request, record) =>
      starts.start(request.project, {
        ...request.query,
        ...sessionOf(request),
        author: actorOf(request.caller),
        record,
      }),
  });
}

const Shown = Type.Object({
  status: successWord,
  fullUpdateId: Type.Integer(),
  batches: Type.Integer({ description: 'accepted uploads' }),
  products: Type.Integer({ description: 'the sum of their nrOfParsed' }),
  arriving: Type.Integer({ description: 'uploads that are not yet accepted or refused' }),
  lastBatch: Type.Union([Type.Literal('accepted'), Type.Literal('failed'), Type.Literal('in doubt')]),
  lastBatchAt: Type.Integer({
    description: 'epoch milliseconds; without a batch, the time at which the full update began',
  }),
});

function serveOpenFullUpdate(server: Server, { catalog }: FullUpdateRouteParts): void {
  const { sessions } = catalog.fullUpdates;
  serve(server, 'GET /products/batch', {
    ...ofOpen,
    summary: 'Read the open full update',
    query: FullUpdateQuery,
    answer: { 200: Shown },
    handle: (request) => sessions.describe(request.project.id, sessionOf(request)),
  });

  serve(server, 'GET /management/projects/:id/full-update', {
    config: { guard: 'management', access: 'manage' },
    tags: about.tags,
    params: ProjectParams,
    summary: 'Read the open full update, or null',
    answer: { 200: Type.Object({ fullUpdate: orNull(Shown, 'null: no full update is open') }) },
    async handle({ project }) {
      const open = await sessions.describe(project.id, undefined).catch((error: unknown) => {
        if (error instanceof ServiceError && error.code === 'full_update_missing') return null;
        throw error;
      });
      return { fullUpdate: open };
    },
  });
}

function serveGiveUp(server: Server, { catalog, answerOnce }: FullUpdateRouteParts): void {
  serveOnce(server, 'DELETE /products/batch', {
    ...ofOpen,
    summary: 'Discard the open full update',
    query: FullUpdateQuery,
    answer: { 200: Type.Object({ status: successWord, fullUpdateId: Type.Integer() }) },
    answerOnce,
    handle: (request, record) =>
      catalog.fullUpdates.sessions.giveUp(request.project.id, sessionOf(request), record),
  });
}
