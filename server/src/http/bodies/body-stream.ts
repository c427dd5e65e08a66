import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../kernel/errors.ts';
import { readEncoding, unpackParts } from '../../storage/storage.ts';
import { type BodyTerms, brokeOff, checkDeclared, MIB, tooLarge } from './body.ts';
import { SenderPace } from './sender-pace.ts';

/** What is held of a streamed body at a time. */
const STREAMED_BYTES = 8 * MIB;

/** What is packed may be so much larger when it is unpacked, as for files. Source: docs/interface.md §8. */
const UNPACKED_TIMES = 2;

/**
 * Reads a body chunk by chunk, as fast as whoever takes the chunks. What gzip packed is passed on as it came; zstd and br are
 * undone, which who reads the file could not tell by its first bytes.
 * @throws body_encoding, body_not_unpacked, body_too_large, body_stalled, body_slow and what findRefusal returns, also after
 * many chunks
 */
export async function* streamBody(request: IncomingMessage, terms: BodyTerms): AsyncGenerator<Uint8Array> {
  const { maxMib } = terms;
  const encoding = readEncoding(request.headers['content-encoding']);
  const sent = streamSent(request, terms);
  if (encoding === 'identity' || encoding === 'gzip') yield* sent;
  else yield* unpackParts(sent, encoding, maxMib * UNPACKED_TIMES);
}

async function* streamSent(request: IncomingMessage, terms: BodyTerms): AsyncGenerator<Uint8Array> {
  const { maxMib, memory } = terms;
  const declared = checkDeclared(request, maxMib);
  const { promise: refused, reject: refuse } = Promise.withResolvers<never>();
  // Whoever takes the chunks may be busy with one while the sender is refused.
  refused.catch(() => {});
  const pace = new SenderPace({
    allowedMib: declared === undefined ? maxMib : declared / MIB,
    ...terms,
    refuse,
  });
  // A socket that is destroyed with the request cannot carry the refusal.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
  let length = 0;
  try {
    for (;;) {
      // Only the sender is timed: whoever takes the chunks may wait for a disk.
      pace.isHeld = false;
      const { done, value } = await Promise.race([chunks.next(), refused]).catch(toRefusal);
      pace.isHeld = true;
      if (done === true) return;
      length += value.length;
      if (length > maxMib * MIB) throw tooLarge(maxMib);
      pace.arrived(value.length);
      const held = Math.min(length, STREAMED_BYTES);
      if (memory?.grow(held) === false) await memory.waitFor(held);
      yield value;
    }
  } finally {
    pace.end();
  }
}

function toRefusal(error: unknown): never {
  throw error instanceof ServiceError ? error : brokeOff(error);
}
