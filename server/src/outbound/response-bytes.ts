import type { IncomingMessage } from 'node:http';
import { describeConnection } from './connection-problems.ts';
import { OutboundProblem } from './outbound-problem.ts';
import type { Outbound } from './pinned-addresses.ts';

interface Reading extends Pick<Outbound, 'timeouts' | 'signal'> {
  readonly url: URL;
}

/** Waiting is timed only while the service waits: a slow reader is not the fault of the source. */
export async function* readResponse(
  response: IncomingMessage,
  { url, timeouts, signal }: Reading,
): AsyncGenerator<Uint8Array, undefined> {
  const stop = () => response.destroy();
  signal?.addEventListener('abort', stop, { once: true });
  const reader = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  let total = 0;
  try {
    signal?.throwIfAborted();
    for (;;) {
      const { done, value } = await timeouts.wait('piece', reader.next());
      if (done) break;
      total += value.length;
      yield value;
    }
    if (!response.complete) throw brokenOff(response, url, total);
  } catch (error) {
    signal?.throwIfAborted();
    throw isBrokenOff(error) ? brokenOff(response, url, total) : describeConnection(error, url);
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
  }
}

function isBrokenOff(error: unknown): boolean {
  const code = String((error as { code?: unknown }).code);
  return ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code) || code.startsWith('HPE_');
}

function brokenOff(response: IncomingMessage, { host }: URL, total: number): OutboundProblem {
  const announced = announcedSize(response);
  const of = announced === undefined ? '' : ` of ${announced}`;
  return new OutboundProblem('broken_off', `The connection to ${host} broke off after ${total}${of} bytes`);
}

/** @returns the length that the answer announced */
export function announcedSize(response: IncomingMessage): number | undefined {
  const length = response.headers['content-length'];
  return length === undefined ? undefined : Number(length);
}
