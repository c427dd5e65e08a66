import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Catalog } from '../../catalog/catalog.ts';
import {
  IdentifierQuery,
  IdentifiersQuery,
  readIdentifierList,
  refuseCommas,
} from '../../catalog/products/products.ts';
import { orNull, ProjectParams, ProjectQuery, titled } from '../../http/answers/answers.ts';
import { joinTwins, takeNoBody } from '../../http/bodies/bodies.ts';
import { requestHook, whileCallerWaits } from '../../http/guards/guards.ts';
import { type RawAnswer, type Routes, sendJson, serve, serveRaw } from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { optional } from '../../kernel/optional.ts';
import { Locale, RelatedProduct, RelatedReason, SingleProduct } from '../definitions/definitions.ts';
import type { Relations } from '../relations.ts';
import { joinPhpLists, refuseMixedUp } from './included-lists.ts';
import {
  checkIncluded,
  checkSources,
  DEFAULT_LIMIT,
  LARGEST_LIMIT,
  type RelatedBytes,
  type RelatedRequest,
  type RelatedSteps,
  SOURCES_PER_REQUEST,
} from './related-answers.ts';

const config = { guard: 'project', access: 'page' } as const;
const about = {
  config,
  tags: ['Related products'],
  why: 'answers are stored as bytes, and long ones are streamed',
};
/** 2,000 entries, half of them with a tag of 255 characters, however these are escaped. */
const takesEntries = {
  ...config,
  maxBodyMib: 4,
  holds: { values: 20_000 },
  takesProjectInBody: true,
} as const;
/** In addition, 1,000 identifiers. */
const takesSources = {
  ...takesEntries,
  maxBodyMib: 7,
  holds: { ...takesEntries.holds, list: { most: SOURCES_PER_REQUEST, code: 'bad_request' } },
} as const;
const hooks = { onRequest: requestHook(({ query }) => joinPhpLists(query)), preValidation: takeNoBody };

/** Checked first: the text of the refusal is part of the contract. Source: docs/interface §4.8 rule 6. */
const common = {
  hooks: {
    onRequest: requestHook(({ query }) => {
      joinPhpLists(query);
      const { includeRelations, includeTags } = query as Readonly<Record<string, unknown>>;
      if (isNothing(includeRelations) && isNothing(includeTags)) checkIncluded({});
    }),
  },
};
const isNothing = (given: unknown) => given === undefined || given === '' || given === '[]';

