import { ErrorAnswer, type Routes, whileCallerWaits } from '../../http/http.ts';
import type { Relations } from '../relations.ts';
import {
  ProductRelationParams,
  ProductRelations,
  ProductRelationsQuery,
} from './product-relation-schemas.ts';
import { DEFAULT_LIMIT } from './related-request.ts';

export interface ProductRelationRouteParts {
  readonly relations: Relations;
}

const schema = {
  tags: ['Products'],
  summary: 'What a product leads to and what leads to it, relation by relation, with the reason',
  params: ProductRelationParams,
  querystring: ProductRelationsQuery,
  response: { 200: ProductRelations, '4xx': ErrorAnswer },
};

/** Source: docs/interface.md §12.7. */
export const productRelationRoutes =
  ({ relations }: ProductRelationRouteParts): Routes =>
  (server) => {
    server.get(
      '/management/projects/:id/products/:identifier/relations',
      { config: { guard: 'management', access: 'manage' }, schema },
      async (request, reply) => {
        const { project } = request;
        const { identifier } = request.params;
        const { limit = DEFAULT_LIMIT } = request.query;
        const wanted = { projectId: project.id, identifier, limit };
        return whileCallerWaits(reply, async (signal) => ({
          relations: (await relations.relateProduct(wanted, signal)).map(({ relation, related }) => ({
            id: relation.id,
            name: relation.definition.name,
            tag: relation.definition.tag,
            enabled: relation.definition.enabled,
            state: relation.state,
            asSource: related?.asSource ?? null,
            asTarget: related?.asTarget ?? null,
          })),
        })) as never;
      },
    );
  };
