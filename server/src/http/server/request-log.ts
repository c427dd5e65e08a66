import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { isUser } from '../../kernel/caller.ts';
import type { Server } from '../http.ts';

/** From here on a request is slow. Source: docs/interface.md §14.7. */
export const SLOW_MS = 1_000;

/**
 * One line for a request that changed something, failed or took long; the many quick reads are for `debug`: a line
 * each costs a tenth of the requests per second.
 */
export class RequestLog extends LogController {
  private readonly logsQuickReads: boolean;
  /** No key is needed to be refused. */
  private readonly logStranger = createRefusalLog('request without a valid key');

  constructor(level: string) {
    super({ requestIdLogLabel: 'requestId' });
    this.logsQuickReads = level === 'debug';
  }

  override incomingRequest(): void {}

  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const isQuickRead = request.method === 'GET' && reply.statusCode < 400 && reply.elapsedTime < SLOW_MS;
    if (isQuickRead && error == null && !this.logsQuickReads) return;
    // Silent: it has a line of its own.
    if (request.log.level === 'silent') return;
    const facts = {
      req: request,
      res: reply,
      ms: Math.round(reply.elapsedTime),
      ...describeCall(request, reply),
    };
    if (isStranger(request, reply) && !this.logsQuickReads)
      this.logStranger(request.server.log, { requestId: request.id, ...facts, ...(error && { err: error }) });
    else if (error) request.log.error({ ...facts, err: error }, 'request broke off');
    else if (isQuickRead) request.log.debug(facts, 'request');
    else request.log.info(facts, 'request');
  }
}

/** Who signs in had no key before either. */
const isStranger = (request: FastifyRequest, { statusCode }: FastifyReply) =>
  (request as Partial<FastifyRequest>).caller === undefined &&
  (statusCode >= 400 || request.method !== 'POST');

/** Ids alone: the value of a key is in no log. */
function describeCall(request: FastifyRequest, reply: FastifyReply) {
  const { caller, project } = request as Partial<FastifyRequest>;
  const sent = reply.getHeader('content-length');
  return {
    project: project?.id,
    ...(caller !== undefined && (isUser(caller) ? { user: caller.userId } : { key: caller.keyId })),
    // A stream has no length before its end.
    bytes: {
      received: request.rawBody?.bytes.length ?? Number(request.headers['content-length'] ?? 0),
      sent: sent === undefined ? undefined : Number(sent),
    },
  };
}

/** Lines of the log a second; the rest of a second is one line with their number. */
const REFUSALS_PER_SECOND = 5;

/** @returns what logs refused requests that need no credentials, a few of them: they are not to fill the disk */
export function createRefusalLog(message: string): (log: Server['log'], facts: object) => void {
  let count = 0;
  return (log, facts) => {
    count += 1;
    if (count === 1) {
      setTimeout(() => {
        const untold = count - REFUSALS_PER_SECOND;
        if (untold > 0) log.info({ untold }, `${message}: more within a second`);
        count = 0;
      }, 1_000).unref();
    }
    if (count <= REFUSALS_PER_SECOND) log.info(facts, message);
  };
}
