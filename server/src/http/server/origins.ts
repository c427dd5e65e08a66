import cors from '@fastify/cors';
import type { FastifyRequest, RouteOptions } from 'fastify';
import type { Server } from '../http.ts';

/** The paths that browsers of other origins may call. Source: docs/interface.md §5.4. */
const CORS_PATHS = ['/projects', '/product-service/', '/search/relations/', '/project/check-credentials'];

/** What scripts of other origins may read beside the body. */
const EXPOSED_HEADERS = ['Retry-After', 'RateLimit', 'RateLimit-Policy', 'ETag', 'X-Request-Id'].concat(
  ...['Deprecation', 'Idempotency-Replayed', 'Location', 'WWW-Authenticate'],
);

/** Lets scripts of other origins read what anybody may; every other answer stays what it is without them. */
export function allowOrigins(server: Server, origins: readonly string[]): void {
  const allowed = {
    origin: [...origins],
    credentials: false,
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED_HEADERS,
  };
  // The package's own route for OPTIONS of any path: what is no preflight is a method that the path does not have.
  server.addHook('onRoute', (route: RouteOptions) => {
    if (route.url === '*' && route.method === 'OPTIONS') route.config = { ...route.config, guard: 'none' };
  });
  void server.register(cors, {
    delegator: (request: FastifyRequest, done: (error: Error | null, options: object) => void) =>
      done(null, isOpen(request) ? allowed : { origin: false }),
  });
}

/** A preflight says which method it asks for. Source: Fetch, "CORS-preflight request". */
function isOpen({ url, method, headers }: FastifyRequest): boolean {
  const isAsked = headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
  if (method === 'OPTIONS' && !isAsked) return false;
  const path = url.split('?', 1)[0] ?? '';
  return CORS_PATHS.some((open) => (open.endsWith('/') ? path.startsWith(open) : path === open));
}
