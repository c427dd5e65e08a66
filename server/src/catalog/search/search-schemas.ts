import { Type } from 'typebox';
import { ProjectQuery } from '../../http/http.ts';
import { FoundBy, TableProduct } from '../products/products.ts';

/** Source: docs/interface.md §4.13. */
const question = {
  ...FoundBy,
  sort: Type.Optional(
    Type.String({
      maxLength: 260,
      description: 'an attribute, such as Price or Price:desc; default: relevance',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: Type.Optional(Type.String({ maxLength: 100 })),
};
export const SearchQuery = Type.Object({ ...ProjectQuery.properties, ...question });
export const ProjectSearchQuery = Type.Object(question);

const FacetSchema = Type.Object(
  {
    attribute: Type.String(),
    type: Type.String(),
    unitName: Type.Optional(Type.String()),
    count: Type.Integer({ description: 'of products with a value' }),
    values: Type.Array(Type.Object({ value: Type.String(), count: Type.Integer() }), { maxItems: 10 }),
    min: Type.Optional(Type.Number({ description: 'of a numeric attribute, in its unit' })),
    max: Type.Optional(Type.Number()),
  },
  { title: 'Facet' },
);

export const SearchedProducts = Type.Object({
  items: Type.Array(
    Type.Object({ ...TableProduct.properties, link: Type.String() }, { title: 'FoundProduct' }),
  ),
  total: Type.Integer(),
  isTotalExact: Type.Boolean({ description: 'false: there are so many that the total is an estimate' }),
  isComplete: Type.Boolean({
    description: 'false: the index is catching up with a large change, whose products may be missing',
  }),
  facets: Type.Array(FacetSchema, { maxItems: 20 }),
  facetsOf: Type.Integer({ description: 'how many of the first products the facets are of' }),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
});
