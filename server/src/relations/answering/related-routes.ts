import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { Catalog } from '../../catalog/catalog.ts';
import { readIdentifierList, refuseCommas } from '../../catalog/products/products.ts';
import { ProjectParams } from '../../http/answers/answers.ts';
import { joinTwins, takeNoBody } from '../../http/bodies/bodies.ts';
import { requestHook, whileCallerWaits } from '../../http/guards/guards.ts';
import {
  type RawAnswer,
  type Routes,
  type Server,
  sendJson,
  serve,
  serveRaw,
} from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { Locale } from '../relation-definitions/relation-definitions.ts';
import type { Relations } from '../relations.ts';
import type { RelatedBytes } from './answer-memory.ts';
import { checkIncluded, checkSources, DEFAULT_LIMIT, SOURCES_PER_REQUEST } from './answer-plans.ts';
import { joinPhpLists } from './included-lists.ts';
import type { RelatedRequest, RelatedSteps } from './related-answers.ts';
import { type Requested, readBody, readQuery } from './related-request.ts';
import {
  BulkAnswer,
  BulkBody,
  BulkQuery,
  limit,
  ProductRelations,
  SingleAnswer,
  SingleBody,
  SingleQuery,
  SingleSentQuery,
} from './related-schemas.ts';

const config = { guard: 'project', access: 'page' } as const;
const about = {
  config,
  tags: ['Related products'],
  why: 'answers are cached as bytes, and long answers are streamed',
};
/** Enough for 2,000 entries, half of them with a tag of 255 characters in any escaping. */
const takesEntries = {
  ...config,
  maxBodyMib: 4,
  holds: { values: 20_000 },
  takesProjectInBody: true,
} as const;
/** Enough for 1,000 identifiers in addition. */
const takesSources = {
  ...takesEntries,
  maxBodyMib: 7,
  holds: { ...takesEntries.holds, list: { most: SOURCES_PER_REQUEST, code: 'bad_request' } },
} as const;
const hooks = { onRequest: requestHook(({ query }) => joinPhpLists(query)), preValidation: takeNoBody };

/**
 * The hook checks the lists before any other check, because the contract fixes the text of this refusal.
 * Source: docs/interface §4.8 rule 6.
 */
const common = {
  hooks: {
    onRequest: requestHook(({ query }) => {
      joinPhpLists(query);
      const { includeRelations, includeTags } = query as Readonly<Record<string, unknown>>;
      if (isNothing(includeRelations) && isNothing(includeTags)) checkIncluded({});
    }),
  },
};
const isNothing = (value: unknown) => value === undefined || value === '' || value === '[]';

interface RelatedRouteParts {
  readonly relations: Relations;
  readonly catalog: Catalog;
}

/** Source: docs/interface §4.8 and §12.7. */
export const relatedRoutes =
  (parts: RelatedRouteParts): Routes =>
  (server) => {
    serveBulk(server, parts);
    serveSentBulk(server, parts);
    serveSingle(server, parts);
    serveSentSingle(server, parts);
    serveRelationsOfProduct(server, parts);
  };

function serveBulk(server: Server, { relations, catalog }: RelatedRouteParts): void {
  serveRaw(server, 'GET /search/relations/bulk-results', {
    ...about,
    ...common,
    summary: 'Related products of many products',
    query: BulkQuery,
    answer: { 200: BulkAnswer },
    async handle({ project, query }, reply) {
      const requested = readRequested(query);
      const identifiers = checkSources(readIdentifierList(query.identifiers));
      await refuseCommas(query.identifiers, (some) => catalog.store.hasAny(project.id, some));
      return sendRelated({ relations, reply }, project, { ...requested, form: 'bulk', identifiers });
    },
  });
}

function serveSentBulk(server: Server, { relations }: RelatedRouteParts): void {
  serveRaw(server, 'POST /search/relations/bulk-results', {
    ...about,
    config: takesSources,
    hooks,
    query: BulkQuery,
    body: BulkBody,
    answer: { 200: BulkAnswer },
    summary: 'Related products of many products, without the limits of a URL',
    async handle({ project, query, body }, reply) {
      const requested = joinRequested(query, body);
      const { identifiers: listed } = query;
      const inQuery = {
        identifiers: listed === undefined ? undefined : readIdentifierList(listed),
      };
      const { identifiers } = joinTwins(inQuery, { identifiers: body.identifiers });
      const sources = checkSources(identifiers ?? readIdentifierList(undefined));
      return sendRelated({ relations, reply }, project, { ...requested, form: 'bulk', identifiers: sources });
    },
  });
}

