import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import { closedAs, oneOf, orNull, ProjectParams, titled } from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import {
  type RawAnswer,
  type Routes,
  type RouteTools,
  type Sent,
  sendRaw,
  serveRaw,
} from '../../http/server/server.ts';
import { optional } from '../../kernel/optional.ts';
import type { Catalog } from '../catalog.ts';
import type { AttributeUse } from '../ontology/changes/changes.ts';
import { SentAttribute } from '../ontology/ontology.ts';
import { CategoryPath } from '../products/schemas/schemas.ts';
import { readCategory, type SurveyPart, type SurveyQuestion, type SurveyResult } from './browse.ts';

/** Source: docs/interface §11.6. */
const SurveyQuery = Type.Object({
  sample: Type.Optional(
    oneOf(['even', 'all'], 'even (the default): 50,000 products of a larger catalog; all: every product'),
  ),
});

const ChangedAttribute = closedAs('ChangedAttribute', {
  attribute: SentAttribute,
  deleted: optional.list(Type.Integer({ minimum: 1 }), {
    maxItems: 100,
    description: 'ids of other attributes that the change deletes, so that their keys are free',
  }),
});

const extent = {
  products: Type.Integer({ description: 'in the catalog' }),
  sampled: Type.Boolean({ description: 'true: only a sample of the products was counted' }),
  sampledProducts: Type.Integer({ description: 'products that were counted' }),
};
const Examples = Type.Array(Type.Object({ identifier: Type.String(), value: Type.String() }), {
  maxItems: 20,
});
const Problems = Type.Array(
  Type.Object({
    code: Type.String(),
    message: Type.String(),
    count: Type.Integer({ description: 'of values' }),
    examples: Examples,
  }),
);
const AttributeCoverage = titled('AttributeCoverage', {
  id: orNull(Type.Integer()),
  name: Type.String(),
  type: orNull(Type.String()),
  unitName: optional.text(),
  withValue: Type.Integer({ description: 'products with a value' }),
  withFact: Type.Integer({ description: 'products with a fact' }),
  values: Type.Array(Type.Object({ value: Type.String(), count: Type.Integer() }), { maxItems: 100 }),
  distinctValues: Type.Integer({ description: 'at most 5,000 are counted' }),
  hasMoreValues: Type.Boolean(),
  problems: Problems,
});
const Coverage = titled('Coverage', {
  ...extent,
  attributes: Type.Array(AttributeCoverage, { description: 'of the ontology' }),
  unknown: Type.Array(AttributeCoverage, {
    description: 'keys without an attribute, the most frequent first',
  }),
});

const Counted = Type.Object({ count: Type.Integer({ description: 'of values' }), examples: Examples });
const Use = titled('AttributeUse', {
  kind: oneOf(['relation', 'channel', 'pipeline', 'project']),
  id: Type.Integer(),
  name: Type.String(),
  isRenamed: Type.Boolean({
    description: 'whether it uses the new name; a pipeline keeps the former name, which remains a synonym',
  }),
});
const Effect = titled('AttributeEffect', {
  ...extent,
  withValue: Type.Integer({ description: 'products with a value under the attribute, before or after' }),
  kept: Type.Integer({ description: 'values that make a fact before and after' }),
  gained: Counted,
  lost: Counted,
  problems: Problems,
  uses: optional.list(Use, 'with renameTo: the definitions that name the attribute'),
});

type SurveyRouteParts = RouteTools & { readonly catalog: Catalog };

const config = { guard: 'management', access: 'manage', isPatient: true, role: 'viewer' } as const;
const NDJSON = 'application/x-ndjson';
const about = {
  tags: ['Ontology'],
  description:
    'With `Accept: application/x-ndjson`, each line reports the progress, `{"scanned":n,"of":m}`; the last line has the answer as `result`.',
  config,
  params: ProjectParams,
  query: SurveyQuery,
  why: 'lines report the progress',
} as const;

/** Source: docs/interface §11.6. */
export const surveyRoutes =
  (parts: SurveyRouteParts): Routes =>
  (server) => {
    serveRaw(server, 'GET /management/projects/:id/ontology/coverage', {
      ...about,
      summary: 'Count how the ontology fits the catalog: values, facts and problems of each attribute',
      query: Type.Object({ ...SurveyQuery.properties, category: Type.Optional(CategoryPath) }),
      answer: { 200: Coverage },
      async handle(request, reply) {
        const { sample, category: sent } = request.query;
        const category = sent ? readCategory('category', sent) : undefined;
        const question = { kind: 'coverage', category } as const;
        return answer<typeof Coverage>(parts, { request, reply, isWhole: sample === 'all', question });
      },
    });

    serveRaw(server, 'POST /management/projects/:id/ontology/preview', {
      ...about,
      summary: 'Preview the effect of a changed attribute on the facts of the catalog',
      body: ChangedAttribute,
      answer: { 200: Effect },
      async handle(request, reply) {
        const { project, body } = request;
        const { attribute, deleted = [] } = body;
        const isWhole = request.query.sample === 'all';
        const planned = await parts.catalog.ontology.planRename(project, attribute);
        const question = { kind: 'effect', attribute: planned.attribute, deleted } as const;
        return answer<typeof Effect>(parts, { request, reply, isWhole, question, uses: planned.uses });
      },
    });
  };

interface SurveyRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly isWhole: boolean;
  readonly question: SurveyQuestion;
  /** Added to the answer, besides the counts. */
  readonly uses?: readonly AttributeUse[] | undefined;
}

async function answer<Answer extends TSchema>(
  { catalog, limitScans }: SurveyRouteParts,
  { request, reply, isWhole, question, uses }: SurveyRequest,
): Promise<Sent<Static<Answer>> | RawAnswer> {
  limitScans(request, reply);
  return whileCallerWaits(reply, async (signal) => {
    const parts = catalog.survey({ projectId: request.project.id, question, isWhole }, signal);
    // Reads the first part before the answer begins, so that a refusal can still set the status.
    const first = await parts.next();
    async function* follow(): AsyncGenerator<SurveyPart, void> {
      try {
        if (!first.done) yield first.value;
        yield* parts;
      } finally {
        await parts.return();
      }
    }
    if ((request.headers.accept ?? '').includes(NDJSON)) {
      const lines = writeLines(follow(), uses);
      return sendRaw(reply, `${NDJSON}; charset=utf-8`, Readable.from(lines, { highWaterMark: 1 }));
    }
    // The counts have the form of the question, which types cannot express.
    for await (const { result } of follow())
      if (result !== undefined) return flatten(result, uses) as unknown as Sent<Static<Answer>>;
    throw new Error('the survey ended without a result');
  });
}

async function* writeLines(parts: AsyncGenerator<SurveyPart, void>, uses: SurveyRequest['uses']) {
  for await (const { result, ...progress } of parts)
    yield `${JSON.stringify({ ...progress, ...(result && { result: flatten(result, uses) }) })}\n`;
}

const flatten = ({ counted, ...extent }: SurveyResult, uses: SurveyRequest['uses']) => ({
  ...extent,
  ...counted,
  ...(uses && { uses }),
});
