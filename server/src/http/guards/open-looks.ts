import type { FastifyReply, FastifyRequest } from 'fastify';
import { nameCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { OpenCounts } from '../../kernel/open-counts.ts';

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
