import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type CountLook,
  ErrorAnswer,
  ProjectParams,
  type Routes,
  whileCallerWaits,
} from '../../http/http.ts';
import type { Catalog } from '../catalog.ts';
import type { SurveyPart, SurveyQuestion, SurveyResult } from './survey.ts';
import { ChangedAttribute, Coverage, Effect, SurveyQuery } from './survey-schemas.ts';

export interface SurveyRouteParts {
  readonly catalog: Catalog;
  readonly countLook: CountLook;
}

const config = { guard: 'management', access: 'manage', isPatient: true, role: 'viewer' } as const;
const tags = ['Ontology'];
const NDJSON = 'application/x-ndjson';
const description =
  'With `Accept: application/x-ndjson` lines say how far it got, `{"scanned":n,"of":m}`; the last one has the answer as `result`.';

/** Source: docs/interface.md §11.6. */
export const surveyRoutes =
  (parts: SurveyRouteParts): Routes =>
  (server) => {
    server.get(
      '/management/projects/:id/ontology/coverage',
      {
        config,
        schema: {
          tags,
          summary: 'How the ontology fits the catalog: values, facts and problems of each attribute',
          description,
          params: ProjectParams,
          querystring: SurveyQuery,
          response: { 200: Coverage, '4xx': ErrorAnswer },
        },
      },
      async (request, reply) => answer(parts, { request, reply, question: { kind: 'coverage' } }),
    );

    server.post(
      '/management/projects/:id/ontology/preview',
      {
        config,
        schema: {
          tags,
          summary: 'What a changed attribute would do to the facts of the catalog; nothing is stored',
          description,
          params: ProjectParams,
          querystring: SurveyQuery,
          body: ChangedAttribute,
          response: { 200: Effect, '4xx': ErrorAnswer },
        },
      },
      async (request, reply) =>
        answer(parts, { request, reply, question: { kind: 'effect', attribute: request.body.attribute } }),
    );
  };

interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly question: SurveyQuestion;
}

async function answer(
  { catalog, countLook }: SurveyRouteParts,
  { request, reply, question }: Asked,
): Promise<never> {
  const isWhole = (request.query as { sample?: string }).sample === 'all';
  countLook(request, reply);
  return whileCallerWaits(reply, async (signal) => {
    const parts = catalog.survey({ projectId: request.project.id, question, isWhole }, signal);
    // The first part before the answer begins: a refusal has its status.
    const first = await parts.next();
    const all = follow(first, parts);
    if ((request.headers.accept ?? '').includes(NDJSON)) {
      return reply
        .type(`${NDJSON}; charset=utf-8`)
        .send(Readable.from(writeLines(all), { highWaterMark: 1 })) as never;
    }
    for await (const { result } of all) if (result !== undefined) return flatten(result) as never;
    throw new Error('a survey ends with a result');
  });
}

async function* follow(
  first: IteratorResult<SurveyPart, void>,
  parts: AsyncGenerator<SurveyPart, void>,
): AsyncGenerator<SurveyPart, void> {
  try {
    if (!first.done) yield first.value;
    yield* parts;
  } finally {
    await parts.return();
  }
}

async function* writeLines(parts: AsyncGenerator<SurveyPart, void>): AsyncGenerator<string> {
  for await (const { result, ...progress } of parts) {
    yield `${JSON.stringify({ ...progress, ...(result && { result: flatten(result) }) })}\n`;
  }
}

const flatten = ({ counted, ...looked }: SurveyResult) => ({ ...looked, ...counted });
