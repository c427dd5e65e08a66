import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { Value } from 'typebox/value';
import { readIdentifiers } from '../catalog/catalog.ts';
import { ErrorAnswer, type Routes } from '../http/http.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { IncludedRelations } from './related-request.ts';
import {
  BulkAnswer,
  BulkBody,
  BulkQuery,
  IncludeRelations,
  IncludeTags,
  SingleAnswer,
  SingleBody,
  SingleQuery,
} from './relation-schemas.ts';
import type { RelatedSteps, Relations } from './relations.ts';

const config = { guard: 'project', access: 'read' } as const;
const tags = ['Related products'];
const failures = { '4xx': ErrorAnswer };
const JSON_TYPE = 'application/json; charset=utf-8';
/** 1,000 identifiers and 2,000 entries, whatever escapes they are written with. */
const BODY_MAX_MIB = 8;

/** Source: docs/interface.md §4.8. */
export const relatedRoutes =
  (relations: Relations): Routes =>
  (server) => {
    const bulk = '/search/relations/bulk-results';
    const single = '/search/relations/result';
    const response = { 200: BulkAnswer, ...failures };
    server.get(
      bulk,
      {
        config,
        schema: { tags, summary: 'Related products of many products', querystring: BulkQuery, response },
      },
      async (request, reply) => {
        const { query } = request;
        const asked = { ...readIncluded(query), form: 'bulk' as const, explain: query.explain === true };
        const identifiers = dropRepeated(readSources(query.identifiers));
        const steps = await relations.ask(request.project, { ...asked, identifiers });
        return sendBulk(reply, steps) as never;
      },
    );
    server.post(
      bulk,
      {
        config: { ...config, maxBodyMib: BODY_MAX_MIB },
        schema: {
          tags,
          summary: 'Related products of many products, without the limits of a URL',
          body: BulkBody,
          response,
        },
      },
      async (request, reply) => {
        const asked = {
          ...toIncluded(request.body),
          form: 'bulk' as const,
          explain: request.body.explain === true,
        };
        const identifiers = dropRepeated(request.body.identifiers);
        const steps = await relations.ask(request.project, { ...asked, identifiers });
        return sendBulk(reply, steps) as never;
      },
    );
    server.get(
      single,
      {
        config,
        schema: {
          ...{ tags, summary: 'Related products of one product', querystring: SingleQuery },
          response: { 200: SingleAnswer, ...failures },
        },
      },
      async (request, reply) => {
        const { query } = request;
        const asked = { ...readIncluded(query), form: 'single' as const, explain: query.explain === true };
        const steps = await relations.ask(request.project, { ...asked, identifiers: [query.identifier] });
        return sendSingle(reply, steps) as never;
      },
    );
    server.post(
      single,
      {
        config: { ...config, maxBodyMib: BODY_MAX_MIB },
        schema: {
          ...{
            tags,
            summary: 'Related products of one product, without the limits of a URL',
            body: SingleBody,
          },
          response: { 200: SingleAnswer, ...failures },
        },
      },
      async (request, reply) => {
        const { body } = request;
        const asked = { ...toIncluded(body), form: 'single' as const, explain: body.explain === true };
        const steps = await relations.ask(request.project, { ...asked, identifiers: [body.identifier] });
        return sendSingle(reply, steps) as never;
      },
    );
  };

/** The answer has one member for each identifier, however often it is asked for. */
const dropRepeated = (identifiers: readonly string[]) => [...new Set(identifiers)];

/** More than 1,000 are refused with another text than on the lookup (§7.3). */
function readSources(given: string | string[] | undefined): readonly string[] {
  try {
    return readIdentifiers(given);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'too_many_identifiers') throw error;
    const [count, most] = error.facts.values ?? [];
    throw new ServiceError('bad_request', {
      details: [`${count} identifiers, at most ${most} are answered at once`],
    });
  }
}

function readIncluded(query: { includeRelations?: string; includeTags?: string }): IncludedRelations {
  return {
    includeRelations: readList('includeRelations', query.includeRelations, IncludeRelations),
    includeTags: readList('includeTags', query.includeTags, IncludeTags),
  };
}

const toIncluded = (body: {
  includeRelations?: IncludedRelations['includeRelations'] | null;
  includeTags?: IncludedRelations['includeTags'] | null;
}): IncludedRelations => ({
  includeRelations: body.includeRelations ?? undefined,
  includeTags: body.includeTags ?? undefined,
});

/** @throws query_invalid */
function readList<Schema extends typeof IncludeRelations | typeof IncludeTags>(
  name: string,
  text: string | undefined,
  schema: Schema,
): never | undefined {
  if (text === undefined || text === '') return undefined;
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new ServiceError('query_invalid', {
      details: [`/${name} must be a JSON list: ${(error as Error).message}`],
    });
  }
  const errors = [...Value.Errors(schema, list)].map(
    ({ instancePath, message }) => `/${name}${instancePath} ${message}`,
  );
  if (errors.length > 0) throw new ServiceError('query_invalid', { details: errors.slice(0, 20) });
  return list as never;
}

async function sendSingle(reply: FastifyReply, steps: RelatedSteps): Promise<FastifyReply> {
  const { value } = await steps.next();
  if (value === undefined) throw new Error('a request for one product had no answer');
  return reply.type(JSON_TYPE).send(value);
}

/** An object by identifier. The first step is read before anything is sent, so that what fails in it is told. */
async function sendBulk(reply: FastifyReply, steps: RelatedSteps): Promise<FastifyReply> {
  const first = (await steps.next()).value ?? Buffer.alloc(0);
  const second = await steps.next();
  reply.type(JSON_TYPE);
  if (second.done) return reply.send(Buffer.concat([OPEN, first, CLOSE]));
  return reply.send(Readable.from(joinSteps([first, second.value], steps), { objectMode: false }));
}

const OPEN = Buffer.from('{');
const CLOSE = Buffer.from('}');
const COMMA = Buffer.from(',');

async function* joinSteps(read: readonly [Buffer, Buffer], rest: RelatedSteps): AsyncGenerator<Buffer, void> {
  const [first, second] = read;
  yield Buffer.concat([OPEN, first]);
  yield Buffer.concat([COMMA, second]);
  for await (const step of rest) yield Buffer.concat([COMMA, step]);
  yield CLOSE;
}
