import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import { ProjectParams, type Routes, serve, whileCallerWaits } from '../../http/http.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { readCategory } from '../browse/browse.ts';
import type { Catalog } from '../catalog.ts';
import { ProjectSearchQuery, SearchedProducts, SearchQuery } from './search-schemas.ts';

const about = {
  method: 'GET',
  summary: 'Search for products by words and filters, with total and facets',
  answer: { 200: SearchedProducts },
} as const;
const DEFAULT_LIMIT = 20;

/** Source: docs/interface.md §4.13. */
export const searchRoutes =
  ({ catalog }: { readonly catalog: Catalog }): Routes =>
  (server) => {
    const find = (project: ChosenProject, query: Static<typeof ProjectSearchQuery>, reply: FastifyReply) => {
      const { q, filter, sort, cursor, category, limit = DEFAULT_LIMIT } = query;
      const path = category ? readCategory('category', category) : undefined;
      return whileCallerWaits(reply, (signal) =>
        catalog.search.find(project.id, { q, filter, sort, cursor, limit, category: path }, signal),
      );
    };
    const forShops = { ...about, path: '/search/products', query: SearchQuery } as const;
    serve(
      server,
      { ...forShops, config: { guard: 'project', access: 'read' }, tags: ['Products'] },
      ({ project, query }, reply) => find(project, query, reply),
    );
    const forPeople = { ...about, path: '/management/projects/:id/products/search' } as const;
    const below = { params: ProjectParams, query: ProjectSearchQuery };
    serve(
      server,
      { ...forPeople, ...below, config: { guard: 'management', access: 'manage' }, tags: ['Products'] },
      ({ project, query }, reply) => find(project, query, reply),
    );
  };
