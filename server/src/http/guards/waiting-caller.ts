import type { FastifyReply } from 'fastify';
import { ServiceError } from '../../kernel/errors.ts';

/**
 * Does work that ends when its caller leaves: the signal is aborted then, also while a stream is sent, and nobody is
 * answered. Whoever shares the work of an `Idempotency-Key` is refused, and asks again.
 */
export async function whileCallerWaits<Result>(
  reply: FastifyReply,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const left = new AbortController();
  const details = ['the caller left before the answer'];
  const abort = () => {
    // Of a caller who got all of the answer nobody has left: an error for each of them took 4 % of a small request.
    if (reply.raw.writableFinished) return;
    left.abort(new ServiceError('not_ready', { retryAfterSeconds: 1, details }));
  };
  reply.raw.once('close', abort);
  if (reply.raw.destroyed) abort();
  try {
    return await work(left.signal);
  } catch (error) {
    // Nobody is there to get a result.
    if (left.signal.aborted) return reply.hijack() as never;
    throw error;
  }
}
