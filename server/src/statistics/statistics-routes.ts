import { Type } from 'typebox';
import type { Access } from '../access/access.ts';
import { Id, orNull, ProjectParams, projectIdOf, titled } from '../http/answers/answers.ts';
import { type Routes, serve } from '../http/server/server.ts';
import type { Caller } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import { optional } from '../kernel/optional.ts';
import { type Projects, WireActor } from '../projects/projects.ts';
import type { Storage } from '../storage/storage.ts';
import { planSpan, type Span, type Statistics } from './statistics.ts';

export interface StatisticsRouteParts {
  readonly statistics: Statistics;
  readonly projects: Pick<Projects, 'listProjects'>;
  readonly access: Pick<Access, 'getKey' | 'listKeys'>;
  readonly clock: Clock;
  readonly storage: Pick<Storage, 'place'>;
}

const config = { guard: 'management', access: 'manage' } as const;
const about = { config, tags: ['Management'] };

/** Source: docs/interface §14.7. */
export const statisticsRoutes =
  ({ statistics, projects, access, clock, storage }: StatisticsRouteParts): Routes =>
  (server) => {
    serve(server, 'GET /management/statistics', {
      ...about,
      summary: 'Read requests, catalog sizes and updates over time, and requests that failed or were slow',
      query: Type.Object({ ...span, projectId: projectIdOf('only the catalog of this project') }),
      answer: { 200: StatisticsAnswer },
      async handle({ caller, query }) {
        const span = planSpan(query, clock.now());
        const ids = (await projects.listProjects(caller, query.projectId)).map(({ id }) => id);
        const keys = await listKeys(access, caller);
        const noted = await statistics.listNoted(caller.accountId, keys, span);
        return {
          ...describeSpan(span),
          requests: await statistics.listRequests(caller.accountId, keys, span),
          catalogs: await statistics.listCatalogs(ids, span),
          noted: noted.map(({ accountId: _, apiKeyId, ...rest }) => ({
            apiKeyId: apiKeyId || null,
            ...rest,
          })),
        };
      },
    });

    serve(server, 'GET /management/api-keys/:id/statistics', {
      ...about,
      summary: 'Read the requests of an API key over time, and how many exceeded its rate limit',
      params: Type.Object({ id: Id }),
      query: Type.Object(span),
      answer: { 200: KeyStatistics },
      async handle({ caller, params, query }) {
        const { id } = await access.getKey(caller, params.id);
        const span = planSpan(query, clock.now());
        const requests = await statistics.listRequests(caller.accountId, [id], span);
        return { ...describeSpan(span), requests };
      },
    });

    // Source: docs/interface §14.9.
    serve(server, 'GET /management/projects/:id/requests', {
      // The role editor is needed, because the answer has the bodies of other callers' requests.
      ...about,
      config: { ...config, role: 'editor' },
      summary:
        'Read the last requests of a project that failed or were slow, with the beginning of their bodies',
      params: ProjectParams,
      query: Type.Object({ kind: Type.Optional(Kind) }),
      answer: { 200: RecentRequestList },
      handle: async ({ project, query }) => ({
        ...statistics.listRecent(project.id, query.kind),
        isWhole: storage.place.kind === 'embedded',
      }),
    });
  };

const describeSpan = ({ from, to, stepMs }: Span) => ({ from, to, step: stepMs / 1000 });

/** @returns the ids of the keys within reach; undefined for the whole account */
async function listKeys(access: Pick<Access, 'listKeys'>, caller: Caller): Promise<number[] | undefined> {
  if (caller.scope.type === 'account') return undefined;
  const { items } = await access.listKeys(caller, { limit: 1_000 });
  return items.map(({ id }) => id);
}

const instant = (description: string) => optional.integer({ minimum: 0, description });

/** Source: docs/interface §14.7. */
const span = {
  from: instant('epoch milliseconds; default a day before `to`'),
  to: instant('epoch milliseconds; default now'),
  step: Type.Optional(
    Type.Unsafe<60 | 3_600 | 86_400>({
      type: 'integer',
      enum: [60, 3_600, 86_400],
      description: 'seconds; default 60 for up to 6 hours, otherwise 3600',
    }),
  ),
};

const answeredSpan = {
  from: Type.Integer({ description: 'epoch milliseconds, at the boundary of a step' }),
  to: Type.Integer({ description: 'epoch milliseconds, at the boundary of a step' }),
  step: Type.Integer({ description: 'seconds' }),
};
const StepStart = Type.Integer({ description: 'when the step begins, epoch milliseconds' });
const Requests = Type.Array(
  titled('RequestPoint', {
    at: StepStart,
    requests: Type.Integer(),
    refused: Type.Integer({ description: 'answered 4xx, except 429' }),
    limited: Type.Integer({ description: 'answered 429' }),
    failed: Type.Integer({ description: 'answered 5xx' }),
    slow: Type.Integer({ description: 'took a second or more' }),
    meanMs: Type.Number(),
  }),
  { description: 'a point for each step with requests' },
);
const Catalogs = Type.Array(
  titled('CatalogPoint', {
    at: StepStart,
    products: Type.Integer({ description: 'in all catalogs together, at the end of the step' }),
    created: Type.Integer(),
    changed: Type.Integer(),
    deleted: Type.Integer(),
    tasks: Type.Integer({ description: 'tasks that ended' }),
    failedTasks: Type.Integer(),
  }),
  { description: 'a point for the beginning, and one for each step with changes' },
);
const Noted = Type.Array(
  titled('NotedRequest', {
    at: Type.Integer({ description: 'epoch milliseconds' }),
    requestId: Type.String(),
    projectId: orNull(Type.Integer()),
    apiKeyId: orNull(Type.Integer()),
    method: Type.String(),
    route: Type.String({ description: 'the pattern of the path' }),
    status: Type.Integer(),
    ms: Type.Integer(),
  }),
  { maxItems: 100, description: 'requests that failed or were slow, newest first' },
);

const StatisticsAnswer = titled('Statistics', {
  ...answeredSpan,
  requests: Requests,
  catalogs: Catalogs,
  noted: Noted,
});
const KeyStatistics = titled('KeyStatistics', { ...answeredSpan, requests: Requests });

const Kind = Type.Union([Type.Literal('failed'), Type.Literal('slow')]);
const TextOrNull = orNull(Type.String());

/** Source: docs/interface §14.9. */
const RecentRequestList = titled('KeptRequests', {
  items: Type.Array(
    Type.Object(
      {
        requestId: Type.String(),
        kind: Kind,
        at: Type.Integer({ description: 'when it was answered, epoch milliseconds' }),
        method: Type.String(),
        url: Type.String({ description: 'path and query; secrets are masked' }),
        status: Type.Integer(),
        reason: TextOrNull,
        message: TextOrNull,
        details: Type.Array(Type.String(), { maxItems: 5 }),
        ms: Type.Integer(),
        by: WireActor,
        body: orNull(
          Type.String(),
          'its first 1,024 characters with secrets masked; null if there was none, a file, or an unreadable body',
        ),
        bodyBytes: Type.Integer({ description: 'the size of the body as it was sent' }),
        isBodyWhole: Type.Boolean(),
      },
      { title: 'KeptRequest' },
    ),
    { maxItems: 100, description: 'newest first' },
  ),
  since: Type.Integer({ description: 'when this process began to keep requests, epoch milliseconds' }),
  isWhole: Type.Boolean({ description: 'false if other processes may have answered further requests' }),
});
