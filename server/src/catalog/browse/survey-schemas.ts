import { Type } from 'typebox';
import { AttributeSchema, CategoryPath } from '../products/products.ts';

/** Source: docs/interface.md §11.6. */
export const SurveyQuery = Type.Object({
  sample: Type.Optional(
    Type.Unsafe<'even' | 'all'>({
      type: 'string',
      enum: ['even', 'all'],
      description: 'even (the default): 50,000 products of a larger catalog; all: every product',
    }),
  ),
});

export const CoverageQuery = Type.Object({
  ...SurveyQuery.properties,
  category: Type.Optional(CategoryPath),
});

export const ChangedAttribute = Type.Object(
  {
    attribute: AttributeSchema,
    deleted: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1 }), {
        maxItems: 100,
        description: 'ids of other attributes that are deleted with the change, so that their keys are free',
      }),
    ),
  },
  { additionalProperties: false, title: 'ChangedAttribute' },
);

const looked = {
  products: Type.Integer({ description: 'in the catalog' }),
  sampled: Type.Boolean({ description: 'true: only some of them were looked at, and counts are of those' }),
  sampledProducts: Type.Integer({ description: 'those that were looked at' }),
};
const Examples = Type.Array(Type.Object({ identifier: Type.String(), value: Type.String() }), {
  maxItems: 20,
});
const Problems = Type.Array(
  Type.Object({
    code: Type.String(),
    message: Type.String(),
    count: Type.Integer({ description: 'of values' }),
    examples: Examples,
  }),
);
const AttributeCoverage = Type.Object(
  {
    id: Type.Union([Type.Integer(), Type.Null()]),
    name: Type.String(),
    type: Type.Union([Type.String(), Type.Null()]),
    unitName: Type.Optional(Type.String()),
    withValue: Type.Integer({ description: 'products with a value' }),
    withFact: Type.Integer({ description: 'products with a fact' }),
    values: Type.Array(Type.Object({ value: Type.String(), count: Type.Integer() }), { maxItems: 100 }),
    distinctValues: Type.Integer({ description: 'at most 5,000 are told apart' }),
    hasMoreValues: Type.Boolean(),
    problems: Problems,
  },
  { title: 'AttributeCoverage' },
);
export const Coverage = Type.Object(
  {
    ...looked,
    attributes: Type.Array(AttributeCoverage, { description: 'of the ontology' }),
    unknown: Type.Array(AttributeCoverage, {
      description: 'keys that the ontology does not know, the most frequent first',
    }),
  },
  { title: 'Coverage' },
);

const Counted = Type.Object({ count: Type.Integer({ description: 'of values' }), examples: Examples });
export const Effect = Type.Object(
  {
    ...looked,
    withValue: Type.Integer({ description: 'products with a value under the attribute, before or after' }),
    kept: Type.Integer({ description: 'values that make a fact before and after' }),
    gained: Counted,
    lost: Counted,
    problems: Problems,
  },
  { title: 'AttributeEffect' },
);
