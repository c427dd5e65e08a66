import { Type } from 'typebox';
import { ProjectQuery } from '../../http/http.ts';
import { TableProduct } from '../products/products.ts';

/** Source: docs/interface.md §4.13. */
const question = {
  q: Type.Optional(
    Type.String({
      maxLength: 500,
      description: 'words in any order; the last one may be the beginning of a word',
    }),
  ),
  filter: Type.Optional(
    Type.String({
      maxLength: 32_768,
      description:
        'a filter of relations as JSON, or a line such as TDP > 100 and Brand = Corsair (=, !=, <, <=, >, >=, ~ contains)',
    }),
  ),
  category: Type.Optional(
    Type.String({
      maxLength: 32_768,
      description: 'the top of a category path as a JSON list, such as ["Tools","Drills"]',
    }),
  ),
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
  facets: Type.Array(FacetSchema, { maxItems: 20 }),
  facetsOf: Type.Integer({ description: 'how many of the first products the facets are of' }),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
});
