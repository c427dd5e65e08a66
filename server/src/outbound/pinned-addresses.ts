import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { type AllowedAddresses, refuseAddress } from './address.ts';
import { describeConnection } from './connection-problems.ts';
import { OutboundProblem } from './outbound-problem.ts';
import type { Timeouts } from './timeouts.ts';

export type Resolve = (host: string) => Promise<readonly { readonly address: string }[]>;

/** What a connection to an address that somebody gave is made with. */
export interface Outbound {
  readonly allows: AllowedAddresses;
  /** Looks a name up; without it the system does. */
  readonly resolve: Resolve | undefined;
  readonly timeouts: Timeouts;
  readonly signal: AbortSignal | undefined;
}

/** One that was checked. */
interface PinnedAddress {
  readonly address: string;
  readonly family: number;
}

/** More addresses than any host has; each costs a check and perhaps an attempt to connect. */
const ADDRESSES = 32;
/** The next address is tried after this; Node's own quarter of a second is short for a host on another continent. */
export const ATTEMPT_MS = 2_500;

const resolveBySystem: Resolve = (host) => lookup(host, { all: true, order: 'verbatim' });

/** @throws OutboundProblem address when only one of them must not be fetched from: no host needs such company */
export async function findAddresses(
  host: string,
  { allows, resolve = resolveBySystem, timeouts }: Outbound,
): Promise<readonly PinnedAddress[]> {
  const found = isIP(host) === 0 ? await lookUp(host, resolve, timeouts) : [{ address: host }];
  if (found.length === 0) throw describeConnection({ code: 'ENOTFOUND' }, { host });
  for (const { address } of found) {
    const kind = refuseAddress(address, allows);
    if (kind === undefined) continue;
    const only = 'only public addresses are fetched from, or those in RELATA_FETCH_ALLOW';
    const text = `${host} is refused: it leads to ${kind}, and ${only}`;
    throw new OutboundProblem('address', text, { note: `${host} has the address ${address}` });
  }
  return found.map(({ address }) => ({ address, family: isIP(address) }));
}

async function lookUp(host: string, resolve: Resolve, timeouts: Timeouts) {
  try {
    return (await timeouts.wait('connect', resolve(host))).slice(0, ADDRESSES);
  } catch (error) {
    throw describeConnection(error, { host });
  }
}

/** The socket asks for one address or for all, to try the next when one does not answer. */
export function answerWith(addresses: readonly PinnedAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}
