import { createHmac, randomBytes } from 'node:crypto';
import type { EventType } from '../events/events.ts';
import type { Scope } from '../kernel/caller.ts';
import { maskLooks } from '../kernel/secret-mask.ts';
import type { Actor } from '../projects/projects.ts';
import type { Secrets } from '../storage/secrets/secrets.ts';

/** An address that events are sent to. Source: docs/interface §6.1. */
export interface Endpoint {
  readonly id: number;
  readonly accountId: number;
  readonly url: string;
  readonly events: readonly EventType[];
  readonly scope: Scope;
  /** The present secret first, then those that a rotation keeps valid for a while. */
  readonly secrets: readonly EndpointSecret[];
  readonly isEnabled: boolean;
  /** Why the service switched it off. */
  readonly switchedOff: SwitchedOff | null;
  /** Since when all attempts have failed. */
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

/** An endpoint at the only moment when its secret is shown. */
export interface MadeEndpoint extends Endpoint {
  readonly secret: string;
}

/** The query of a URL may be secret, and so may a part of its path; logs and the audit log get the rest. */
export const describeUrl = (url: string): string => maskLooks(url.split(/[?#]/, 1)[0] ?? '');

/** What is shown of a request's answer or failure. */
export interface Attempt {
  readonly at: number;
  readonly durationMs: number;
  readonly url: string;
  /** Epoch seconds. */
  readonly timestamp: number;
  readonly status?: number;
  /** The first characters of the answer. */
  readonly answer?: string;
  /** Why there was no answer, or why this one does not count. */
  readonly error?: string;
}

/** The payload defined by Standard Webhooks. */
export const writeBody = (type: string, at: number, data: object): string =>
  JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });

const HOUR = 3_600_000;
/** An endpoint that fails for this long is switched off. Source: docs/interface §6.3. */
export const GIVE_UP_MS = 72 * HOUR;

/** Delays after the first failed attempt, the second, and so on; the last ends 72 hours after the first. */
const DELAYS_MS = [5_000, 60_000, 600_000, 1_800_000, ...[2, 5, 10, 14, 18].map((hours) => hours * HOUR)];

/** @returns when to retry after `tries` failed attempts; undefined: never */
export function planRetry(now: number, tries: number, firstAttemptAt: number): number | undefined {
  const lastAt = firstAttemptAt + GIVE_UP_MS;
  if (now >= lastAt) return undefined;
  return Math.min(now + (DELAYS_MS[tries - 1] ?? GIVE_UP_MS), lastAt);
}

/** Secrets of endpoints, by which receivers verify that a request is ours. Source: Standard Webhooks 1.0. */
export interface EndpointSecret {
  /** The stored form: see `sealSecret`. */
  readonly value: string;
  /** Null: until it is rotated. */
  readonly endsAt: number | null;
}

const PREFIX = 'whsec_';
/** Limits rotations within one overlap; more signatures would only lengthen the header. */
const SECRETS = 4;

export const makeSecret = (): string => `${PREFIX}${randomBytes(32).toString('base64')}`;

const placeOf = (id: number) => ({ table: 'webhook_endpoint', column: 'secrets', row: [id] });

/** @returns the stored form of a secret, which is `whsec_` and base64: encrypted if the service has a key */
export const sealSecret = (value: string, id: number, secrets: Secrets): string =>
  secrets.canSeal ? secrets.seal(value, placeOf(id)) : value;

/** @throws secret_unreadable */
export const openSecret = (stored: string, id: number, secrets: Secrets): string =>
  stored.startsWith(PREFIX) ? stored : secrets.unseal(stored, placeOf(id));

/** @returns the secrets with a new one; the present ones stay valid for a while */
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

/** @returns when the last former secret ends; null if there is none */
export function overlapEnd(secrets: readonly EndpointSecret[], now: number): number | null {
  const ends = listValid(secrets, now).flatMap(({ endsAt }) => endsAt ?? []);
  return ends.length === 0 ? null : Math.max(...ends);
}

/** @returns the header webhook-signature: a signature with each valid secret, which `open` decrypts */
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
