import { Type } from 'typebox';
import { Id, projectIdOf } from '../http/http.ts';

const instant = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));

/** Source: docs/interface.md §14.7. */
const span = {
  from: instant('epoch milliseconds; default a day before `to`'),
  to: instant('epoch milliseconds; default now'),
  step: Type.Optional(
    Type.Unsafe<60 | 3_600 | 86_400>({
      type: 'integer',
      enum: [60, 3_600, 86_400],
      description: 'seconds; default 60 up to 6 hours, else 3600',
    }),
  ),
};
export const StatisticsQuery = Type.Object({
  ...span,
  projectId: projectIdOf('the catalog of this project alone'),
});
export const KeyStatisticsQuery = Type.Object(span);
export const KeyStatisticsParams = Type.Object({ id: Id });

const answeredSpan = {
  from: Type.Integer({ description: 'epoch milliseconds, a whole step' }),
  to: Type.Integer({ description: 'epoch milliseconds, a whole step' }),
  step: Type.Integer({ description: 'seconds' }),
};
const at = Type.Integer({ description: 'when the step begins, epoch milliseconds' });
const Requests = Type.Array(
  Type.Object(
    {
      at,
      requests: Type.Integer(),
      refused: Type.Integer({ description: 'answered 4xx, but for 429' }),
      limited: Type.Integer({ description: 'answered 429' }),
      failed: Type.Integer({ description: 'answered 5xx' }),
      slow: Type.Integer({ description: 'took a second or more' }),
      meanMs: Type.Number(),
    },
    { title: 'RequestPoint' },
  ),
  { description: 'a point for each step with requests' },
);
const Catalogs = Type.Array(
  Type.Object(
    {
      at,
      products: Type.Integer({ description: 'in all catalogs together, at the end of the step' }),
      created: Type.Integer(),
      changed: Type.Integer(),
      deleted: Type.Integer(),
      tasks: Type.Integer({ description: 'that ended' }),
      failedTasks: Type.Integer(),
    },
    { title: 'CatalogPoint' },
  ),
  { description: 'one for the beginning, and one for each step in which something happened' },
);
const Noted = Type.Array(
  Type.Object(
    {
      at: Type.Integer({ description: 'epoch milliseconds' }),
      requestId: Type.String(),
      projectId: Type.Union([Type.Integer(), Type.Null()]),
      apiKeyId: Type.Union([Type.Integer(), Type.Null()]),
      method: Type.String(),
      route: Type.String({ description: 'the pattern of the path' }),
      status: Type.Integer(),
      ms: Type.Integer(),
    },
    { title: 'NotedRequest' },
  ),
  { maxItems: 100, description: 'requests that failed or were slow, newest first' },
);

export const StatisticsAnswer = Type.Object(
  { ...answeredSpan, requests: Requests, catalogs: Catalogs, noted: Noted },
  { title: 'Statistics' },
);
export const KeyStatistics = Type.Object({ ...answeredSpan, requests: Requests }, { title: 'KeyStatistics' });