/** Source: docs/interface §4.8 and §12.7. */
export const relatedRoutes =
  ({ relations, catalog }: { readonly relations: Relations; readonly catalog: Catalog }): Routes =>
  (server) => {
    const answer = answerBy(relations);
    const ofMany = { ...about, answer: { 200: BulkAnswer } };
    serveRaw(server, 'GET /search/relations/bulk-results', {
      ...ofMany,
      ...common,
      summary: 'Related products of many products',
      query: BulkQuery,
      async handle({ project, query }, reply) {
        const requested = readRequested(query);
        const identifiers = checkSources(readIdentifierList(query.identifiers));
        await refuseCommas(query.identifiers, (some) => catalog.store.hasAny(project.id, some));
        return answer(project, reply, { ...requested, form: 'bulk', identifiers });
      },
    });

    serveRaw(server, 'POST /search/relations/bulk-results', {
      ...ofMany,
      config: takesSources,
      hooks,
      query: BulkQuery,
      body: BulkBody,
      summary: 'Related products of many products, without the limits of a URL',
      async handle({ project, query, body }, reply) {
        const requested = joinRequested(query, body);
        const { identifiers: listed } = query;
        const inQuery = {
          identifiers: listed === undefined ? undefined : readIdentifierList(listed),
        };
        const { identifiers } = joinTwins(inQuery, { identifiers: body.identifiers });
        const sources = checkSources(identifiers ?? readIdentifierList(undefined));
        return answer(project, reply, { ...requested, form: 'bulk', identifiers: sources });
      },
    });
    const ofOne = { ...about, answer: { 200: SingleAnswer } };
    serveRaw(server, 'GET /search/relations/result', {
      ...ofOne,
      ...common,
      summary: 'Related products of one product',
      query: SingleQuery,
      async handle({ project, query }, reply) {
        const requested = readRequested(query);
        return answer(project, reply, { ...requested, form: 'single', identifiers: [query.identifier] });
      },
    });

    serveRaw(server, 'POST /search/relations/result', {
      ...ofOne,
      config: takesEntries,
      hooks,
      query: SingleSentQuery,
      body: SingleBody,
      summary: 'Related products of one product, without the limits of a URL',
      async handle({ project, query, body }, reply) {
        const requested = joinRequested(query, body);
        const { identifier } = joinTwins({ identifier: query.identifier }, { identifier: body.identifier });
        if (identifier === undefined)
          throw new ServiceError('query_invalid', "must have required property 'identifier'");
        return answer(project, reply, { ...requested, form: 'single', identifiers: [identifier] });
      },
    });

    // Source: docs/interface §12.7.
    serve(server, 'GET /management/projects/:id/products/:identifier/relations', {
      config: { guard: 'management', access: 'manage' },
      tags: ['Products'],
      summary: 'What a product leads to and what leads to it, relation by relation, with the reason',
      params: Type.Object({ ...ProjectParams.properties, identifier: Type.String() }),
      query: Type.Object({
        limit: limit('groups to answer for each direction'),
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
  };

type Requested = Omit<RelatedRequest, 'identifiers' | 'form'>;

/** @throws query_invalid */
function readRequested(query: Omit<Static<typeof SingleSentQuery>, 'identifier'>): Requested {
  const relations = { schema: IncludeRelations, isGood: isRelation };
  const included = {
    includeRelations: readList('includeRelations', query.includeRelations, relations),
    includeTags: readList('includeTags', query.includeTags, { schema: IncludeTags, isGood: isTag }),
  };
  refuseMixedUp('query_invalid', included);
  const { explain, assumed, locale } = query;
  return { ...included, explain, assumed, locale };
}

/** @throws bad_request if nothing is requested, query_invalid if query and body request different things */
function joinRequested(
  query: Parameters<typeof readRequested>[0],
  { includeRelations, includeTags, explain, assumed, locale }: Static<typeof SingleBody>,
): Requested {
  refuseMixedUp('request_invalid', { includeRelations, includeTags });
  const sent = { includeRelations, includeTags, explain, assumed, locale };
  const requested = joinTwins(readRequested(query), sent);
  checkIncluded(requested);
  return requested;
}

/** What the schemas say, as code. */
const isLimit = (value: unknown) =>
  value === undefined || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LARGEST_LIMIT);
const isRelation = (entry: unknown) =>
  isObject(entry) && Number.isSafeInteger(entry.id) && isLimit(entry.limit);
const isTag = (entry: unknown) =>
  isObject(entry) && typeof entry.tag === 'string' && isLimit(entry.limitPerRelation);
const isObject = (entry: unknown): entry is Record<string, unknown> =>
  typeof entry === 'object' && entry !== null && !Array.isArray(entry);

/** @throws query_invalid */
function readList<Schema extends TSchema>(
  name: string,
  text: string | undefined,
  { schema, isGood }: { schema: Schema; isGood: (entry: unknown) => boolean },
): Static<Schema> | undefined {
  if (text === undefined || text === '') return undefined;
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new ServiceError('query_invalid', `/${name} must be a JSON list: ${(error as Error).message}`);
  }
  // Listing errors interprets the schema, which takes longer than the rest of a small request.
  if (Array.isArray(list) && list.length <= 1_000 && list.every(isGood)) return list as Static<Schema>;
  const errors = [...Value.Errors(schema, list)].map(
    ({ instancePath, message }) => `/${name}${instancePath} ${message}`,
  );
  if (errors.length > 0) throw new ServiceError('query_invalid', { details: errors.slice(0, 20) });
  return list as Static<Schema>;
}

/** The first part is read before anything is sent, so that its failure can be answered; more than one part is streamed. */
const answerBy =
  (relations: Relations) =>
  (project: ChosenProject, reply: FastifyReply, requested: RelatedRequest): Promise<RawAnswer> =>
    whileCallerWaits(reply, async (signal) => {
      const steps = await relations.answer(project, requested, signal);
      const first = await steps.next();
      const second = await steps.next();
      if (first.done) throw new Error('an answer has at least one part');
      if (second.done) {
        reply.raw.once('close', first.value.release);
        return sendJson(reply, first.value.bytes);
      }
      const parts = resume([first.value, second.value], steps);
      return sendJson(reply, Readable.from(parts, { objectMode: false }));
    });

/** It is unknown when a part of a stream is sent, so none is released. */
async function* resume(read: readonly RelatedBytes[], rest: RelatedSteps): AsyncGenerator<Buffer, void> {
  for (const { bytes } of read) yield bytes;
  for await (const { bytes } of rest) yield bytes;
}

/** Source: docs/interface §4.8. */
const limit = (description: string) =>
  optional.integer({
    minimum: 1,
    maximum: LARGEST_LIMIT,
    description: `${description}, default ${DEFAULT_LIMIT}`,
  });

/** An id that no relation has is left out, and one that JSON cannot hold exactly is refused. */
const RelationId = Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });
const IncludeRelations = Type.Array(Type.Object({ id: RelationId, limit: limit('groups to answer') }), {
  maxItems: 1_000,
});
const IncludeTags = Type.Array(
  Type.Object({ tag: Type.String(), limitPerRelation: limit('groups to answer of each relation') }),
  { maxItems: 1_000 },
);

