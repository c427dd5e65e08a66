import { Type } from 'typebox';
import { ProjectQuery } from '../../http/http.ts';
import { RelatedReason } from '../definitions/definitions.ts';
import { DEFAULT_LIMIT, LARGEST_LIMIT } from './related-request.ts';

/** Source: docs/interface.md §4.8. */
export const limit = (description: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LARGEST_LIMIT,
      description: `${description}, default ${DEFAULT_LIMIT}`,
    }),
  );

export const IncludeRelations = Type.Array(
  Type.Object({ id: Type.Integer(), limit: limit('groups to answer') }),
  {
    maxItems: 1_000,
  },
);
export const IncludeTags = Type.Array(
  Type.Object({ tag: Type.String(), limitPerRelation: limit('groups to answer of each relation') }),
  { maxItems: 1_000 },
);

const included = {
  includeRelations: Type.Optional(
    Type.String({ description: 'JSON list of {"id": relation id, "limit": 1 to 100, default 10}' }),
  ),
  includeTags: Type.Optional(
    Type.String({ description: 'JSON list of {"tag", "limitPerRelation": 1 to 100, default 10}' }),
  ),
  explain: Type.Optional(
    Type.Boolean({ description: 'adds to each product which conditions held, by which values' }),
  ),
};

export const BulkQuery = Type.Object({
  ...ProjectQuery.properties,
  identifiers: Type.Optional(
    Type.Unsafe<string | string[]>({
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
      description: 'a JSON array of identifiers, or one identifier a parameter',
    }),
  ),
  ...included,
});
export const SingleQuery = Type.Object({
  ...ProjectQuery.properties,
  identifier: Type.String({ minLength: 1, maxLength: 255 }),
  ...included,
});

const sent = {
  ...ProjectQuery.properties,
  includeRelations: Type.Optional(Type.Union([IncludeRelations, Type.Null()])),
  includeTags: Type.Optional(Type.Union([IncludeTags, Type.Null()])),
  explain: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
};
export const BulkBody = Type.Object({ identifiers: Type.Optional(Type.Array(Type.String())), ...sent });
const Identifier = Type.String({ minLength: 1, maxLength: 255 });
export const SingleBody = Type.Object({ identifier: Type.Optional(Identifier), ...sent });
/** Of a POST, whose body may name it. */
export const SingleSentQuery = Type.Object({
  ...SingleQuery.properties,
  identifier: Type.Optional(Identifier),
});

const relationHead = {
  name: Type.String(),
  id: Type.Integer(),
  matchType: Type.Enum(['FIRST_WAY', 'SECOND_WAY']),
};
const WireImage = Type.Object({ url: Type.String(), type: Type.String() });
const DataPoint = Type.Object(
  {
    id: Type.Integer({ description: 'up to 53 bits' }),
    conceptIdName: Type.String(),
    key: Type.String(),
    type: Type.Literal('PASS_ON'),
    value: Type.String(),
    isCategory: Type.Boolean(),
    parsedValue: Type.Optional(Type.Number()),
    unit: Type.Optional(Type.String()),
  },
  { title: 'DataPoint' },
);
const explained = { explain: Type.Optional(RelatedReason) };
const relevance = Type.Integer({ description: '1,000,000 for the best, one less for each behind it' });

const SingleItem = Type.Object({
  ...{ identifier: Type.String(), groupId: Type.String(), sxId: Type.Integer(), name: Type.String() },
  ...{ brand: Type.String(), category: Type.String(), image: Type.String(), link: Type.String(), relevance },
  ...explained,
});
const BulkItem = Type.Object({
  ...{ identifier: Type.String(), groupId: Type.String(), sxId: Type.Integer() },
  dataPoints: Type.Array(DataPoint),
  ...{ image: Type.String(), name: Type.String(), images: Type.Array(WireImage), link: Type.String() },
  ...{ head: Type.Boolean(), relevance },
  ...explained,
});
const tagsOf = (relation: ReturnType<typeof Type.Object>, title: string) =>
  Type.Object(
    { tags: Type.Array(Type.Object({ tag: Type.String(), relations: Type.Array(relation) })) },
    { title },
  );

/** Source: docs/interface.md §2.5. */
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
