import type { FastifyReply } from 'fastify';
import { type Static, Type } from 'typebox';
import { readCategory } from '../catalog/browse/browse.ts';
import { FoundBy } from '../catalog/products/schemas/schemas.ts';
import { ProjectParams, ProjectQuery } from '../http/answers/answers.ts';
import { whileCallerWaits } from '../http/guards/guards.ts';
import { type Routes, sendJson, serveRaw } from '../http/server/server.ts';
import type { ChosenProject } from '../kernel/caller.ts';
import { optional } from '../kernel/optional.ts';
import type { ProductSearch } from './product-search.ts';
import { SearchedProducts } from './search-schemas.ts';

/** Source: docs/interface §4.13. */
const question = {
  ...FoundBy,
  sort: optional.text({
    maxLength: 260,
    description: 'an attribute, such as Price or Price:desc; default: relevance',
  }),
  limit: optional.integer({ minimum: 1, maximum: 100, default: 20 }),
  cursor: optional.text({ maxLength: 100 }),
};
const SearchQuery = Type.Object({ ...ProjectQuery.properties, ...question });
const ProjectSearchQuery = Type.Object(question);

const about = {
  tags: ['Products'],
  summary: 'Search for products by words and filters, with total and facets',
  why: 'a thread makes the answer, which may be long',
  answer: { 200: SearchedProducts },
};

/** Source: docs/interface §4.13. */
export const searchRoutes =
  ({ search }: { readonly search: ProductSearch }): Routes =>
  (server) => {
    const find = (project: ChosenProject, query: Static<typeof ProjectSearchQuery>, reply: FastifyReply) => {
      const { q, filter, sort, cursor, category, limit = 20 } = query;
      const path = category ? readCategory('category', category) : undefined;
      return whileCallerWaits(reply, async (signal) => {
        const question = { q, filter, sort, cursor, limit, category: path };
        return sendJson(reply, await search.find(project.id, question, signal));
      });
    };
    serveRaw(server, 'GET /search/products', {
      ...about,
      config: { guard: 'project', access: 'read' },
      query: SearchQuery,
      handle: ({ project, query }, reply) => find(project, query, reply),
    });
    serveRaw(server, 'GET /management/projects/:id/products/search', {
      ...about,
      config: { guard: 'management', access: 'manage' },
      params: ProjectParams,
      query: ProjectSearchQuery,
      handle: ({ project, query }, reply) => find(project, query, reply),
    });
  };
