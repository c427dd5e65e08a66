import { Type } from 'typebox';
import type { Server } from '../http.ts';

const RootAnswer = Type.Object(
  {
    name: Type.Literal('Relata'),
    version: Type.String(),
    console: Type.String(),
    docs: Type.String(),
    openapi: Type.String(),
    health: Type.String(),
  },
  { title: 'Root' },
);

const schema = {
  summary: 'Where everything is',
  description: 'A browser is sent to the console, or to the documentation where the console is not built.',
  response: { 200: RootAnswer, 302: { type: 'null', description: 'for a browser' } },
};

/** Answers `/` for whoever knows only the address of the service. Source: docs/interface.md §10.3. */
export function serveRoot(server: Server, { version, page }: { version: string; page: string }): void {
  const addresses = {
    ...{ name: 'Relata', version, console: '/console/', docs: '/docs/', openapi: '/openapi.json' },
    health: '/health/ready',
  };
  server.get('/', { config: { guard: 'none' }, schema }, async (request, reply) => {
    reply.header('vary', 'Accept').header('cache-control', 'no-cache');
    if (request.headers.accept?.includes('text/html')) return reply.redirect(page, 302);
    return reply.send(addresses);
  });
}
