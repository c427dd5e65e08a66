import { type Static, type TSchema, Type } from 'typebox';
import type { Attribute } from '../catalog/ontology/ontology.ts';
import { AttributeSchema } from '../catalog/ontology/ontology.ts';
import { Id, orNull, titled } from '../http/answers/answers.ts';
import type { Sent } from '../http/server/server.ts';
import { optional } from '../kernel/optional.ts';
import {
  type Match,
  type RelationDefinition,
  SentRelation,
} from '../relations/relation-definitions/relation-definitions.ts';

/** Source: docs/interface §17. */
const Kind = Type.Enum(['relation', 'attribute', 'duplicate']);

export const SuggestionParams = Type.Object({
  id: Id,
  suggestionId: Type.String({ minLength: 1, maxLength: 255 }),
});

export const SuggestionQuery = Type.Object({
  kind: Type.Optional(Kind),
  dismissed: optional.flag('true: only dismissed suggestions; false (default): only the others'),
});

const about = <const Kind extends string>(kind: Kind) => ({
  id: Type.String({ description: 'derived from the subject, so the same suggestion always has the same id' }),
  kind: Type.Literal(kind),
  dismissed: Type.Boolean(),
});

const Side = Type.Object({
  category: Type.Array(Type.String()),
  products: Type.Integer(),
  withPartner: Type.Integer({
    description: 'the number of products that the relation would have results for',
  }),
});

const RelationSuggestionSchema = titled('RelationSuggestion', {
  ...about('relation'),
  evidence: Type.Object({
    source: Side,
    target: Side,
    constraint: Type.Enum(['limit', 'standard', 'equal'], {
      description:
        'the likely kind of constraint: a limit (length up to the maximum length), a standard that both sides follow (DDR5), or merely equal values',
    }),
    targetsPerSource: Type.Number({ description: 'the average number of targets, of sources that have any' }),
    values: Type.Array(
      Type.Object({
        attribute: Type.String(),
        value: Type.String(),
        sources: Type.Integer(),
        targets: Type.Integer(),
      }),
      { description: 'the most frequent values that both sides have' },
    ),
    examples: Type.Array(Type.Object({ source: Type.String(), target: Type.String() })),
    withoutPartner: Type.Array(
      Type.Object({ identifier: Type.String(), values: Type.Array(Type.String()) }),
      { description: 'sources without a result' },
    ),
  }),
  draft: SentRelation,
});

const CountedValues = Type.Array(
  Type.Object({
    value: Type.String(),
    count: Type.Integer({ description: 'number of products' }),
    identifiers: Type.Array(Type.String(), { maxItems: 5 }),
  }),
);
const AttributeDraftSchema = Type.Object(
  {
    attribute: AttributeSchema,
    deleted: optional.list(
      Type.Integer(),
      'ids of the deleted attributes, whose keys the attribute takes over',
    ),
  },
  { title: 'AttributeDraft', description: 'the body of POST …/ontology/preview' },
);

const AttributeSuggestionSchema = titled('AttributeSuggestion', {
  ...about('attribute'),
  evidence: Type.Object({
    typeNow: orNull(Type.String(), 'null if the ontology does not have the key'),
    products: Type.Integer({ description: 'with a value' }),
    values: Type.Integer(),
    fits: Type.Integer({ description: 'values that would make a fact' }),
    distinctMisfits: Type.Integer(),
    misfits: CountedValues,
    examples: CountedValues,
  }),
  draft: AttributeDraftSchema,
});

const NamedAttribute = Type.Object({
  id: orNull(Type.Integer()),
  name: Type.String(),
  type: orNull(Type.String()),
  products: Type.Integer(),
});

const DuplicateSuggestionSchema = titled('DuplicateSuggestion', {
  ...about('duplicate'),
  evidence: Type.Object({
    kept: NamedAttribute,
    dropped: NamedAttribute,
    withBoth: Type.Integer({ description: 'the number of products that have both attributes' }),
    sharedValues: Type.Integer({
      description: 'how many values of the dropped attribute the kept one has too',
    }),
    values: Type.Integer({ description: 'the number of values of the dropped attribute' }),
    examples: Type.Array(
      Type.Object({ value: Type.String(), kept: Type.Integer(), dropped: Type.Integer() }),
    ),
    misfits: CountedValues,
  }),
  draft: AttributeDraftSchema,
});

export const SuggestionList = titled('Suggestions', {
  catalogVersion: Type.Integer(),
  products: Type.Integer({ description: 'the number of products in the catalog' }),
  sampled: Type.Boolean({ description: 'true: only a sample of the products was counted' }),
  sampledProducts: Type.Integer({ description: 'the number of products that were counted' }),
  items: Type.Array(
    Type.Union([RelationSuggestionSchema, AttributeSuggestionSchema, DuplicateSuggestionSchema]),
    { description: 'ordered by kind, the best of each kind first; at most 20 of each kind' },
  ),
});

/** A suggestion that is derived from the data alone, with its evidence. */
export type Suggestion = RelationSuggestion | AttributeSuggestion | DuplicateSuggestion;
type Undecided<Schema extends TSchema> = Omit<Sent<Static<Schema>>, 'dismissed' | 'draft'>;

/** Products of two categories share values, which suggests a relation. */
export interface RelationSuggestion extends Undecided<typeof RelationSuggestionSchema> {
  readonly draft: RelationDraft;
}

/** The body of `POST …/relations`. */
export type RelationDraft = Pick<
  RelationDefinition,
  'name' | 'tag' | 'twoWay' | 'enabled' | 'source' | 'target'
> & { readonly match: readonly Match[] };

/**
 * Values read better as another type, or the ontology does not have the key. Suggests changing or adding the
 * attribute.
 */
export interface AttributeSuggestion extends Undecided<typeof AttributeSuggestionSchema> {
  readonly draft: AttributeDraft;
}

/** Two attributes have one meaning. Suggests making the name of one a synonym of the other. */
export interface DuplicateSuggestion extends Undecided<typeof DuplicateSuggestionSchema> {
  readonly draft: AttributeDraft;
}

/** The body of `POST …/ontology/preview`. */
interface AttributeDraft {
  readonly attribute: DraftedAttribute;
  /** The ids of the deleted attributes, whose keys the attribute takes over. */
  readonly deleted?: readonly number[];
}

export type DraftedAttribute = Omit<Attribute, 'id' | 'reason' | 'typing' | 'unitAliases'> & {
  readonly id?: number;
};

export type SharedValue = RelationSuggestion['evidence']['values'][number];
export type CountedValue = AttributeSuggestion['evidence']['misfits'][number];
export type NamedAttribute = DuplicateSuggestion['evidence']['kept'];
