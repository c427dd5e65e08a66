import { Type } from 'typebox';
import { ServiceError } from '../../kernel/errors.ts';
import { ErrorAnswer } from '../answers/answers.ts';
import type { Server } from '../http.ts';

const HealthAnswer = Type.Object({ status: Type.Literal('ok') }, { title: 'Health' });

/** A start that migrates and picks up its tasks is mostly done within this. */
const READY_RETRY_SECONDS = 5;

const liveSchema = {
  summary: 'Whether the process runs',
  description: 'Answers 200 as long as the process can answer at all. Restart it when this fails.',
  response: { 200: HealthAnswer },
};

const readySchema = {
  summary: 'Whether requests are served',
  description:
    'Answers 503 while the service starts or stops, or cannot reach its database. Send it no requests then, but do not restart it.',
  response: {
    200: HealthAnswer,
    503: { ...ErrorAnswer, description: 'starting, stopping, or without its database' },
  },
};

/** Source: docs/interface.md §10.3. */
export function addHealthRoutes(server: Server, isReady: () => Promise<boolean>): void {
  const open = { guard: 'none' } as const;

  server.get('/health/live', { config: open, schema: liveSchema }, async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    return { status: 'ok' } as const;
  });

  server.get('/health/ready', { config: open, schema: readySchema }, async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    if (!(await isReady())) throw new ServiceError('not_ready', { retryAfterSeconds: READY_RETRY_SECONDS });
    return { status: 'ok' } as const;
  });
}
