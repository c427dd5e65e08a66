import { lookup } from 'node:dns/promises';
import {
  Agent as HttpAgent,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { type AllowedAddresses, refuseAddress } from './address.ts';
import { describeConnection } from './connection-problems.ts';
import { hostOf } from './http-url.ts';
import { OutboundProblem } from './outbound-problem.ts';
import type { Timeouts } from './timeouts.ts';

export type Resolve = (host: string) => Promise<readonly { readonly address: string }[]>;

export interface PinnedRequest {
  /** Sent with a POST; without one it is a GET. */
  readonly body?: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly allows: AllowedAddresses;
  readonly resolve: Resolve | undefined;
  readonly timeouts: Timeouts;
  readonly signal: AbortSignal | undefined;
}

/** More addresses than any host has; each costs a check and perhaps an attempt to connect. */
const ADDRESSES = 32;
const HEADER_BYTES = 32 * 1024;
/** The next address is tried after this; Node's own quarter of a second is short for a host on another continent. */
const ATTEMPT_MS = 2_500;

const resolveBySystem: Resolve = (host) => lookup(host, { all: true, order: 'verbatim' });

/**
 * Sends one GET or POST. The host is looked up once, every address is checked, and the connection goes to one of these very
 * addresses: a name that leads elsewhere a moment later (DNS rebinding) gains nothing. Host header, TLS name and
 * certificate check stay those of the URL. No redirect is followed.
 * @throws OutboundProblem address, connection, timeout
 */
export async function sendPinned(url: URL, request: PinnedRequest): Promise<IncomingMessage> {
  const addresses = await findAddresses(url, request);
  request.signal?.throwIfAborted();
  const isSecure = url.protocol === 'https:';
  const options: RequestOptions & { autoSelectFamilyAttemptTimeout: number } = {
    host: hostOf(url),
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    method: request.body === undefined ? 'GET' : 'POST',
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

/** @throws OutboundProblem address when only one of them must not be fetched from: no host needs such company */
async function findAddresses(url: URL, { allows, resolve = resolveBySystem, timeouts }: PinnedRequest) {
  const host = hostOf(url);
  const found = isIP(host) === 0 ? await lookUp(url, resolve, timeouts) : [{ address: host }];
  if (found.length === 0) throw describeConnection({ code: 'ENOTFOUND' }, url);
  for (const { address } of found) {
    const kind = refuseAddress(address, allows);
    if (kind === undefined) continue;
    const only = 'only public addresses are fetched from, or those in RELATA_FETCH_ALLOW';
    const text = `${host} is refused: it leads to ${kind}, and ${only}`;
    throw new OutboundProblem('address', text, { note: `${host} has the address ${address}` });
  }
  return found.map(({ address }) => ({ address, family: isIP(address) }));
}

async function lookUp(url: URL, resolve: Resolve, timeouts: Timeouts) {
  try {
    return (await timeouts.wait('connect', resolve(hostOf(url)))).slice(0, ADDRESSES);
  } catch (error) {
    throw describeConnection(error, url);
  }
}

/** The socket asks for one address or for all, to try the next when one does not answer. */
function answerWith(addresses: readonly { address: string; family: number }[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}
