import { ProjectParams, type Routes, serve } from '../http/http.ts';
import type { Storage } from '../storage/storage.ts';
import { KeptRequestList, KeptRequestQuery } from './kept-request-schemas.ts';
import type { Statistics } from './statistics.ts';

export interface KeptRequestRouteParts {
  readonly statistics: Pick<Statistics, 'listKept'>;
  readonly storage: Pick<Storage, 'place'>;
}

/** Source: docs/interface.md §14.9. */
export const keptRequestRoutes =
  ({ statistics, storage }: KeptRequestRouteParts): Routes =>
  (server) => {
    // Bodies are what others sent: whoever only looks at the project does not see them.
    const config = { guard: 'management', access: 'manage', role: 'editor' } as const;
    const kept = {
      method: 'GET',
      path: '/management/projects/:id/requests',
      ...{ config, tags: ['Management'] },
      summary: 'The last requests of a project that failed or were slow, with the beginning of their bodies',
      ...{ params: ProjectParams, query: KeptRequestQuery, answer: { 200: KeptRequestList } },
    } as const;
    serve(server, kept, async ({ project, query }) => ({
      ...statistics.listKept(project.id, query.kind),
      isWhole: storage.place.kind === 'embedded',
    }));
  };
