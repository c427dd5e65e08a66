import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { Stopping } from '../stops.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read payloads field by field and assert on what they read.
type AnyBody = any;

export interface ReceivedEvent {
  readonly id: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly payload: { readonly type: string; readonly timestamp: string; readonly data: AnyBody };
}

/** A receiver of events in a test. */
export interface Receiver {
  readonly url: string;
  /** In order of arrival, including refused ones. */
  readonly received: ReceivedEvent[];
  /** Sets the answer to all further requests. */
  answer(
    status: number | ((event: ReceivedEvent) => number | Promise<number>),
    headers?: Record<string, string>,
  ): void;
  /** Waits until `look` finds its event among the received events. */
  until<Found>(look: (received: readonly ReceivedEvent[]) => Found | undefined | false): Promise<Found>;
  /** Waits for the events of a type. */
  of(type: string, count?: number): Promise<ReceivedEvent[]>;
}

const LOOK_MS = 20;
const PATIENCE_MS = 120_000;

/** @param port of a receiver that returns */
export async function startReceiver(t: Stopping, port = 0): Promise<Receiver> {
  const received: ReceivedEvent[] = [];
  let status: (event: ReceivedEvent) => number | Promise<number> = () => 204;
  let answered: Record<string, string> = {};
  const server = createServer(async (request, response) => {
    const event = await readEvent(request);
    received.push(event);
    response.writeHead(await status(event), answered).end('received');
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const until: Receiver['until'] = async (look) => {
    for (const start = performance.now(); ; await delay(LOOK_MS)) {
      const result = look(received);
      if (result !== undefined && result !== false) return result;
      if (performance.now() - start > PATIENCE_MS)
        throw new Error(`not received: ${JSON.stringify(received.map(({ payload }) => payload))}`);
    }
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events?key=1`,
    received,
    answer(next, headers = {}) {
      status = typeof next === 'number' ? () => next : next;
      answered = headers;
    },
    until,
    of: (type, count = 1) =>
      until((all) => {
        const events = all.filter(({ payload }) => payload.type === type);
        return events.length >= count && events;
      }),
  };
}

async function readEvent(request: IncomingMessage): Promise<ReceivedEvent> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const body = Buffer.concat(pieces).toString();
  const headers = request.headers as Record<string, string>;
  return { id: headers['webhook-id'] ?? '', headers, body, payload: JSON.parse(body) };
}

/** @throws if there is no event, or if the receiver's check finds no signature with the secret */
export function verify(secret: string, event: ReceivedEvent | undefined): unknown {
  if (event === undefined) throw new Error('no event was received');
  return new Webhook(secret).verify(event.body, event.headers);
}
