import type { FastifyReply, FastifyRequest } from 'fastify';
import { nameCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';

/** Looks through whole catalogs that a key or user has open at a time: one thread does all of them. */
const OPEN_LOOKS = 4;
const RETRY_SECONDS = 1;

/** Counts a look through a whole catalog as long as its answer is awaited or sent. @throws too_many_looks */
export type CountLook = (request: FastifyRequest, reply: FastifyReply) => void;

export function createLookCount(): CountLook {
  const open = new Map<string, number>();
  return ({ caller }, { raw }) => {
    const who = nameCaller(caller);
    const count = open.get(who) ?? 0;
    if (count >= OPEN_LOOKS) {
      const details = [`${count} searches, counts or previews are open, at most ${OPEN_LOOKS} at a time`];
      throw new ServiceError('too_many_looks', { retryAfterSeconds: RETRY_SECONDS, details });
    }
    if (raw.destroyed) return;
    open.set(who, count + 1);
    raw.once('close', () => {
      const left = (open.get(who) ?? 1) - 1;
      if (left > 0) open.set(who, left);
      else open.delete(who);
    });
  };
}
