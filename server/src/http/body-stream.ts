import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../kernel/errors.ts';
import { declaredLength, MIB, readEncoding, STALL_MS } from './body.ts';

/**
 * Reads a body chunk by chunk, as fast as whoever takes the chunks. It is passed on as it came, packed or not.
 * @throws body_encoding, body_too_large, body_stalled, also after many chunks
 */
export async function* streamBody(request: IncomingMessage, maxMib: number): AsyncGenerator<Uint8Array> {
  readEncoding(request.headers['content-encoding']);
  const tooLarge = () => new ServiceError('body_too_large', { values: [maxMib] });
  if ((declaredLength(request) ?? 0) > maxMib * MIB) throw tooLarge();
  // A socket that is destroyed with the request cannot carry the refusal.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
  let length = 0;
  for (;;) {
    const { done, value } = await nextChunk(chunks);
    if (done === true) return;
    length += value.length;
    if (length > maxMib * MIB) throw tooLarge();
    yield value;
  }
}

/** Only the sender is timed: whoever takes the chunks may wait for a disk. */
async function nextChunk(chunks: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  const { promise: stalled, reject } = Promise.withResolvers<never>();
  const refuse = () => reject(new ServiceError('body_stalled', { values: [STALL_MS / 1000] }));
  const timer = setTimeout(refuse, STALL_MS);
  try {
    return await Promise.race([chunks.next(), stalled]);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('body_stalled', {
      values: [0],
      details: ['the connection broke off'],
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}
