import type {
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  onSendHookHandler,
  preParsingHookHandler,
} from 'fastify';
import type { AtOnce } from '../../kernel/at-once.ts';

/**
 * Hooks of the server that go on at once where they wait for nothing. A request goes through ten of them: a promise for each took a
 * sixth of a small answer that is in memory.
 */

type End = (error?: Error) => void;

function endHook(work: AtOnce<void>, end: End): void {
  if (work instanceof Promise) void work.then(() => end(), end);
  else end();
}

/** For onRequest, preHandler and onResponse. What `act` throws, at once or later, is answered. */
export const requestHook =
  (act: (request: FastifyRequest, reply: FastifyReply) => AtOnce<void>): onRequestHookHandler =>
  (request, reply, end: End) =>
    endHook(act(request, reply), end);

/** For preParsing; the body stays as it comes. */
export const parsingHook =
  (act: (request: FastifyRequest) => AtOnce<void>): preParsingHookHandler =>
  (...[request, , , end]) =>
    endHook(act(request), end);

/** For onSend. `act` returns what is sent in place of the payload; undefined: the payload as it is. */
export const sendingHook =
  (act: (request: FastifyRequest, reply: FastifyReply, payload: unknown) => unknown): onSendHookHandler =>
  (...[request, reply, payload, end]) => {
    const sent = act(request, reply, payload);
    if (sent instanceof Promise) void sent.then((later) => end(null, later), end);
    else end(null, sent);
  };