const included = {
  includeRelations: optional.text('JSON list of {"id": relation id, "limit": 1 to 100, default 10}'),
  includeTags: optional.text('JSON list of {"tag", "limitPerRelation": 1 to 100, default 10}'),
  explain: optional.flag('adds to each product which conditions held, by which values'),
  assumed: optional.flag('adds to a product the attributes without a value that it is there by'),
  locale: Type.Optional(Locale),
};

const BulkQuery = Type.Object({ ...IdentifiersQuery.properties, ...included });
const SingleQuery = Type.Object({ ...IdentifierQuery.properties, ...included });

const sent = {
  ...ProjectQuery.properties,
  includeRelations: Type.Optional(orNull(IncludeRelations)),
  includeTags: Type.Optional(orNull(IncludeTags)),
  explain: Type.Optional(orNull(Type.Boolean())),
  assumed: Type.Optional(orNull(Type.Boolean())),
  locale: Type.Optional(orNull(Locale)),
};
const documented = { maxItems: SOURCES_PER_REQUEST };
const BulkBody = Type.Object({ identifiers: optional.list(Type.String(), { documented }), ...sent });
const Identifier = Type.String({ minLength: 1, maxLength: 255 });
const SingleBody = Type.Object({ identifier: Type.Optional(Identifier), ...sent });
/** For a POST, whose body may name it. */
const SingleSentQuery = Type.Object({ ...SingleQuery.properties, identifier: Type.Optional(Identifier) });

const relationHead = {
  name: Type.String(),
  id: Type.Integer(),
  matchType: Type.Enum(['FIRST_WAY', 'SECOND_WAY']),
};
const DataPoint = titled('DataPoint', {
  id: Type.Integer({ description: 'up to 53 bits' }),
  conceptIdName: Type.String(),
  key: Type.String(),
  type: Type.Literal('PASS_ON'),
  value: Type.String(),
  isCategory: Type.Boolean(),
  parsedValue: optional.number(),
  unit: optional.text(),
});
const explained = {
  assumed: optional.list(Type.String(), 'attributes without a value that it is there by (§12.3)'),
  explain: Type.Optional(RelatedReason),
};
const { relevance } = SingleProduct.properties;

const SingleItem = Type.Object({ ...SingleProduct.properties, ...explained });
const BulkItem = Type.Object({
  identifier: Type.String(),
  groupId: Type.String(),
  sxId: Type.Integer(),
  dataPoints: Type.Array(DataPoint),
  image: Type.String(),
  name: Type.String(),
  images: Type.Array(Type.Object({ url: Type.String(), type: Type.String() })),
  link: Type.String(),
  head: Type.Boolean(),
  relevance,
  ...explained,
});
const tagsOf = (relation: ReturnType<typeof Type.Object>, title: string) =>
  Type.Object(
    { tags: Type.Array(Type.Object({ tag: Type.String(), relations: Type.Array(relation) })) },
    { title },
  );

/** Source: docs/interface §2.5. */
const SingleAnswer = tagsOf(
  Type.Object({ ...relationHead, searchResult: Type.Array(SingleItem) }),
  'RelatedProducts',
);
const BulkAnswer = Type.Record(
  Type.String(),
  tagsOf(
    Type.Object({
      ...relationHead,
      localization: Type.Object({
        names: Type.Array(Type.Object({ locale: Type.String(), name: Type.String() })),
      }),
      searchResult: Type.Array(Type.Array(BulkItem)),
    }),
    'RelatedProductsOfMany',
  ),
);

/** Source: docs/interface §12.7. */
const ProductSide = orNull(
  Type.Object({
    stands: Type.Boolean({ description: 'whether the product is on this side' }),
    results: Type.Array(RelatedProduct),
  }),
);
const ProductRelations = titled('ProductRelations', {
  relations: Type.Array(
    Type.Object({
      id: Type.Integer(),
      name: Type.String(),
      tag: Type.String(),
      enabled: Type.Boolean(),
      state: Type.Enum(['building', 'ready', 'misconfigured']),
      asSource: ProductSide,
      asTarget: ProductSide,
    }),
  ),
});
