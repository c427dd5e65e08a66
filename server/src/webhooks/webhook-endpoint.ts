import { createHmac, randomBytes } from 'node:crypto';
import type { EventType } from '../events/events.ts';
import type { Scope } from '../kernel/caller.ts';
import { maskLooks } from '../kernel/secret-mask.ts';
import type { Actor } from '../projects/projects.ts';
import type { Secrets } from '../storage/secrets/secrets.ts';

/** An address to which events are sent. Source: docs/interface §6.1. */
export interface Endpoint {
  readonly id: number;
  readonly accountId: number;
  readonly url: string;
  readonly events: readonly EventType[];
  readonly scope: Scope;
  /** The current secret first, then earlier secrets that a rotation keeps valid for a while. */
  readonly secrets: readonly EndpointSecret[];
  readonly isEnabled: boolean;
  /** Why the service switched it off. */
  readonly switchedOff: SwitchedOff | null;
  /** Since when all attempts have failed; null if the last attempt succeeded. */
  readonly failingSince: number | null;
  readonly createdAt: number;
  readonly createdBy: Actor;
  readonly updatedAt: number;
}

export interface SwitchedOff {
  readonly at: number;
  readonly reason: string;
}

export type NewEndpoint = Pick<Endpoint, 'url' | 'events' | 'scope'>;
export type EndpointChange = Partial<Pick<Endpoint, 'url' | 'events'>> & { readonly enabled?: boolean };

/** An endpoint with a new secret, which is shown only at creation or rotation. */
export interface MadeEndpoint extends Endpoint {
  readonly secret: string;
}

/** Shortens a URL for the log and the audit log, because its query and parts of its path may be secret. */
export const describeUrl = (url: string): string => maskLooks(url.split(/[?#]/, 1)[0] ?? '');

/** One request of a delivery, with the parts of its answer or failure that callers can see. */
export interface Attempt {
  readonly at: number;
  readonly durationMs: number;
  readonly url: string;
  /** Epoch seconds. */
  readonly timestamp: number;
  readonly status?: number;
  /** The first characters of the answer. */
  readonly answer?: string;
  /** Why there was no answer, or why the answer is not a success. */
  readonly error?: string;
}

/** The payload defined by Standard Webhooks. */
export const writeBody = (type: string, instant: number, data: object): string =>
  JSON.stringify({ type, timestamp: new Date(instant).toISOString(), data });

const HOUR = 3_600_000;
/** An endpoint that fails for this long is switched off. Source: docs/interface §6.3. */
export const GIVE_UP_MS = 72 * HOUR;

/**
 * The delays after the first failed attempt, the second, and so on. The last retry is 72 hours after the first attempt.
 */
const DELAYS_MS = [5_000, 60_000, 600_000, 1_800_000, ...[2, 5, 10, 14, 18].map((hours) => hours * HOUR)];

/** @returns when to retry after `tries` failed attempts; undefined if there is no further retry */
export function planRetry(now: number, tries: number, firstAttemptAt: number): number | undefined {
  const lastAt = firstAttemptAt + GIVE_UP_MS;
  if (now >= lastAt) return undefined;
  return Math.min(now + (DELAYS_MS[tries - 1] ?? GIVE_UP_MS), lastAt);
}

/** A secret with which a receiver verifies that this service sent a request. Source: Standard Webhooks 1.0. */
export interface EndpointSecret {
  /** The stored form: see `sealSecret`. */
  readonly value: string;
  /** Null until the secret is rotated. */
  readonly endsAt: number | null;
}

const PREFIX = 'whsec_';
/** The maximum number of valid secrets, because each one adds a signature to the header. */
const SECRETS = 4;

export const makeSecret = (): string => `${PREFIX}${randomBytes(32).toString('base64')}`;

const placeOf = (id: number) => ({ table: 'webhook_endpoint', column: 'secrets', row: [id] });

/** @returns the stored form of a secret of `whsec_` and base64: sealed if the service has a key */
export const sealSecret = (value: string, id: number, secrets: Secrets): string =>
  secrets.canSeal ? secrets.seal(value, placeOf(id)) : value;

/** @throws secret_unreadable */
export const openSecret = (stored: string, id: number, secrets: Secrets): string =>
  stored.startsWith(PREFIX) ? stored : secrets.unseal(stored, placeOf(id));

/** @returns the secrets with a new one first; the current ones stay valid until the overlap ends */
export function rotate(
  secrets: readonly EndpointSecret[],
  { now, overlapMs, value }: { now: number; overlapMs: number; value: string },
): EndpointSecret[] {
  const former = listValid(secrets, now)
    .map((secret) => ({
      ...secret,
      endsAt: Math.min(secret.endsAt ?? Number.MAX_SAFE_INTEGER, now + overlapMs),
    }))
    .filter(({ endsAt }) => endsAt > now);
  return [{ value, endsAt: null }, ...former].slice(0, SECRETS);
}

const listValid = (secrets: readonly EndpointSecret[], now: number) =>
  secrets.filter(({ endsAt }) => endsAt === null || endsAt > now);

/** @returns when the last earlier secret ends; null if there is none */
export function overlapEnd(secrets: readonly EndpointSecret[], now: number): number | null {
  const ends = listValid(secrets, now).flatMap(({ endsAt }) => endsAt ?? []);
  return ends.length === 0 ? null : Math.max(...ends);
}

/** @param open unseals a secret. @returns the header webhook-signature, with a signature for each valid secret */
export function sign(
  secrets: readonly EndpointSecret[],
  { id, timestamp, body, now }: { id: string; timestamp: number; body: string; now: number },
  open: (stored: string) => string,
): string {
  const signed = `${id}.${timestamp}.${body}`;
  return listValid(secrets, now)
    .map(({ value }) => Buffer.from(open(value).slice(PREFIX.length), 'base64'))
    .map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
    .join(' ');
}
