import { type Static, type TObject, Type } from 'typebox';
import { type Filter, OPERATORS, OWN, type OwnField } from '../../catalog/filters/filters.ts';
import { closedAs, closedObject, Id, Name, orNull, PageQuery, titled } from '../../http/answers/answers.ts';
import type { Sent } from '../../http/server/server.ts';
import { optional } from '../../kernel/optional.ts';
import { SentTable } from './table-schemas.ts';

const named = { minLength: 1, maxLength: 255 };
const AttributeName = Type.String(named);
const plus = {
  type: ['number', 'string'],
  ...named,
  description:
    'added after the factor: a number in the unit of the attribute, or a text with another unit of its dimension',
};
const computed = {
  attribute: AttributeName,
  times: optional.number('a factor, used as an exact decimal'),
  plus: Type.Optional(Type.Unsafe<number | string>(plus)),
};
/** A value computed from a numeric attribute, which is multiplied by the factor first. */
export type ComputedValue = Sent<Static<TObject<typeof computed>>>;
/**
 * An attribute by its name, a field that every product has, or a computed value. If an attribute and a field
 * have the same name, the name means the attribute.
 */
export type MatchedValue = string | { readonly field: OwnField } | ComputedValue;
/** `checkDefinition` checks which members may be combined, and names the path of a mistake. */
const MatchedValue = Type.Unsafe<MatchedValue>({
  type: ['string', 'object'],
  title: 'MatchedValue',
  ...named,
  additionalProperties: false,
  properties: {
    field: { type: 'string', enum: Object.keys(OWN) },
    attribute: { type: 'string', ...named },
    times: {
      type: 'number',
      description: 'only for a numeric attribute: a factor, used as an exact decimal',
    },
    plus,
  },
  description:
    'the name of an attribute; or {"field":…} for a field that every product has (its name alone suffices if no attribute has that name); or {"attribute","times"?,"plus"?} for a computed value',
});
const match = {
  target: MatchedValue,
  operator: Type.Enum([...OPERATORS]),
  source: MatchedValue,
  missing: optional.choice(
    ['fails', 'passes'],
    'fails (default): the match fails if the target or the source has no value; passes: it holds then',
  ),
  table: optional.text({ ...named, description: 'only with equals: a table whose pairs also match (§12.9)' }),
};
const Match = closedAs('Match', match);
/** A match, read from the target: the value of the target, the operator, the value of the source. */
export type Match = Sent<Static<typeof Match>>;
/**
 * `any`: one of the matches must hold. `together`: one row of the target must satisfy all matches with one
 * row of the source.
 */
export type MatchElement =
  | Match
  | { readonly any: readonly Match[] }
  | { readonly together: readonly Match[] };
const WireElement = Type.Unsafe<MatchElement>(
  closedAs('MatchElement', {
    ...Type.Partial(Type.Object(match)).properties,
    any: optional.list(Match, '2 to 8 matches; one of them must hold'),
    together: optional.list(
      Match,
      '2 to 6 matches; one row of the target must satisfy all of them with one row of the source',
    ),
  }),
);

/** Language and country, in the form that projects have. */
const LOCALE_PATTERN = '^[a-z]{2,3}-[A-Z]{2}$';

/** The locale of the sentences in the answer. */
export const Locale = Type.String({
  pattern: LOCALE_PATTERN,
  description: 'locale of the sentences (`say`, `advice`), such as en-GB; default: the locale of the project',
});

export const RelationParams = Type.Object({ id: Id, relationId: Id });

/** Filters are recursive, so `checkFilter` checks them instead of this schema. */
export const WireFilter = Type.Unsafe<Filter>({
  type: 'object',
  title: 'Filter',
  description:
    '{"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]}',
});

export const MatchElements = Type.Unsafe<MatchElement[]>(
  Type.Array(WireElement, {
    maxItems: 16,
    description:
      'each element is a match (value of the target, operator, value of the source), a list of alternatives, or matches of one row',
  }),
);

const total = { ...computed, missing: optional.choice(['fails', 'passes']) };
/** The attribute that a total adds up. With `passes`, a product without a value adds nothing. */
export type TotalValue = Sent<Static<TObject<typeof total>>>;
/**
 * Only comparisons that one of several sums can satisfy: several values of a product make several sums, and
 * one suffices.
 */
export const TOTAL_OPERATORS = ['less', 'lessOrEqual', 'greater', 'greaterOrEqual'] as const;
export type TotalOperator = (typeof TOTAL_OPERATORS)[number];

