import type { onRequestHookHandler } from 'fastify';

/** Names of headers that may identify a caller. A guard checks later whether they do. */
const NAMED = ['authorization', 'cookie'] as const;

/**
 * Serves requests without a key one per turn of the event loop, so that requests with a key wait for at most one of
 * them. Otherwise the ready requests of 64 connections without a key would all be served before any other. With an
 * answer of 1 ms, such as `/openapi.json`, such requests delayed every caller by 62 ms (`npm run bench -- hostile`).
 */
export function takeTurnsWithoutKey(): onRequestHookHandler {
  const waiting: (() => void)[] = [];
  let isServing = false;

  function serveNext(): void {
    const serve = waiting.shift();
    isServing = serve !== undefined;
    if (serve === undefined) return;
    // Scheduled first, so that a failing request does not stop the turns.
    setImmediate(serveNext);
    serve();
  }

  return ({ headers, originalUrl }, _reply, done) => {
    if (NAMED.some((name) => headers[name] !== undefined) || originalUrl.includes('apiKey=')) return done();
    waiting.push(done);
    if (!isServing) {
      isServing = true;
      setImmediate(serveNext);
    }
  };
}
