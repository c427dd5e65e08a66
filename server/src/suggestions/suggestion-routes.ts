import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { AttributeSchema } from '../catalog/products/products.ts';
import { DoneAnswer, done, Id, orNull, ProjectParams } from '../http/answers/answers.ts';
import { type Routes, type RouteTools, type Sent, serve, serveOnce } from '../http/server/server.ts';
import type { Projects } from '../projects/projects.ts';
import { SentRelation as RelationDefinitionSchema } from '../relations/definitions/definitions.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import type { Suggestion } from './suggestion.ts';
import type { Suggestions } from './suggestions.ts';

interface SuggestionRouteParts extends RouteTools {
  readonly suggestions: Suggestions;
  readonly projects: Pick<Projects, 'recordChange'>;
}

const config = { guard: 'management', access: 'manage' } as const;
const tags = ['Suggestions'];
const PATH = '/management/projects/:id/suggestions';

/** Source: docs/interface.md §17. */
export const suggestionRoutes =
  ({ suggestions, answerOnce, countLook, projects }: SuggestionRouteParts): Routes =>
  (server) => {
    serve(server, `GET ${PATH}`, {
      config: { ...config, isPatient: true },
      ...{ tags, params: ProjectParams, query: SuggestionQuery, answer: { 200: SuggestionList } },
      summary: 'What the data shows: relations, types of attributes, attributes that mean one',
      description:
        'Nothing is applied. The first call after a change of the catalog or the ontology counts, for some seconds.',
      async handle(request, reply) {
        countLook(request, reply);
        const { items, ...looked } = await suggestions.list(request.project.id);
        const { kind, dismissed = false } = request.query;
        const chosen = items.filter((one) => one.dismissed === dismissed && (kind ?? one.kind) === one.kind);
        return { ...looked, items: chosen } as unknown as Sent<Static<typeof SuggestionList>>;
      },
    });
    const dismissal = { config, tags, params: SuggestionParams, answer: { 200: DoneAnswer }, answerOnce };
    const note = (
      { caller: author, params, project }: FastifyRequest & { params: Static<typeof SuggestionParams> },
      { tx, action, name }: NotedChange,
    ) =>
      projects.recordChange(
        {
          ...{ author, projectId: project.id, action: `suggestion.${action}` },
          subject: { type: 'suggestion', id: params.suggestionId, ...(name !== undefined && { name }) },
        },
        tx,
      );

    serveOnce(server, `PUT ${PATH}/:suggestionId/dismissal`, {
      ...dismissal,
      summary: 'Dismiss a suggestion for good',
      async handle(request, record) {
        const { suggestionId } = request.params;
        await suggestions.dismiss({ projectId: request.project.id, suggestionId }, async (tx, dismissed) => {
          if (dismissed !== undefined)
            await note(request, { action: 'dismissed', tx, name: nameOf(dismissed) });
          await record(tx, done);
        });
        return done;
      },
    });

    serveOnce(server, `DELETE ${PATH}/:suggestionId/dismissal`, {
      ...dismissal,
      summary: 'Take the dismissal of a suggestion back',
      async handle(request, record) {
        const { suggestionId } = request.params;
        await suggestions.restore({ projectId: request.project.id, suggestionId }, async (tx) => {
          await note(request, { action: 'restored', tx });
          await record(tx, done);
        });
        return done;
      },
    });
  };

interface NotedChange {
  readonly tx: ControlTransaction;
  readonly action: 'dismissed' | 'restored';
  /** Of what was suggested. */
  readonly name?: string;
}

const nameOf = ({ draft }: Suggestion) => ('attribute' in draft ? draft.attribute.name : draft.name);

/** Source: docs/interface.md §17. */
const Kind = Type.Enum(['relation', 'attribute', 'duplicate']);

const SuggestionParams = Type.Object({
  id: Id,
  suggestionId: Type.String({ minLength: 1, maxLength: 255 }),
});

