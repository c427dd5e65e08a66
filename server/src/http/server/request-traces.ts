import type { FastifyRequest } from 'fastify';
import { openRequestSpan, type RequestSpan } from '../../kernel/trace.ts';
import type { Server } from '../http.ts';

/** Makes every request a span, except those of health checks. Call it before the hooks that are to be within. */
export function traceRequests(server: Server): void {
  const spans = new WeakMap<FastifyRequest, RequestSpan>();
  server.addHook('onRequest', (request, _, done) => {
    const { url = 'unknown' } = request.routeOptions;
    if (url.startsWith('/health/')) return done();
    const span = openRequestSpan(request.method, url, request.headers);
    spans.set(request, span);
    span.serve(done);
  });
  server.addHook('onResponse', async (request, reply) => {
    const { project } = request as Partial<typeof request>;
    spans.get(request)?.end(reply.statusCode, { ...(project && { 'relata.project.id': project.id }) });
  });
}