function serveSingle(server: Server, { relations }: RelatedRouteParts): void {
  serveRaw(server, 'GET /search/relations/result', {
    ...about,
    ...common,
    summary: 'Related products of one product',
    query: SingleQuery,
    answer: { 200: SingleAnswer },
    async handle({ project, query }, reply) {
      const request = { ...readRequested(query), form: 'single', identifiers: [query.identifier] } as const;
      return sendRelated({ relations, reply }, project, request);
    },
  });
}

function serveSentSingle(server: Server, { relations }: RelatedRouteParts): void {
  serveRaw(server, 'POST /search/relations/result', {
    ...about,
    config: takesEntries,
    hooks,
    query: SingleSentQuery,
    body: SingleBody,
    answer: { 200: SingleAnswer },
    summary: 'Related products of one product, without the limits of a URL',
    async handle({ project, query, body }, reply) {
      const requested = joinRequested(query, body);
      const { identifier } = joinTwins({ identifier: query.identifier }, { identifier: body.identifier });
      if (identifier === undefined)
        throw new ServiceError('query_invalid', "must have required property 'identifier'");
      const request = { ...requested, form: 'single', identifiers: [identifier] } as const;
      return sendRelated({ relations, reply }, project, request);
    },
  });
}

/** Source: docs/interface §12.7. */
function serveRelationsOfProduct(server: Server, { relations }: RelatedRouteParts): void {
  serve(server, 'GET /management/projects/:id/products/:identifier/relations', {
    config: { guard: 'management', access: 'manage' },
    tags: ['Products'],
    summary: 'List the results and the sources of a product in every relation, with the reasons',
    params: Type.Object({ ...ProjectParams.properties, identifier: Type.String() }),
    query: Type.Object({
      limit: limit('the most groups to return for each direction'),
      locale: Type.Optional(Locale),
    }),
    answer: { 200: ProductRelations },
    async handle({ project, params: { identifier }, query }, reply) {
      const { limit = DEFAULT_LIMIT, locale } = query;
      const requested = { projectId: project.id, identifier, limit, locale };
      return whileCallerWaits(reply, async (signal) => ({
        relations: (await relations.relateProduct(requested, signal)).map(({ relation, related }) => ({
          id: relation.id,
          name: relation.definition.name,
          tag: relation.definition.tag,
          enabled: relation.definition.enabled,
          state: relation.state,
          asSource: related?.asSource ?? null,
          asTarget: related?.asTarget ?? null,
        })),
      }));
    },
  });
}

/** @throws bad_request for a request without relations or tags, query_invalid */
function readRequested(query: Parameters<typeof readQuery>[0]): Requested {
  const requested = readQuery(query);
  checkIncluded(requested);
  return requested;
}

/** @throws bad_request for a request without relations or tags, query_invalid if query and body differ */
function joinRequested(
  query: Parameters<typeof readQuery>[0],
  body: Parameters<typeof readBody>[0],
): Requested {
  const sent = readBody(body);
  const requested = joinTwins(readQuery(query), sent);
  checkIncluded(requested);
  return requested;
}

/**
 * Reads the first part before it sends anything, so that a failure of that part can still be answered. An
 * answer of several parts is streamed.
 */
function sendRelated(
  { relations, reply }: { readonly relations: Relations; readonly reply: FastifyReply },
  project: ChosenProject,
  request: RelatedRequest,
): Promise<RawAnswer> {
  return whileCallerWaits(reply, async (signal) => {
    const steps = await relations.answer(project, request, signal);
    const first = await steps.next();
    const second = await steps.next();
    if (first.done) throw new Error('the answer has no part');
    if (second.done) {
      reply.raw.once('close', first.value.release);
      return sendJson(reply, first.value.bytes);
    }
    const parts = resume([first.value, second.value], steps);
    return sendJson(reply, Readable.from(parts, { objectMode: false }));
  });
}

/** Does not release the parts, because a stream does not report when the bytes of a part are sent. */
async function* resume(read: readonly RelatedBytes[], steps: RelatedSteps): AsyncGenerator<Buffer, void> {
  for (const { bytes } of read) yield bytes;
  for await (const { bytes } of steps) yield bytes;
}