const SuggestionQuery = Type.Object({
  kind: Type.Optional(Kind),
  dismissed: Type.Optional(
    Type.Boolean({ description: 'true: those that were dismissed; false (the default): the others' }),
  ),
});

const about = (kind: string) => ({
  id: Type.String({ description: 'the same as long as the same is suggested' }),
  kind: Type.Literal(kind),
  dismissed: Type.Boolean(),
});

const Side = Type.Object({
  category: Type.Array(Type.String()),
  products: Type.Integer(),
  withPartner: Type.Integer({ description: 'products that the relation would have results for' }),
});

const RelationSuggestion = Type.Object(
  {
    ...about('relation'),
    evidence: Type.Object({
      source: Side,
      target: Side,
      targetsPerSource: Type.Number({ description: 'on average, of sources with any' }),
      values: Type.Array(
        Type.Object({
          ...{ attribute: Type.String(), value: Type.String() },
          ...{ sources: Type.Integer(), targets: Type.Integer() },
        }),
        { description: 'the most frequent that both sides have' },
      ),
      examples: Type.Array(Type.Object({ source: Type.String(), target: Type.String() })),
      withoutPartner: Type.Array(
        Type.Object({ identifier: Type.String(), values: Type.Array(Type.String()) }),
        { description: 'sources without a result' },
      ),
    }),
    draft: RelationDefinitionSchema,
  },
  { title: 'RelationSuggestion' },
);

const CountedValues = Type.Array(
  Type.Object({
    ...{ value: Type.String(), count: Type.Integer({ description: 'of products' }) },
    identifiers: Type.Array(Type.String(), { maxItems: 5 }),
  }),
);
const AttributeDraft = Type.Object(
  {
    attribute: AttributeSchema,
    deleted: Type.Optional(
      Type.Array(Type.Integer(), { description: 'ids of attributes whose keys the attribute takes over' }),
    ),
  },
  { title: 'AttributeDraft', description: 'the body of POST …/ontology/preview' },
);

const AttributeSuggestion = Type.Object(
  {
    ...about('attribute'),
    evidence: Type.Object({
      typeNow: orNull(Type.String(), 'null: the ontology does not know the key'),
      products: Type.Integer({ description: 'with a value' }),
      values: Type.Integer(),
      fits: Type.Integer({ description: 'values that would make a fact' }),
      distinctMisfits: Type.Integer(),
      misfits: CountedValues,
      examples: CountedValues,
    }),
    draft: AttributeDraft,
  },
  { title: 'AttributeSuggestion' },
);

const NamedAttribute = Type.Object({
  ...{ id: orNull(Type.Integer()), name: Type.String() },
  ...{ type: orNull(Type.String()), products: Type.Integer() },
});

const DuplicateSuggestion = Type.Object(
  {
    ...about('duplicate'),
    evidence: Type.Object({
      ...{ kept: NamedAttribute, dropped: NamedAttribute },
      withBoth: Type.Integer({ description: 'products with both' }),
      sharedValues: Type.Integer({ description: 'values of the dropped one that the kept one has, too' }),
      values: Type.Integer({ description: 'of the dropped one' }),
      examples: Type.Array(
        Type.Object({ value: Type.String(), kept: Type.Integer(), dropped: Type.Integer() }),
      ),
      misfits: CountedValues,
    }),
    draft: AttributeDraft,
  },
  { title: 'DuplicateSuggestion' },
);

const SuggestionList = Type.Object(
  {
    catalogVersion: Type.Integer(),
    products: Type.Integer({ description: 'in the catalog' }),
    sampled: Type.Boolean({ description: 'true: only some of them were looked at, and counts are of those' }),
    sampledProducts: Type.Integer({ description: 'those that were looked at' }),
    items: Type.Array(Type.Union([RelationSuggestion, AttributeSuggestion, DuplicateSuggestion]), {
      description: 'by kind, of each the best first; at most 20 of a kind',
    }),
  },
  { title: 'Suggestions' },
);
