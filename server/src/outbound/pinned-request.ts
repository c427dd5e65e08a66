import {
  Agent as HttpAgent,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { describeConnection } from './connection-problems.ts';
import { hostOf } from './http-url.ts';
import { ATTEMPT_MS, answerWith, findAddresses, type Outbound } from './pinned-addresses.ts';

export interface PinnedRequest extends Outbound {
  /** Default: a POST with a body, a GET without one. */
  readonly method?: string;
  readonly body?: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

const HEADER_BYTES = 32 * 1024;
/**
 * Sends one request. The host is looked up once, every address is checked, and the connection goes to one of these very
 * addresses: a name that leads elsewhere a moment later (DNS rebinding) gains nothing. Host header, TLS name and
 * certificate check stay those of the URL. No redirect is followed.
 * @throws OutboundProblem address, connection, timeout
 */
export async function sendPinned(url: URL, request: PinnedRequest): Promise<IncomingMessage> {
  const addresses = await findAddresses(hostOf(url), request);
  request.signal?.throwIfAborted();
  const isSecure = url.protocol === 'https:';
  const options: RequestOptions & { autoSelectFamilyAttemptTimeout: number } = {
    host: hostOf(url),
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    method: request.method ?? (request.body === undefined ? 'GET' : 'POST'),
    path: `${url.pathname}${url.search}`,
    headers: { ...request.headers, host: url.host },
    lookup: answerWith(addresses),
    maxHeaderSize: HEADER_BYTES,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    // A connection of its own: one that is kept open was checked for another request. Such an agent knows no proxy.
    agent: isSecure ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false }),
  };
  const sent = isSecure
    ? requestHttps({ ...options, ...secure(url), rejectUnauthorized: true, minVersion: 'TLSv1.2' })
    : requestHttp(options);
  const stop = () => sent.destroy();
  request.signal?.addEventListener('abort', stop, { once: true });
  try {
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).on('error', reject);
    });
    // The wait for the connection meets the same error first; nothing takes this one then.
    answered.catch(() => {});
    await request.timeouts.wait('connect', hasConnected(sent, isSecure));
    sent.end(request.body);
    const response = await request.timeouts.wait('answer', answered);
    // Whoever reads hears of an error; until then it must not count as unhandled.
    return response.on('error', () => {});
  } catch (error) {
    sent.destroy();
    request.signal?.throwIfAborted();
    throw describeConnection(error, url);
  } finally {
    request.signal?.removeEventListener('abort', stop);
  }
}

/** An address has no name for a server to choose a certificate by. */
const secure = (url: URL) => ({ servername: isIP(hostOf(url)) === 0 ? url.hostname : '' });

function hasConnected(sent: ReturnType<typeof requestHttp>, isSecure: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    sent.on('error', reject);
    sent.once('socket', (socket: Socket) =>
      socket.once(isSecure ? 'secureConnect' : 'connect', () => resolve()),
    );
  });
}
