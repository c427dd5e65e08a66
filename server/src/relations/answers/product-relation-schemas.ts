import { Type } from 'typebox';
import { ProjectParams } from '../../http/http.ts';
import { RelatedProduct } from '../definitions/definitions.ts';
import { limit } from './related-schemas.ts';

/** Source: docs/interface.md §12.7. */
export const ProductRelationParams = Type.Object({ ...ProjectParams.properties, identifier: Type.String() });
export const ProductRelationsQuery = Type.Object({ limit: limit('groups to answer for each direction') });
const ProductSide = Type.Union([
  Type.Object({
    stands: Type.Boolean({ description: 'whether the product is on this side' }),
    results: Type.Array(RelatedProduct),
  }),
  Type.Null(),
]);
export const ProductRelations = Type.Object(
  {
    relations: Type.Array(
      Type.Object({
        ...{ id: Type.Integer(), name: Type.String(), tag: Type.String(), enabled: Type.Boolean() },
        state: Type.Enum(['building', 'ready', 'misconfigured']),
        asSource: ProductSide,
        asTarget: ProductSide,
      }),
    ),
  },
  { title: 'ProductRelations' },
);
