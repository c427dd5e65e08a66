import { type Routes, serve, whileCallerWaits } from '../../http/http.ts';
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

const endpoint = {
  method: 'GET',
  path: '/management/projects/:id/products/:identifier/relations',
  config: { guard: 'management', access: 'manage' },
  tags: ['Products'],
  summary: 'What a product leads to and what leads to it, relation by relation, with the reason',
  ...{ params: ProductRelationParams, query: ProductRelationsQuery, answer: { 200: ProductRelations } },
} as const;

/** Source: docs/interface.md §12.7. */
export const productRelationRoutes =
  ({ relations }: ProductRelationRouteParts): Routes =>
  (server) =>
    serve(server, endpoint, async ({ project, params: { identifier }, query }, reply) => {
      const wanted = { projectId: project.id, identifier, limit: query.limit ?? DEFAULT_LIMIT };
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
      }));
    });
