import { type Static, Type } from 'typebox';
import { ServiceError } from '../../kernel/errors.ts';
import { optional } from '../../kernel/optional.ts';
import { ErrorAnswer, orNull, titled } from '../answers/answers.ts';
import { type Server, serve } from './endpoint.ts';

const HealthAnswer = titled('Health', { status: Type.Literal('ok') });
const ReadyAnswer = titled('Readiness', {
  status: Type.Literal('ok'),
  problems: optional.list(
    Type.String(),
    'problems that an operator has to fix; requests are served nevertheless',
  ),
  backup: optional.object(
    {
      behindSeconds: Type.Number({ description: 'how far the target is behind; 0 if it has everything' }),
      lastInstant: orNull(
        Type.String({ format: 'date-time' }),
        'the instant of the last change that was sent, or that a standby has; null if there is none since the start',
      ),
    },
    'the state of the continuous backup, if there is one',
  ),
});

/** Source: docs/interface §10.3. */
export function addHealthRoutes(
  server: Server,
  service: {
    isReady(): Promise<boolean>;
    listProblems(): Promise<readonly string[]>;
    describeBackup(): Static<typeof ReadyAnswer>['backup'];
  },
): void {
  serve(server, 'GET /health/live', {
    config: { guard: 'none' },
    answer: { 200: HealthAnswer },
    summary: 'Whether the process runs',
    description: 'Answers 200 as long as the process can answer at all. Restart it when this fails.',
    failures: {},
    async handle(_, reply) {
      reply.header('cache-control', 'no-store');
      return { status: 'ok' as const };
    },
  });

  serve(server, 'GET /health/ready', {
    config: { guard: 'none' },
    answer: { 200: ReadyAnswer },
    summary: 'Whether requests are served',
    description:
      'Answers 503 while the service starts or stops, cannot reach its database, or is older than its database, which a newer version has migrated (schema_moved). Send it no requests then, but do not restart it. `problems` names a full disk, damaged catalogs, and a backup whose target cannot be reached.',
    failures: {
      503: {
        ...ErrorAnswer,
        description: 'starting, stopping, without its database, or older than its database',
      },
    },
    async handle(_, reply) {
      reply.header('cache-control', 'no-store');
      // A start that migrates and resumes its tasks is usually ready within this time.
      if (!(await service.isReady())) throw new ServiceError('not_ready', { retryAfterSeconds: 5 });
      const problems = await service.listProblems();
      const backup = service.describeBackup();
      return {
        status: 'ok' as const,
        ...(problems.length > 0 && { problems: [...problems] }),
        ...(backup && { backup }),
      };
    },
  });
}

const RootAnswer = titled('Root', {
  name: Type.Literal('Relata'),
  version: Type.String(),
  console: Type.String(),
  docs: Type.String(),
  openapi: Type.String(),
  health: Type.String(),
});

const schema = {
  summary: 'Where everything is',
  description: 'Redirects a browser to the console, or to the documentation if the console is not built.',
  response: { 200: RootAnswer, 302: { type: 'null', description: 'for a browser' } },
};

/** Answers `/` for callers who know only the address of the service. Source: docs/interface §10.3. */
export function serveRoot(server: Server, { version, page }: { version: string; page: string }): void {
  const addresses = {
    name: 'Relata',
    version,
    console: '/console/',
    docs: '/docs/',
    openapi: '/openapi.json',
    health: '/health/ready',
  };
  server.get('/', { config: { guard: 'none' }, schema }, async (request, reply) => {
    reply.header('vary', 'Accept').header('cache-control', 'no-cache');
    if (request.headers.accept?.includes('text/html')) return reply.redirect(page, 302);
    return reply.send(addresses);
  });
}