/** Source: docs/interface §12.1. */
const definition = {
  kind: optional.choice(
    ['rule', 'links', 'total'],
    'rule (default): attributes decide; links: a list decides (§12.8); total: a constraint on a sum (§12.10)',
  ),
  name: Name,
  tag: Name,
  description: optional.text({ maxLength: 4_096 }),
  twoWay: optional.flag('default false'),
  enabled: optional.flag('default true'),
  source: WireFilter,
  target: WireFilter,
  match: Type.Optional(MatchElements),
  sort: optional.list(closedObject({ attribute: AttributeName, direction: Type.Enum(['asc', 'desc']) }), {
    maxItems: 8,
  }),
  names: optional.list(closedObject({ locale: Type.String({ minLength: 2, maxLength: 35 }), name: Name }), {
    maxItems: 100,
  }),
  excludeSameGroup: optional.flag('default true'),
  constraint: optional.flag(
    'default false; true: products on the two sides must satisfy the relation to fit (§12.10)',
  ),
  total: optional.object(total, {
    additionalProperties: false,
    description: 'only of a total: the numeric attribute whose sum over the target side is compared',
  }),
  operator: optional.choice([...TOTAL_OPERATORS]),
  limit: optional.object(computed, {
    additionalProperties: false,
    description: 'only of a total: the attribute of the source side that the sum is compared with',
  }),
};

type Written = Sent<Static<TObject<typeof definition>>>;
type Defaulted = 'twoWay' | 'enabled' | 'match' | 'sort' | 'names' | 'excludeSameGroup';
/**
 * A stored relation with its defaults. A relation of `links` has its pairs in a list, so its filters include
 * every product and it has no matches or sorting. A `total` relates no products.
 */
export type RelationDefinition = Written & Required<Pick<Written, Defaulted>>;

const answered = {
  id: optional.integer(),
  state: optional.text(),
  misconfigured: optional.flag(),
  problem: optional.text(),
  createdAt: optional.integer(),
  updatedAt: optional.integer(),
};

/** Accepts what GET returns. Members that the service adds are ignored. */
export const SentRelation = closedAs('RelationDefinition', {
  ...definition,
  ...answered,
  source: Type.Optional({ ...WireFilter, description: 'required in a rule' }),
  target: Type.Optional({ ...WireFilter, description: 'required in a rule' }),
});
export type SentRelation = Static<typeof SentRelation>;

export const WireRelation = titled('Relation', {
  ...definition,
  id: Type.Integer(),
  state: Type.Enum(['building', 'ready', 'misconfigured']),
  misconfigured: Type.Boolean(),
  problem: optional.text('why the relation cannot work'),
  createdAt: Type.Integer({ description: 'epoch milliseconds' }),
  updatedAt: Type.Integer({ description: 'epoch milliseconds' }),
});

export const RelationPage = Type.Object({
  items: Type.Array(WireRelation),
  nextCursor: orNull(Type.String()),
});
export const RelationListQuery = Type.Object({
  ...PageQuery.properties,
  tag: optional.text({ maxLength: 255, description: 'only relations with this tag' }),
  state: optional.text({ maxLength: 32, description: 'only relations in this state' }),
});
export const RelationDocument = closedObject({
  relations: Type.Array(SentRelation, { maxItems: 1_000 }),
  tables: optional.list(SentTable, { maxItems: 100, description: 'the tables that the relations name' }),
});

/** Source: docs/interface §12.6. */
export const PairToExplain = closedObject({
  source: Type.String(named),
  target: Type.String(named),
  locale: Type.Optional(Locale),
});

const Explained = Type.Object({
  holds: Type.Boolean(),
  filter: Type.Optional(
    Type.Unknown({
      description:
        'where groups are nested, as written: {holds, all | any: […]}, {holds, not: …} or {condition, holds, values}',
    }),
  ),
  conditions: Type.Array(
    Type.Object({ condition: WireFilter, holds: Type.Boolean(), values: Type.Array(Type.String()) }),
  ),
});
export const Term = Type.Object(
  { times: optional.number(), plus: Type.Optional(Type.Union([Type.Number(), Type.String()])) },
  { title: 'Computation', description: 'the computation on the values, as defined' },
);
const explainedMatch = {
  target: Type.String(),
  operator: Type.String(),
  source: Type.String(),
  targetTerm: Type.Optional(Term),
  sourceTerm: Type.Optional(Term),
  missing: optional.text(),
  table: optional.text(),
  targetValues: Type.Array(Type.String()),
  sourceValues: Type.Array(Type.String()),
  say: Type.String({
    description: 'the comparison as a sentence in the locale, such as 1600 W ≥ 8 × 120 W + 100 W',
  }),
  advice: optional.text('of a match that fails: the value that the target would need'),
  sourceAdvice: optional.text(
    'of a match that fails: the value that the source would need; changing one of the two suffices',
  ),
};
const holds = Type.Boolean();
const ExplainedMatch = Type.Object({ ...explainedMatch, holds }, { title: 'ExplainedMatch' });
export type ExplainedMatch = Sent<Static<typeof ExplainedMatch>>;
const InnerMatches = optional.list(ExplainedMatch);
/**
 * An element of `match` with the values that decided it: a match, or `{holds, any | together: [matches]}`.
 */
