import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  ErrorAnswer,
  ListQuery,
  oneOf,
  orNull,
  ProjectParams,
  ProjectQuery,
  type RecordAnswer,
} from '../../http/answers/answers.ts';
import type { RawBody } from '../../http/bodies/bodies.ts';
import { type Endpoint, type Routes, type RouteTools, serve, serveOnce } from '../../http/server/server.ts';
import { nameCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { optional } from '../../kernel/optional.ts';
import { actorOf, type Projects } from '../../projects/projects.ts';
import { toTableItem } from '../browse/browse.ts';
import type { Catalog } from '../catalog.ts';
import { readIdentifierList, refuseCommas } from '../products/products.ts';
import {
  Identifier,
  identifierList,
  PRODUCTS_PER_REQUEST,
  TableProduct,
  UpdateBody,
  UploadBody,
} from '../products/schemas/schemas.ts';
import type { ArrivingBatch, FailedBatch } from './full-update-store.ts';
import { type ChosenSession, OF_OTHERS } from './session-choice.ts';
import {
  InitiateAnswer,
  type ProductsAccepted,
  StartAnswer,
  SUCCESS_TEXTS,
  successWord,
  TaskStarted,
  UpdateAnswer,
} from './update-answers.ts';

interface UpdateRouteParts extends RouteTools {
  readonly catalog: Catalog;
  readonly projects: Pick<Projects, 'recordChange'>;
}

const about = { tags: ['Updates'], failures: { '4xx': ErrorAnswer, 507: ErrorAnswer } };
const config = { guard: 'project', access: 'write' } as const;
/** Some connectors use PUT where others use POST. */
const SENDS = ['POST', 'PUT'] as const;

const onInvalid = Type.Optional(
  oneOf(
    ['refuse', 'skip'],
    'what becomes of a request with products that are not valid; default: the setting of the project',
  ),
);
const UpdateQuery = Type.Object({
  ...ProjectQuery.properties,
  onInvalid,
  partial: optional.flag('default false'),
});

/** Gives back the memory of a body that was not taken over, e.g. because the request repeats another. */
async function untilDone<Answer>({ rawBody }: FastifyRequest, work: Promise<Answer>): Promise<Answer> {
  try {
    return await work;
  } finally {
    rawBody?.loan?.giveBack();
  }
}

/** The full update that a request names, and its caller, whose own one it concerns otherwise. */
const sessionOf = ({ query, caller }: FastifyRequest): ChosenSession => ({
  fullUpdateId: (query as { fullUpdateId?: number }).fullUpdateId,
  caller: nameCaller(caller),
});

/** @throws body_not_json for a request without a body */
function rawBodyOf(request: FastifyRequest): RawBody {
  if (request.rawBody === undefined) throw new ServiceError('body_not_json', 'the body is empty');
  return request.rawBody;
}

const listed = identifierList(
  'in place of a body: a JSON array of identifiers, or one identifier a parameter',
  PRODUCTS_PER_REQUEST,
);
const DeleteQuery = Type.Object({
  ...ProjectQuery.properties,
  identifiers: listed,
  articleNumber: listed,
});
const documented = { maxItems: PRODUCTS_PER_REQUEST };
const identifiers = { type: 'array', items: Identifier, minItems: 1, documented };
const DeleteBody = Type.Unsafe<{ identifiers: string[] } | string[]>({
  anyOf: [{ type: 'object', required: ['identifiers'], properties: { identifiers } }, identifiers],
  description: `{"identifiers":["A1",…]} or the bare list, 1 to ${PRODUCTS_PER_REQUEST} identifiers`,
});

/** 10,000 identifiers of 255 characters, each up to twelve bytes of JSON: two escaped surrogates. Up to twice as many are counted in a refusal. */
const takesIdentifiers = {
  maxBodyMib: 30,
  holds: { values: 20_000, list: { most: PRODUCTS_PER_REQUEST, code: 'too_many_identifiers' } },
} as const;
/** Not every client sends a body with DELETE. */
const DELETE_CALLS = ['DELETE /products', 'POST /products/delete'] as const;

const listOf = (body: { identifiers: string[] } | string[]) =>
  Array.isArray(body) ? body : body.identifiers;

/** Parameters that name products, as given. */
const listNamed = ({ identifiers, articleNumber }: Static<typeof DeleteQuery>) =>
  [identifiers, articleNumber].filter((given) => given !== undefined);

/** Connectors name them in the query; if query and body both do, they must agree. */
async function takeFromQuery(request: FastifyRequest): Promise<void> {
  const named = listNamed(request.query as Static<typeof DeleteQuery>).flatMap(readIdentifierList);
  if (named.length === 0) return;
  if (isEmpty(request.body)) request.body = named;
  else if (JSON.stringify(listOf(request.body as string[])) !== JSON.stringify(named))
    throw new ServiceError(
      'query_invalid',
      '/identifiers of the query and of the body differ, send one of them',
    );
}

/** PHP sends an empty list if there is nothing to send. */
const isEmpty = (body: unknown) =>
  typeof body !== 'object' || body === null || Object.keys(body).length === 0;

function describeDelete({ caller, project: { id, name } }: FastifyRequest, identifiers: readonly string[]) {
  return {
    author: caller,
    projectId: id,
    action: 'products.deleted',
    subject: { type: 'project', id, name },
    details: { count: identifiers.length, identifiers: identifiers.slice(0, 100) },
  };
}

const message = Type.String();
const count = optional.integer('left out for a body over 4 MiB or 20,000 pages');
const Accepted = Type.Object({ message, status: successWord, nrOfSent: count, nrOfParsed: count });

/** What connectors send about the pages of a shop, with its answers. */
const CONTENT_CALLS = [
  ['POST /content', SUCCESS_TEXTS.update],
  ['PUT /content', SUCCESS_TEXTS.update],
  ['DELETE /content', SUCCESS_TEXTS.delete],
  ['POST /content/batch/initiate', SUCCESS_TEXTS.initiate],
  ['POST /content/batch/upload', SUCCESS_TEXTS.upload],
  ['PUT /content/batch/upload', SUCCESS_TEXTS.upload],
] as const;

const FullUpdateQuery = Type.Object({
  ...ProjectQuery.properties,
  fullUpdateId: optional.integer('refuse when another full update is open'),
});
const StartQuery = Type.Object({
  ...FullUpdateQuery.properties,
  allowDeletes: optional.integer({
    minimum: 0,
    description: 'the exact number of products that the commit may delete',
  }),
  batches: optional.integer({
    minimum: 0,
    description: 'how many batches were accepted; refuse when it is another number',
  }),
  products: optional.integer({
    minimum: 0,
    description: 'the sum of nrOfParsed over the accepted batches; refuse when it is another number',
  }),
});
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
/** Source: docs/interface §4.4 rule 28. */
const DeletedQuery = Type.Object({ ...FullUpdateQuery.properties, ...ListQuery.properties });
const DeletedAnswer = Type.Object({
  status: successWord,
  products: Type.Array(TableProduct),
  nextCursor: orNull(Type.String()),
});
const Shown = Type.Object({
  status: successWord,
  fullUpdateId: Type.Integer(),
  batches: Type.Integer({ description: 'accepted uploads' }),
  products: Type.Integer({ description: 'the sum of their nrOfParsed' }),
  arriving: Type.Integer({ description: 'uploads that are not yet accepted or refused' }),
  lastBatch: Type.Union([Type.Literal('accepted'), Type.Literal('failed'), Type.Literal('in doubt')]),
  lastBatchAt: Type.Integer({ description: 'epoch milliseconds; without a batch when it was opened' }),
});

/** Source: docs/interface §4.3, §4.4 and §4.6. */
export const updateRoutes =
  ({ catalog, answerOnce, projects, uploadMaxMib }: UpdateRouteParts): Routes =>
  (server) => {
    for (const method of SENDS)
      serve(server, `${method} /products`, {
        ...about,
        hooks: {
          preParsing: async (request) => {
            request.payload = catalog.openPayload(request.project.id);
          },
        },
        config: { ...config, body: 'raw', maxBodyMib: uploadMaxMib, isOnce: true },
        summary: 'Replace products (incremental update) or change some of their fields (partial update)',
        query: UpdateQuery,
        body: UpdateBody,
        answer: { 200: UpdateAnswer },
        handle(request) {
          const { onInvalid, partial } = request.query;
          const raw = rawBodyOf(request);
          const updating = answerOnce<ProductsAccepted>(request, async (record) => {
            const legacy = await catalog.readLegacyForm(request.project.id, raw);
            const options = { partial: partial === true, onInvalid, legacyItems: legacy?.items };
            return catalog.updates.update(request.project, legacy?.body ?? raw, { ...options, record });
          });
          return untilDone(request, updating);
        },
      });

    for (const call of DELETE_CALLS)
      serve(server, call, {
        ...about,
        config: { ...config, ...takesIdentifiers, isOnce: true },
        summary: 'Delete products by identifier',
        hooks: { preValidation: takeFromQuery },
        query: DeleteQuery,
        body: DeleteBody,
        answer: { 200: TaskStarted },
        async handle(request) {
          const identifiers = listOf(request.body);
          const most = PRODUCTS_PER_REQUEST;
          if (identifiers.length > most)
            throw new ServiceError('too_many_identifiers', { values: [identifiers.length, most] });
          return answerOnce(request, async (record) => {
            for (const given of listNamed(request.query))
              await refuseCommas(given, (some) => catalog.updates.mayGetAny(request.project.id, some));
            return catalog.updates.remove(request.project, identifiers, {
              author: actorOf(request.caller),
              async record(tx, answer) {
                await record(tx, answer);
                await projects.recordChange(describeDelete(request, identifiers), tx);
              },
            });
          });
        },
      });

    const { fullUpdates } = catalog;
    /** Bodies of steps other than the upload are ignored; some connectors send the last batch again. */
    const step = { ...about, config: { ...config, maxBodyMib: uploadMaxMib, body: 'raw' } } as const;

    serveOnce(server, 'POST /products/batch/initiate', {
      ...step,
      summary: 'Full update, step 1: begin; an open one is discarded',
      query: ProjectQuery,
      answer: { 200: InitiateAnswer },
      answerOnce,
      checkRepeated: ({ project }, answer) => fullUpdates.repeats.initiate(project.id, answer),
      handle: ({ project, caller }, record) =>
        fullUpdates.initiate(project, { caller: nameCaller(caller), record }),
    });

    const arriving = new WeakMap<FastifyRequest, ArrivingBatch>();
    const hooks: Endpoint['hooks'] = {
      // Before the body is read, so that from here on the store knows of the batch.
      preParsing: async (request) => {
        const batch = await fullUpdates.expect(request.project.id, sessionOf(request));
        if (batch !== undefined) arriving.set(request, batch);
        request.payload = catalog.openPayload(request.project.id);
      },
      // However a batch fails, a commit right after it would lack its products.
      onError: (request, _, error) =>
        fullUpdates.failedBatches.note(readFailedBatch(request, error), arriving.get(request)),
    };
    for (const method of SENDS)
      serve(server, `${method} /products/batch/upload`, {
        ...step,
        config: { ...step.config, isOnce: true },
        hooks,
        summary: 'Full update, step 2: send a batch, again and again',
        query: Type.Object({ ...FullUpdateQuery.properties, onInvalid }),
        body: UploadBody,
        answer: { 200: UpdateAnswer },
        async handle(request) {
          let isRepeated = true;
          const upload = (record: RecordAnswer<ProductsAccepted>) => {
            isRepeated = false;
            const { onInvalid } = request.query;
            const options = { ...sessionOf(request), onInvalid, arriving: arriving.get(request), record };
            return fullUpdates.upload(request.project, rawBodyOf(request), options);
          };
          const uploading = answerOnce<ProductsAccepted>(request, upload, (answer) =>
            fullUpdates.repeats.upload(request.project.id, answer),
          );
          const answer = await untilDone(request, uploading);
          if (isRepeated) await fullUpdates.failedBatches.endRepeated(arriving.get(request));
          return answer;
        },
      });

    serve(server, 'POST /products/batch/preview', {
      ...step,
      config: { ...step.config, role: 'viewer' },
      summary: 'What the commit of the open full update would do',
      query: FullUpdateQuery,
      answer: { 200: PreviewAnswer },
      async handle(request) {
        const { present, ...difference } = await fullUpdates.preview(request.project.id, sessionOf(request));
        const deletePercent = present === 0 ? 0 : (difference.deleted.count * 100) / present;
        return { status: 'success' as const, ...difference, deletePercent };
      },
    });

    serve(server, 'GET /products/batch/preview/deleted', {
      ...about,
      config,
      summary: 'The products that the commit of the open full update would delete, page by page',
      query: DeletedQuery,
      answer: { 200: DeletedAnswer },
      async handle(request) {
        const { limit = 100, cursor = '' } = request.query;
        const after = Buffer.from(cursor, 'base64url').toString().replaceAll('\u0000', '');
        const found = await fullUpdates.listDeleted(request.project.id, sessionOf(request), {
          after,
          limit: limit + 1,
        });
        const page = found.slice(0, limit);
        const last = found.length > limit ? page.at(-1) : undefined;
        return {
          status: 'success' as const,
          products: page.map((row) => toTableItem(row)),
          nextCursor: last ? Buffer.from(last.identifier).toString('base64url') : null,
        };
      },
    });

    serveOnce(server, 'POST /products/batch/start', {
      ...step,
      summary: 'Full update, step 3: commit; products that no batch held are deleted',
      query: StartQuery,
      answer: { 200: StartAnswer },
      answerOnce,
      checkRepeated: (request, answer) =>
        fullUpdates.repeats.start(request.project.id, sessionOf(request), answer),
      handle: (request, record) =>
        fullUpdates.start(request.project, {
          ...request.query,
          ...sessionOf(request),
          author: actorOf(request.caller),
          record,
        }),
    });

    // Source: docs/interface §4.4 rules 30 to 32.
    const open = { ...about, config, failures: { '4xx': ErrorAnswer } } as const;

    serve(server, 'GET /products/batch', {
      ...open,
      summary: 'The open full update',
      query: FullUpdateQuery,
      answer: { 200: Shown },
      handle: (request) => fullUpdates.describe(request.project.id, sessionOf(request)),
    });

    serve(server, 'GET /management/projects/:id/full-update', {
      config: { guard: 'management', access: 'manage' },
      tags: about.tags,
      params: ProjectParams,
      summary: 'The open full update, or that there is none',
      answer: { 200: Type.Object({ fullUpdate: orNull(Shown, 'null: none is open') }) },
      async handle({ project }) {
        const open = await fullUpdates.describe(project.id, undefined).catch((error: unknown) => {
          if (error instanceof ServiceError && error.code === 'full_update_missing') return null;
          throw error;
        });
        return { fullUpdate: open };
      },
    });

    serveOnce(server, 'DELETE /products/batch', {
      ...open,
      summary: 'Give up the open full update',
      query: FullUpdateQuery,
      answer: { 200: Type.Object({ status: successWord, fullUpdateId: Type.Integer() }) },
      answerOnce,
      handle: (request, record) => fullUpdates.giveUp(request.project.id, sessionOf(request), record),
    });
  };

/**
 * Without an answer, a connector that sends pages as well as products would never get to its products. Source:
 * docs/interface §4.11.
 */
export const contentRoutes =
  ({ catalog, uploadMaxMib }: UpdateRouteParts): Routes =>
  (server) => {
    const logged = new Set<number>();
    const logOnce = ({ project, log }: FastifyRequest) => {
      if (!logged.has(project.id))
        log.info({ project: project.id }, 'pages of a shop are answered and kept nowhere');
      logged.add(project.id);
    };
    const page = {
      tags: about.tags,
      config: { ...config, body: 'raw', maxBodyMib: uploadMaxMib },
      summary: 'Pages of a shop: answered, counted and kept nowhere',
      query: ProjectQuery,
      failures: { '4xx': ErrorAnswer },
    } as const;
    for (const [call, text] of CONTENT_CALLS)
      serve(server, call, {
        ...page,
        answer: { 200: Accepted },
        async handle(request) {
          logOnce(request);
          const { rawBody, project } = request;
          const pages = rawBody && (await catalog.countPages(project.id, rawBody));
          const counts = pages === undefined ? {} : { nrOfSent: pages, nrOfParsed: pages };
          return { message: text, status: 'success' as const, ...counts };
        },
      });
    serve(server, 'POST /content/batch/start', {
      ...page,
      answer: { 200: Type.Object({ status: successWord, data: Accepted }) },
      async handle(request) {
        logOnce(request);
        const status = 'success' as const;
        return { status, data: { message: SUCCESS_TEXTS.start, status } };
      },
    });
  };

/** @returns the caller whose full update a batch concerns; undefined if it names one, which may be that of another caller */
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
  // Nothing could check whether the caller may write to the project, so it is taken at its word.
  const { projectId } = request.query as { projectId?: unknown };
  const named = /^\d{1,16}$/.test(String(projectId)) ? Number(projectId) : undefined;
  return code === 'not_ready' ? { projectId: named, state: 'in doubt' } : undefined;
}
