import { type Static, Type } from 'typebox';
import { TableProduct } from '../catalog/products/schemas/schemas.ts';
import { orNull, titled } from '../http/answers/answers.ts';
import type { Sent } from '../http/server/server.ts';
import { optional } from '../kernel/optional.ts';

export const PartialMark = Type.Optional(
  Type.Literal(true, { description: 'there is no index yet, so only a part of the catalog was searched' }),
);

const FacetSchema = titled('Facet', {
  attribute: Type.String(),
  type: Type.String(),
  unitName: optional.text(),
  count: Type.Integer({ description: 'products with a value' }),
  values: Type.Array(Type.Object({ value: Type.String(), count: Type.Integer() }), { maxItems: 10 }),
  min: optional.number('of a numeric attribute, in its unit'),
  max: optional.number(),
});

export const SearchedProducts = Type.Object({
  items: Type.Array(
    Type.Object({ ...TableProduct.properties, link: Type.String() }, { title: 'FoundProduct' }),
  ),
  total: Type.Integer(),
  isTotalExact: Type.Boolean({
    description: 'false: there are so many products that the total is an estimate',
  }),
  isComplete: Type.Boolean({
    description: 'false: the index is catching up with a large change, whose products may be missing',
  }),
  facets: Type.Array(FacetSchema, { maxItems: 20 }),
  facetsOf: Type.Integer({ description: 'how many of the first products are counted in the facets' }),
  partial: PartialMark,
  nextCursor: orNull(Type.String()),
});

/** The values that the hits of a search share, which can narrow the search. Source: docs/interface §4.13. */
export type Facet = Sent<Static<typeof FacetSchema>>;
export type SearchAnswer = Sent<Static<typeof SearchedProducts>>;
