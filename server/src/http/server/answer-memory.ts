import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { nameCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { createMemoryBudget } from '../bodies/bodies.ts';
import { changesSomething } from '../guards/guards.ts';
import { heldBytesOf } from './answer-encoding.ts';

/** Smaller answers fit into the buffers of their sockets, or nearly so: counting them would cost more than they do. */
const COUNTED_BYTES = 64 * 1024;
/** What a stream holds that nobody reads: its next part and its buffers. A hundred exports of long texts held 480 MiB. */
const STREAM_BYTES = 4 * 1024 * 1024;

/**
 * Counts the answers that are made and not read yet: a reader who takes his time keeps them in memory. One for which there is no
 * room is refused; its caller reads those that there are, and asks again. Source: docs/interface.md §8. @throws answers_unread
 */
export function createAnswerMemory(limitBytes: number) {
  const budget = createMemoryBudget(limitBytes);
  return (request: FastifyRequest, reply: FastifyReply, payload: unknown): void => {
    const { caller } = request as Partial<FastifyRequest>;
    const bytes = sizeOf(payload, reply);
    if (bytes < COUNTED_BYTES || caller === undefined || mayHaveChanged(request)) return;
    const memory = budget.open({ caller: nameCaller(caller), accountId: caller.accountId });
    reply.raw.once('close', memory.release);
    if (memory.grow(bytes)) return;
    memory.release();
    if (payload instanceof Readable) payload.destroy();
    throw answersUnread();
  };
}

/** What took effect is answered. */
function mayHaveChanged(request: FastifyRequest): boolean {
  const { access = 'read' } = request.routeOptions.config;
  return access !== 'read' && changesSomething(request);
}

function answersUnread(): ServiceError {
  const details = ['too many large answers wait to be read: read them first, or ask for less at once'];
  return new ServiceError('answers_unread', { details, retryAfterSeconds: 1 });
}

function sizeOf(payload: unknown, reply: FastifyReply): number {
  // Events are short, and counted as waits.
  const isEvents = String(reply.getHeader('content-type')).startsWith('text/event-stream');
  if (payload instanceof Readable) return isEvents ? 0 : (heldBytesOf(payload) ?? STREAM_BYTES);
  if (typeof payload === 'string') return payload.length;
  return payload instanceof Uint8Array ? payload.length : 0;
}
