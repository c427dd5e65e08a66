import { readCategory } from '../catalog/browse/browse.ts';
import { CategoryListQuery, CategoryPage } from '../catalog/products/schemas/schemas.ts';
import { ProjectParams } from '../http/answers/answers.ts';
import { whileCallerWaits } from '../http/guards/guards.ts';
import { type Routes, serve } from '../http/server/server.ts';
import type { ProductSearch } from './product-search.ts';

/** Source: docs/interface §14.3. */
export const categoryRoutes =
  ({ search }: { readonly search: ProductSearch }): Routes =>
  (server) => {
    serve(server, 'GET /management/projects/:id/categories', {
      config: { guard: 'management', access: 'manage' },
      tags: ['Products'],
      summary: 'List the categories of a project that have products',
      params: ProjectParams,
      query: CategoryListQuery,
      answer: { 200: CategoryPage },
      handle({ project, query }, reply) {
        const { limit = 100, cursor, under } = query;
        const question = { under: under ? readCategory('under', under) : undefined, cursor, limit };
        return whileCallerWaits(reply, (signal) => search.listCategories(project.id, question, signal));
      },
    });
  };
