import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';

/** From here on a request is slow. Source: docs/interface.md §14.7. */
export const SLOW_MS = 1_000;

/**
 * One line for a request that changed something, failed or took long; the many quick reads are for `debug`: a line
 * each costs a tenth of the requests per second.
 */
export class RequestLog extends LogController {
  override incomingRequest(): void {}

  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const isQuickRead = request.method === 'GET' && reply.statusCode < 400 && reply.elapsedTime < SLOW_MS;
    const facts = { req: request, res: reply, ms: Math.round(reply.elapsedTime) };
    if (error) request.log.error({ ...facts, err: error }, 'request broke off');
    else if (isQuickRead) request.log.debug(facts, 'request');
    else request.log.info(facts, 'request');
  }
}
