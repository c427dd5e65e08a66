import type { Access } from '../access/access.ts';
import { ErrorAnswer, type Routes } from '../http/http.ts';
import type { Caller } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Projects } from '../projects/projects.ts';
import { type AskedSpan, planSpan, type Span } from './series.ts';
import type { Statistics } from './statistics.ts';
import {
  KeyStatistics,
  KeyStatisticsParams,
  KeyStatisticsQuery,
  StatisticsAnswer,
  StatisticsQuery,
} from './statistics-schemas.ts';

export interface StatisticsRouteParts {
  readonly statistics: Statistics;
  readonly projects: Pick<Projects, 'listProjects'>;
  readonly access: Pick<Access, 'getKey' | 'listKeys'>;
  readonly clock: Clock;
}

const config = { guard: 'management', access: 'manage' } as const;
const failures = { '4xx': ErrorAnswer };
const tags = ['Management'];

/** Source: docs/interface.md §14.7. */
export const statisticsRoutes =
  (parts: StatisticsRouteParts): Routes =>
  (server) => {
    const { statistics, projects, access, clock } = parts;
    const schema = {
      tags,
      summary: 'Requests, catalog sizes and updates over time, and requests that failed or were slow',
      querystring: StatisticsQuery,
      response: { 200: StatisticsAnswer, ...failures },
    };
    server.get('/management/statistics', { config, schema }, async (request) => {
      const { caller, query } = request;
      const span = planSpan(query as AskedSpan, clock.now());
      const reached = await projects.listProjects(caller, query.projectId);
      const keys = await listKeys(access, caller);
      const noted = await statistics.listNoted(caller.accountId, keys, span);
      return {
        ...describeSpan(span),
        requests: await statistics.listRequests(caller.accountId, keys, span),
        catalogs: await statistics.listCatalogs(
          reached.map(({ id }) => id),
          span,
        ),
        noted: noted.map(({ accountId: _, apiKeyId, ...rest }) => ({ apiKeyId: apiKeyId || null, ...rest })),
      };
    });

    const keySchema = {
      tags,
      summary: 'Requests of an API key over time, and those that were over its limit',
      params: KeyStatisticsParams,
      querystring: KeyStatisticsQuery,
      response: { 200: KeyStatistics, ...failures },
    };
    server.get('/management/api-keys/:id/statistics', { config, schema: keySchema }, async (request) => {
      const { id } = await access.getKey(request.caller, request.params.id);
      const span = planSpan(request.query as AskedSpan, clock.now());
      const requests = await statistics.listRequests(request.caller.accountId, [id], span);
      return { ...describeSpan(span), requests };
    });
  };

const describeSpan = ({ from, to, stepMs }: Span) => ({ from, to, step: stepMs / 1000 });

const MOST_KEYS = 1000;

/** @returns the keys that a lower scope sees; undefined: the whole account */
async function listKeys(access: Pick<Access, 'listKeys'>, caller: Caller): Promise<number[] | undefined> {
  if (caller.scope.type === 'account') return undefined;
  const { items } = await access.listKeys(caller, { limit: MOST_KEYS });
  return items.map(({ id }) => id);
}
