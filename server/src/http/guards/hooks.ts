import type {
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  onSendHookHandler,
  preParsingHookHandler,
} from 'fastify';
import type { AtOnce } from '../../kernel/at-once.ts';

/**
 * Hooks of the server that continue synchronously if they need not wait. A request passes ten of them, and a promise in
 * each of them took a sixth of the time of a small answer from memory.
 */

type End = (error?: Error) => void;

function endHook(work: AtOnce<void>, end: End): void {
  if (work instanceof Promise) void work.then(() => end(), end);
  else end();
}

/** For onRequest, preHandler and onResponse. An error that `act` throws, synchronously or later, is answered. */
export const requestHook =
  (act: (request: FastifyRequest, reply: FastifyReply) => AtOnce<void>): onRequestHookHandler =>
  (request, reply, end: End) =>
    endHook(act(request, reply), end);

/** For preParsing. It leaves the body unchanged. */
export const parsingHook =
  (act: (request: FastifyRequest) => AtOnce<void>): preParsingHookHandler =>
  (...[request, , , end]) =>
    endHook(act(request), end);

/** For onSend. `act` returns a replacement for the payload, or undefined to keep it. */
export const sendingHook =
  (act: (request: FastifyRequest, reply: FastifyReply, payload: unknown) => unknown): onSendHookHandler =>
  (...[request, reply, payload, end]) => {
    const replacement = act(request, reply, payload);
    if (replacement instanceof Promise) void replacement.then((later) => end(null, later), end);
    else end(null, replacement);
  };
