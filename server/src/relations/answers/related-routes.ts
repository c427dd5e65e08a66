import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { readIdentifierList } from '../../catalog/catalog.ts';
import {
  type RawAnswer,
  type Routes,
  type Server,
  sendRaw,
  serveRaw,
  whileCallerWaits,
} from '../../http/http.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { AskedRelations, RelatedSteps, Relations } from '../relations.ts';
import { checkSources, type IncludedRelations, LARGEST_LIMIT } from './related-request.ts';
import {
  BulkAnswer,
  BulkBody,
  BulkQuery,
  IncludeRelations,
  IncludeTags,
  SingleAnswer,
  SingleBody,
  SingleQuery,
} from './related-schemas.ts';

const config = { guard: 'project', access: 'read' } as const;
const about = {
  config,
  tags: ['Related products'],
  why: 'answers are kept as bytes, and long ones are streamed',
};
const JSON_TYPE = 'application/json; charset=utf-8';
/** 1,000 identifiers and 2,000 entries, whatever escapes they are written with. */
const takesBody = { ...config, maxBodyMib: 8 } as const;

/** Source: docs/interface.md §4.8. */
export const relatedRoutes =
  ({ relations }: { readonly relations: Relations }): Routes =>
  (server) => {
    const answer = answerBy(relations);
    serveBulk(server, answer);
    serveSingle(server, answer);
  };

function serveBulk(server: Server, answer: ReturnType<typeof answerBy>): void {
  const ofMany = { ...about, path: '/search/relations/bulk-results', answer: { 200: BulkAnswer } };
  const summary = 'Related products of many products';
  serveRaw(
    server,
    { ...ofMany, method: 'GET', summary, query: BulkQuery },
    async ({ project, query }, reply) => {
      const asked = { ...readIncluded(query), form: 'bulk' as const, explain: query.explain === true };
      const identifiers = checkSources(readIdentifierList(query.identifiers));
      return answer(project, reply, { ...asked, identifiers });
    },
  );
  const sent = {
    ...ofMany,
    method: 'POST',
    config: takesBody,
    ...{ summary: `${summary}, without the limits of a URL`, body: BulkBody },
  } as const;
  serveRaw(server, sent, async ({ project, body }, reply) => {
    const asked = { ...toIncluded(body), form: 'bulk' as const, explain: body.explain === true };
    return answer(project, reply, { ...asked, identifiers: checkSources(body.identifiers) });
  });
}

function serveSingle(server: Server, answer: ReturnType<typeof answerBy>): void {
  const ofOne = { ...about, path: '/search/relations/result', answer: { 200: SingleAnswer } };
  const summary = 'Related products of one product';
  serveRaw(
    server,
    { ...ofOne, method: 'GET', summary, query: SingleQuery },
    async ({ project, query }, reply) => {
      const asked = { ...readIncluded(query), form: 'single' as const, explain: query.explain === true };
      return answer(project, reply, { ...asked, identifiers: [query.identifier] });
    },
  );
  const sent = {
    ...ofOne,
    method: 'POST',
    config: takesBody,
    ...{ summary: `${summary}, without the limits of a URL`, body: SingleBody },
  } as const;
  serveRaw(server, sent, async ({ project, body }, reply) => {
    const asked = { ...toIncluded(body), form: 'single' as const, explain: body.explain === true };
    return answer(project, reply, { ...asked, identifiers: [body.identifier] });
  });
}

function readIncluded(query: { includeRelations?: string; includeTags?: string }): IncludedRelations {
  return {
    includeRelations: readList<Static<typeof IncludeRelations>>('includeRelations', query.includeRelations, {
      schema: IncludeRelations,
      isGood: isRelation,
    }),
    includeTags: readList<Static<typeof IncludeTags>>('includeTags', query.includeTags, {
      schema: IncludeTags,
      isGood: isTag,
    }),
  };
}

const toIncluded = (body: {
  includeRelations?: IncludedRelations['includeRelations'] | null;
  includeTags?: IncludedRelations['includeTags'] | null;
}): IncludedRelations => ({
  includeRelations: body.includeRelations ?? undefined,
  includeTags: body.includeTags ?? undefined,
});

/** What the schemas say, written out. */
const LISTED = 1_000;
const isLimit = (value: unknown) =>
  value === undefined || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LARGEST_LIMIT);
const isRelation = (entry: unknown) => isObject(entry) && Number.isInteger(entry.id) && isLimit(entry.limit);
const isTag = (entry: unknown) =>
  isObject(entry) && typeof entry.tag === 'string' && isLimit(entry.limitPerRelation);
const isObject = (entry: unknown): entry is Record<string, unknown> =>
  typeof entry === 'object' && entry !== null && !Array.isArray(entry);

/** @throws query_invalid */
function readList<List>(
  name: string,
  text: string | undefined,
  { schema, isGood }: { schema: TSchema; isGood: (entry: unknown) => boolean },
): List | undefined {
  if (text === undefined || text === '') return undefined;
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new ServiceError('query_invalid', {
      details: [`/${name} must be a JSON list: ${(error as Error).message}`],
    });
  }
  // Listing errors interprets the schema, which takes longer than all the rest of a small request.
  if (Array.isArray(list) && list.length <= LISTED && list.every(isGood)) return list as List;
  const errors = [...Value.Errors(schema, list)].map(
    ({ instancePath, message }) => `/${name}${instancePath} ${message}`,
  );
  if (errors.length > 0) throw new ServiceError('query_invalid', { details: errors.slice(0, 20) });
  return list as List;
}

/** The first part is read before anything is sent, so that what fails in it is told; more than one is streamed. */
const answerBy =
  (relations: Relations) =>
  (project: ChosenProject, reply: FastifyReply, asked: AskedRelations): Promise<RawAnswer> =>
    whileCallerWaits(reply, async (signal) => {
      const steps = await relations.ask(project, asked, signal);
      const first = await steps.next();
      const second = await steps.next();
      if (first.done) throw new Error('an answer has at least one part');
      if (second.done) return sendRaw(reply, JSON_TYPE, first.value);
      const parts = resume([first.value, second.value], steps);
      return sendRaw(reply, JSON_TYPE, Readable.from(parts, { objectMode: false }));
    });

async function* resume(read: readonly Buffer[], rest: RelatedSteps): AsyncGenerator<Buffer, void> {
  yield* read;
  yield* rest;
}