export const ExplainedElement = Type.Object({
  ...Type.Partial(Type.Object(explainedMatch)).properties,
  holds,
  any: InnerMatches,
  together: InnerMatches,
});
export type ExplainedElement = Sent<Static<typeof ExplainedElement>>;
const explainedPair = {
  source: Explained,
  target: Explained,
  match: Type.Array(ExplainedElement, { description: 'an entry for each element of the definition' }),
  assumed: optional.list(Type.String(), 'attributes without a value; the pair is assumed to match by them'),
  listed: Type.Optional(
    orNull(
      Type.Object({ by: Type.String(), position: Type.Integer(), quantity: optional.integer() }),
      'only in a relation of links: the product that lists the other one, the position in its list from 1, and the quantity',
    ),
  ),
};
/** The reason why two products are related, or are not. Source: docs/interface §12.6. */
export const RelatedReason = Type.Object(explainedPair, { title: 'RelatedReason' });
export type RelatedReason = Sent<Static<typeof RelatedReason>>;
export const Explanation = titled('RelationExplanation', {
  related: Type.Boolean(),
  matchType: Type.Enum(['FIRST_WAY', 'SECOND_WAY']),
  rank: orNull(Type.Integer(), 'from 1, among the first 1,000 groups'),
  excluded: orNull(Type.String(), 'same product or same group'),
  ...explainedPair,
});
export type Explanation = Sent<Static<typeof Explanation>>;

/** A short form of a product for results with reasons. Source: docs/interface §12.7 rule 3. */
const brief = {
  identifier: Type.String(),
  groupId: Type.String(),
  name: Type.String(),
  image: Type.String(),
  thumbnail: Type.String({ description: 'the first THUMB or SMALL image, otherwise the same as `image`' }),
  category: Type.Array(Type.String()),
};
export const RelatedProduct = Type.Object({ ...brief, explain: RelatedReason });
const CardProduct = Type.Object({ ...brief, explain: RelatedReason, variants: Type.Integer() });

/** Source: docs/interface §12.6 rule 7. */
const SurveyCard = titled('SurveyCard', {
  source: Type.Object(brief),
  results: Type.Array(CardProduct),
  nearest: Type.Optional(CardProduct),
});

export const PreviewQuery = Type.Object({
  cards: optional.flag('adds `resultCounts`, and `cards` of products with their results and reasons'),
  locale: Type.Optional(Locale),
});

const products = Type.Object({ products: Type.Integer() });
const counted = { count: Type.Integer(), identifiers: Type.Array(Type.String()) };
/** The health of a relation on a catalog. Source: docs/interface §12.6. */
const RelationSurvey = Type.Object({
  source: products,
  target: products,
  sampled: Type.Boolean({ description: 'true: only some of the sources were searched' }),
  sampledSources: Type.Integer(),
  endedEarly: Type.Optional(
    Type.Literal(true, { description: 'the time ended before the whole sample was searched' }),
  ),
  cut: optional.object(
    counted,
    'products that have more combinations of values than the limit (§12.2 rule 11)',
  ),
  withResults: Type.Integer(),
  share: Type.Number({ description: 'the share of the searched sources that have results, from 0 to 1' }),
  withoutResults: Type.Object(counted),
  mostReturned: Type.Array(Type.Object({ identifier: Type.String(), count: Type.Integer() })),
  examples: Type.Array(
    Type.Object({ source: Type.String(), results: Type.Array(Type.Array(Type.String())) }),
  ),
  links: optional.object(
    { sources: Type.Integer(), pairs: Type.Integer() },
    'only of a relation of links: its size, including pairs of products that do not exist',
  ),
  resultCounts: optional.list(
    Type.Integer(),
    'the number of sources with 0, 1, … 9, and 10 or more groups of results',
  ),
  cards: optional.list(SurveyCard),
});
export type RelationSurvey = Sent<Static<typeof RelationSurvey>>;
export type CardProduct = Sent<Static<typeof CardProduct>>;
export type SurveyCard = Sent<Static<typeof SurveyCard>>;

export const Survey = titled('RelationSurvey', {
  misconfigured: Type.Boolean(),
  problem: optional.text(),
  ...Type.Partial(RelationSurvey).properties,
});

/** @param survey the health of a relation, or the reason why it cannot work */
export const toWireSurvey = <Found extends object>(survey: Found) => ({
  misconfigured: 'problem' in survey,
  ...survey,
});

/** The relevance of the best product in an answer. */
export const HIGHEST_RELEVANCE = 1_000_000;

/** A product in answers for one product, without its reason. Source: docs/interface §2.5. */
export const SingleProduct = Type.Object({
  identifier: Type.String(),
  groupId: Type.String(),
  sxId: Type.Integer(),
  name: Type.String(),
  brand: Type.String(),
  category: Type.String(),
  image: Type.String(),
  link: Type.String(),
  relevance: Type.Integer({
    description: '1,000,000 for the best product, and one less for each following product',
  }),
});
