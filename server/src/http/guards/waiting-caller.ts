import type { FastifyReply, FastifyRequest } from 'fastify';
import { nameCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { OpenCounts } from '../../kernel/open-counts.ts';

/**
 * Does work that ends when its caller leaves: the signal is aborted then, also while a stream is sent, and nothing is
 * answered. Others who share the work of an `Idempotency-Key` are refused, and ask again.
 */
export async function whileCallerWaits<Result>(
  reply: FastifyReply,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const left = new AbortController();
  const details = ['the caller left before the answer'];
  const abort = () => {
    // A caller who got all of the answer has not left: an error for each of them took 4 % of a small request.
    if (reply.raw.writableFinished) return;
    left.abort(new ServiceError('not_ready', { retryAfterSeconds: 1, details }));
  };
  reply.raw.once('close', abort);
  if (reply.raw.destroyed) abort();
  try {
    return await work(left.signal);
  } catch (error) {
    // No caller is there to get a result.
    if (left.signal.aborted) return reply.hijack() as never;
    throw error;
  }
}

/** Looks through whole catalogs that a key or user has open at a time: one thread does all of them. */
const OPEN_LOOKS = 4;
const RETRY_SECONDS = 1;

/** Counts a look through a whole catalog as long as its answer is awaited or sent. @throws too_many_looks */
export type CountLook = (request: FastifyRequest, reply: FastifyReply) => void;

export function createLookCount(): CountLook {
  const open = new OpenCounts<string>();
  return ({ caller }, { raw }) => {
    const who = nameCaller(caller);
    const count = open.of(who);
    if (count >= OPEN_LOOKS) {
      const details = [`${count} searches, counts or previews are open, at most ${OPEN_LOOKS} at a time`];
      throw new ServiceError('too_many_looks', { retryAfterSeconds: RETRY_SECONDS, details });
    }
    if (!raw.destroyed) raw.once('close', open.begin(who));
  };
}
