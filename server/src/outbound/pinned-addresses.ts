import { lookup } from 'node:dns/promises';
import { addAbortListener, once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { type AllowedAddresses, hostOf, refuseAddress } from './address.ts';
import { describeConnection, OutboundProblem, type Timeouts } from './outbound-problem.ts';

export type Resolve = (host: string) => Promise<readonly { readonly address: string }[]>;

export interface Outbound {
  readonly allows: AllowedAddresses;
  /** Looks a name up; the default is the system's resolver. */
  readonly resolve: Resolve | undefined;
  readonly timeouts: Timeouts;
  readonly signal: AbortSignal | undefined;
}

/** More addresses than any host has. Each costs a check and perhaps a connection attempt. */
const ADDRESSES = 32;
/**
 * The delay before the next address is tried. Node's default of 250 ms is too short for a host on another continent.
 */
export const ATTEMPT_MS = 2_500;

const resolveBySystem: Resolve = (host) => lookup(host, { all: true, order: 'verbatim' });

/**
 * @throws OutboundProblem address if even one of the addresses must not be used, because no legitimate host has such
 * addresses
 */
export async function findAddresses(host: string, { allows, resolve = resolveBySystem, timeouts }: Outbound) {
  const candidates = isIP(host) === 0 ? await lookUp(host, resolve, timeouts) : [{ address: host }];
  if (candidates.length === 0) throw describeConnection({ code: 'ENOTFOUND' }, { host });
  for (const { address } of candidates) {
    const kind = refuseAddress(address, allows);
    if (kind === undefined) continue;
    const only = 'only public addresses are fetched from, or those in RELATA_FETCH_ALLOW';
    const text = `${host} is refused: it leads to ${kind}, and ${only}`;
    throw new OutboundProblem('address', text, { note: `${host} has the address ${address}` });
  }
  return candidates.map(({ address }) => ({ address, family: isIP(address) }));
}

async function lookUp(host: string, resolve: Resolve, timeouts: Timeouts) {
  try {
    return (await timeouts.wait('connect', resolve(host))).slice(0, ADDRESSES);
  } catch (error) {
    throw describeConnection(error, { host });
  }
}

/** A socket requests one address, or all of them to try the next when one does not answer. */
export const answerWith =
  (addresses: readonly { readonly address: string; readonly family: number }[]): LookupFunction =>
  (_host, options, callback) => {
    if (options.all) callback(null, [...addresses]);
    else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
  };

interface PinnedRequest extends Outbound {
  /** The default is POST with a body and GET without one. */
  readonly method?: string;
  readonly body?: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

const HEADER_BYTES = 32 * 1024;
/**
 * Sends one request. The host is looked up once, every address is checked, and the connection goes to one of the
 * checked addresses. So a name whose address changes a moment later (DNS rebinding) has no effect. The Host header, the
 * TLS name and the certificate check are those of the URL. Redirects are not followed.
 * @throws OutboundProblem address, connection, timeout
 */
export async function sendPinned(url: URL, request: PinnedRequest): Promise<http.IncomingMessage> {
  const addresses = await findAddresses(hostOf(url), request);
  request.signal?.throwIfAborted();
  const isSecure = url.protocol === 'https:';
  const options: http.RequestOptions & { autoSelectFamilyAttemptTimeout: number } = {
    host: hostOf(url),
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    method: request.method ?? (request.body === undefined ? 'GET' : 'POST'),
    path: `${url.pathname}${url.search}`,
    headers: { ...request.headers, host: url.host },
    lookup: answerWith(addresses),
    maxHeaderSize: HEADER_BYTES,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    // A new connection, because an open one was checked for another request. This agent also ignores proxies.
    agent: isSecure ? new https.Agent({ keepAlive: false }) : new http.Agent({ keepAlive: false }),
  };
  // A server cannot choose a certificate for an IP address, so none is named.
  const servername = isIP(hostOf(url)) === 0 ? url.hostname : '';
  const sent = isSecure
    ? https.request({ ...options, servername, rejectUnauthorized: true, minVersion: 'TLSv1.2' })
    : http.request(options);
  const stop = () => sent.destroy();
  using _listening = request.signal && addAbortListener(request.signal, stop);
  try {
    const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).on('error', reject);
    });
    // The wait for the connection throws the same error first, and then no code awaits this promise.
    answered.catch(() => {});
    await request.timeouts.wait('connect', hasConnected(sent, isSecure));
    sent.end(request.body);
    const response = await request.timeouts.wait('answer', answered);
    // The reader gets the error. Until then it must not count as unhandled.
    return response.on('error', () => {});
  } catch (error) {
    sent.destroy();
    request.signal?.throwIfAborted();
    throw describeConnection(error, url);
  }
}

function hasConnected(sent: ReturnType<typeof http.request>, isSecure: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    sent.on('error', reject);
    sent.once('socket', (socket: Socket) =>
      socket.once(isSecure ? 'secureConnect' : 'connect', () => resolve()),
    );
  });
}

/**
 * Connects to a checked address of the host, which is looked up once.
 * @throws OutboundProblem address, connection, timeout
 */
export async function connectPinned(host: string, port: number, via: Outbound): Promise<Socket> {
  const addresses = await findAddresses(host, via);
  via.signal?.throwIfAborted();
  const socket = connect({
    host,
    port,
    lookup: answerWith(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
  });
  try {
    await via.timeouts.wait('connect', once(socket, 'connect'));
    return socket;
  } catch (error) {
    // Without this listener, a later failure would be unhandled.
    socket.on('error', () => {}).destroy();
    throw describeConnection(error, { host });
  }
}

/** Reads an answer. Only the service's own waiting is timed, because a slow reader is not the fault of the source. */
export async function* readResponse(
  response: http.IncomingMessage,
  { url, timeouts, signal }: Pick<Outbound, 'timeouts' | 'signal'> & { readonly url: URL },
): AsyncGenerator<Uint8Array, undefined> {
  const stop = () => response.destroy();
  using _listening = signal && addAbortListener(signal, stop);
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
    stop();
  }
}

function isBrokenOff(error: unknown): boolean {
  const code = String((error as { code?: unknown }).code);
  return ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code) || code.startsWith('HPE_');
}

function brokenOff(response: http.IncomingMessage, { host }: URL, total: number): OutboundProblem {
  const announced = announcedSize(response);
  const of = announced === undefined ? '' : ` of ${announced}`;
  return new OutboundProblem('broken_off', `The connection to ${host} broke off after ${total}${of} bytes`);
}

export function announcedSize(response: http.IncomingMessage): number | undefined {
  const length = response.headers['content-length'];
  return length === undefined ? undefined : Number(length);
}
