import { Type } from 'typebox';
import { AttributeSchema } from '../catalog/catalog.ts';
import { Id } from '../http/http.ts';
import { RelationDefinitionSchema } from '../relations/relations.ts';

/** Source: docs/interface.md §17. */
const Kind = Type.Enum(['relation', 'attribute', 'duplicate']);

export const SuggestionParams = Type.Object({
  id: Id,
  suggestionId: Type.String({ minLength: 1, maxLength: 255 }),
});

export const SuggestionQuery = Type.Object({
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
      typeNow: Type.Union([Type.String(), Type.Null()], {
        description: 'null: the ontology does not know the key',
      }),
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
  ...{ id: Type.Union([Type.Integer(), Type.Null()]), name: Type.String() },
  ...{ type: Type.Union([Type.String(), Type.Null()]), products: Type.Integer() },
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

export const SuggestionList = Type.Object(
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
