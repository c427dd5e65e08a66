import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describeConnection } from './connection-problems.ts';
import { ATTEMPT_MS, answerWith, findAddresses, type Outbound } from './pinned-addresses.ts';

/** Connects to an address of the host, which is looked up once and checked. @throws OutboundProblem address, connection, timeout */
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
    // A late failure has nobody left to tell.
    socket.on('error', () => {}).destroy();
    throw describeConnection(error, { host });
  }
}
