import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../kernel/errors.ts';

/** @returns a signal that aborts when the caller leaves before the answer. Fastify's own aborts once the body is read */
export function signalOf({ rawReply }: FastifyRequest): AbortSignal {
  const left = new AbortController();
  const abort = () =>
    left.abort(new ServiceError('not_ready', { details: ['the caller left before the answer'] }));
  if (rawReply?.closed) abort();
  rawReply?.once('close', abort);
  return left.signal;
}
