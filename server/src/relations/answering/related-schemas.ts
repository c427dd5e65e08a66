import { Type } from 'typebox';
import { IdentifierQuery, IdentifiersQuery } from '../../catalog/products/schemas/schemas.ts';
import { orNull, ProjectQuery, titled } from '../../http/answers/answers.ts';
import { optional } from '../../kernel/optional.ts';
import {
  Locale,
  RelatedProduct,
  RelatedReason,
  SingleProduct,
} from '../relation-definitions/relation-definitions.ts';
import { DEFAULT_LIMIT, LARGEST_LIMIT, SOURCES_PER_REQUEST } from './answer-plans.ts';

/** Source: docs/interface §4.8. */
export const limit = (description: string) =>
  optional.integer({
    minimum: 1,
    maximum: LARGEST_LIMIT,
    description: `${description}, default ${DEFAULT_LIMIT}`,
  });

/** An unknown id is ignored, and an id that JSON cannot hold exactly is refused. */
const RelationId = Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });
export const IncludeRelations = Type.Array(
  Type.Object({ id: RelationId, limit: limit('the most groups to return') }),
  {
    maxItems: 1_000,
  },
);
export const IncludeTags = Type.Array(
  Type.Object({ tag: Type.String(), limitPerRelation: limit('the most groups to return for each relation') }),
  { maxItems: 1_000 },
);

const included = {
  includeRelations: optional.text('JSON list of {"id": relation id, "limit": 1 to 100, default 10}'),
  includeTags: optional.text('JSON list of {"tag", "limitPerRelation": 1 to 100, default 10}'),
  explain: optional.flag('adds to each product the conditions that held, with their values'),
  assumed: optional.flag(
    'adds to each product the attributes without a value that it was assumed to match by',
  ),
  locale: Type.Optional(Locale),
};

export const BulkQuery = Type.Object({ ...IdentifiersQuery.properties, ...included });
export const SingleQuery = Type.Object({ ...IdentifierQuery.properties, ...included });

const sent = {
  ...ProjectQuery.properties,
  includeRelations: Type.Optional(orNull(IncludeRelations)),
  includeTags: Type.Optional(orNull(IncludeTags)),
  explain: Type.Optional(orNull(Type.Boolean())),
  assumed: Type.Optional(orNull(Type.Boolean())),
  locale: Type.Optional(orNull(Locale)),
};
const documented = { maxItems: SOURCES_PER_REQUEST };
export const BulkBody = Type.Object({ identifiers: optional.list(Type.String(), { documented }), ...sent });
const Identifier = Type.String({ minLength: 1, maxLength: 255 });
export const SingleBody = Type.Object({ identifier: Type.Optional(Identifier), ...sent });
/** The query of a POST, whose body may have the identifier. */
export const SingleSentQuery = Type.Object({
  ...SingleQuery.properties,
  identifier: Type.Optional(Identifier),
});

const relationHead = {
  name: Type.String(),
  id: Type.Integer(),
  matchType: Type.Enum(['FIRST_WAY', 'SECOND_WAY']),
};
const DataPoint = titled('DataPoint', {
  id: Type.Integer({ description: 'an integer of up to 53 bits' }),
  conceptIdName: Type.String(),
  key: Type.String(),
  type: Type.Literal('PASS_ON'),
  value: Type.String(),
  isCategory: Type.Boolean(),
  parsedValue: optional.number(),
  unit: optional.text(),
});
const explained = {
  assumed: optional.list(
    Type.String(),
    'attributes without a value that the product was assumed to match by (§12.3)',
  ),
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
export const SingleAnswer = tagsOf(
  Type.Object({ ...relationHead, searchResult: Type.Array(SingleItem) }),
  'RelatedProducts',
);
export const BulkAnswer = Type.Record(
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
    stands: Type.Boolean({ description: 'whether the product is on this side of the relation' }),
    results: Type.Array(RelatedProduct),
  }),
);
export const ProductRelations = titled('ProductRelations', {
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
