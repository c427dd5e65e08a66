import type { onRequestHookHandler } from 'fastify';

/** Names of headers that may identify a caller. Whether they do is checked later. */
const NAMED = ['authorization', 'cookie'] as const;

/**
 * Serves requests that name no caller one in each turn of the event loop. Requests with a key then wait for at most
 * one of them. Otherwise 64 connections without a key, which all have a request ready, are served in a row before any
 * other: an answer of 1 ms, such as `/openapi.json`, delayed every caller by 62 ms (`npm run bench -- hostile`).
 */
export function takeTurnsWithoutKey(): onRequestHookHandler {
  const waiting: (() => void)[] = [];
  let isServing = false;

  function serveNext(): void {
    const serve = waiting.shift();
    isServing = serve !== undefined;
    if (serve === undefined) return;
    // First, so that a request which fails does not stop the turns.
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
