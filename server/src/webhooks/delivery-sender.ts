import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import {
  type AllowedAddresses,
  createTimeouts,
  OutboundProblem,
  type Resolve,
  readHttpUrl,
  sendPinned,
  type Timeouts,
  type WaitLimits,
} from '../outbound/outbound.ts';
import type { Secrets } from '../storage/secrets/secrets.ts';
import { type Attempt, type Endpoint, openSecret, sign } from './webhook-endpoint.ts';
import type { Message } from './webhook-store.ts';

export interface SenderSettings {
  readonly allows: AllowedAddresses;
  readonly userAgent: string;
  /** Resolves a name; default: the system. */
  readonly resolve?: Resolve;
}

/**
 * The whole request is shorter than the lease of a lane. Standard Webhooks requires 15 to 30 s.
 * Source: docs/interface §6.3.
 */
const LIMITS: WaitLimits = { connectMs: 10_000, idleMs: 20_000, wholeMs: 20_000 };
/** Only the beginning of an endpoint's answer is read, because it is only displayed. */
const READ_BYTES = 16 * 1024;
const SHOWN_CHARACTERS = 1_000;
const UNREADABLE = 'The secret cannot be decrypted: add its key to RELATA_SECRET_KEYS, or rotate the secret';

export type SendDelivery = (endpoint: Endpoint, message: Message, now: number) => Promise<Attempt>;

/** Sends a message with one POST and follows no redirects. Never throws; a fault of the service is logged. */
export const createSender =
  ({
    allows,
    userAgent,
    resolve,
    secrets: keys,
    logger,
  }: SenderSettings & { readonly secrets: Secrets; readonly logger: Pick<Logger, 'error'> }): SendDelivery =>
  async ({ id: endpointId, url: address, secrets }, { id, body }, now) => {
    const timestamp = Math.floor(now / 1_000);
    const began = performance.now();
    const end = (outcome: Pick<Attempt, 'status' | 'answer' | 'error'>): Attempt => {
      const durationMs = Math.round(performance.now() - began);
      return { at: now, durationMs, url: address, timestamp, ...outcome };
    };
    try {
      const timeouts = createTimeouts(LIMITS, 'The endpoint');
      const bytes = Buffer.from(body);
      const headers = {
        'content-type': 'application/json',
        'content-length': String(bytes.length),
        'user-agent': userAgent,
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': sign(secrets, { id, timestamp, body, now }, (stored) =>
          openSecret(stored, endpointId, keys),
        ),
      };
      const request = { headers, allows, resolve, timeouts, signal: undefined, body: bytes };
      const response = await sendPinned(readHttpUrl(address), request);
      const status = response.statusCode ?? 0;
      const answer = await readStart(response, timeouts);
      return end({ status, answer, ...describeStatus(status) });
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'secret_unreadable')
        return end({ error: UNREADABLE });
      if (error instanceof OutboundProblem) return end({ error: error.message });
      // The error becomes a failed attempt, because the lane would otherwise be blocked until the fault is fixed.
      logger.error(
        { err: error, endpoint: endpointId },
        'unexpected error while sending a webhook; the attempt counts as failed',
      );
      return end({ error: 'The request could not be sent' });
    }
  };

export const isDelivered = ({ status }: Attempt): boolean =>
  status !== undefined && status >= 200 && status < 300;

function describeStatus(status: number): Pick<Attempt, 'error'> {
  if (status >= 200 && status < 300) return {};
  const isRedirect = status >= 300 && status < 400;
  return {
    error: isRedirect
      ? 'The endpoint answered with a redirect, which is not followed: enter the address of the redirect'
      : `The endpoint answered ${status}`,
  };
}

/** Reads the beginning of the body. An answer with a status counts even if its body is interrupted. */
async function readStart(response: IncomingMessage, timeouts: Timeouts): Promise<string> {
  const pieces: Buffer[] = [];
  const collect = async () => {
    let length = 0;
    for await (const piece of response) {
      pieces.push(piece as Buffer);
      length += (piece as Buffer).length;
      if (length >= READ_BYTES) break;
    }
  };
  try {
    await timeouts.wait('piece', collect());
  } catch {
    // The body was interrupted or did not end in time.
  } finally {
    response.destroy();
  }
  return Buffer.concat(pieces).toString().slice(0, SHOWN_CHARACTERS).toWellFormed();
}
