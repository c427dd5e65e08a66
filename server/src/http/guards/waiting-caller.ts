import type { FastifyReply } from 'fastify';

/**
 * Does work that ends when its caller leaves: the signal is aborted then, also while a stream is sent, and nobody is
 * answered.
 */
export async function whileCallerWaits<Result>(
  reply: FastifyReply,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const left = new AbortController();
  reply.raw.once('close', () => left.abort());
  if (reply.raw.destroyed) left.abort();
  try {
    return await work(left.signal);
  } catch (error) {
    if (left.signal.aborted) return reply.hijack() as never;
    throw error;
  }
}
