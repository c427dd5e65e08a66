import type { Access } from '../access/access.ts';
import { type Routes, serve } from '../http/http.ts';
import type { Caller } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Projects } from '../projects/projects.ts';
import { planSpan, type Span } from './series.ts';
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
const tags = ['Management'];

/** Source: docs/interface.md §14.7. */
export const statisticsRoutes =
  ({ statistics, projects, access, clock }: StatisticsRouteParts): Routes =>
  (server) => {
    const whole = {
      method: 'GET',
      path: '/management/statistics',
      ...{ config, tags },
      summary: 'Requests, catalog sizes and updates over time, and requests that failed or were slow',
      ...{ query: StatisticsQuery, answer: { 200: StatisticsAnswer } },
    } as const;
    serve(server, whole, async ({ caller, query }) => {
      const span = planSpan(query, clock.now());
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

    const ofKey = {
      method: 'GET',
      path: '/management/api-keys/:id/statistics',
      ...{ config, tags },
      summary: 'Requests of an API key over time, and those that were over its limit',
      ...{ params: KeyStatisticsParams, query: KeyStatisticsQuery, answer: { 200: KeyStatistics } },
    } as const;
    serve(server, ofKey, async ({ caller, params, query }) => {
      const { id } = await access.getKey(caller, params.id);
      const span = planSpan(query, clock.now());
      const requests = await statistics.listRequests(caller.accountId, [id], span);
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
