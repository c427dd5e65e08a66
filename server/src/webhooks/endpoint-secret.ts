import { createHmac, randomBytes } from 'node:crypto';
import type { Secrets } from '../storage/secrets/secrets.ts';

/** Secrets of endpoints, by which receivers know that a request is ours. Source: Standard Webhooks 1.0. */
export interface EndpointSecret {
  /** As it is stored: see `sealSecret`. */
  readonly value: string;
  /** Null: until it is rotated. */
  readonly endsAt: number | null;
}

const PREFIX = 'whsec_';
/** Rotations one after another within an overlap; more signatures would only make the header longer. */
const SECRETS = 4;

export const makeSecret = (): string => `${PREFIX}${randomBytes(32).toString('base64')}`;

const placeOf = (id: number) => ({ table: 'webhook_endpoint', column: 'secrets', row: [id] });

/** @returns a secret, `whsec_` and base64, as it is stored: encrypted where the service has a key */
export const sealSecret = (value: string, id: number, secrets: Secrets): string =>
  secrets.canSeal ? secrets.seal(value, placeOf(id)) : value;

/** @throws secret_unreadable */
export const openSecret = (stored: string, id: number, secrets: Secrets): string =>
  stored.startsWith(PREFIX) ? stored : secrets.unseal(stored, placeOf(id));

/** @returns the secrets with a new one, beside which the present ones are valid for a while */
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

/** @returns when the last former secret ends; null: there is none */
export function overlapEnd(secrets: readonly EndpointSecret[], now: number): number | null {
  const ends = listValid(secrets, now).flatMap(({ endsAt }) => endsAt ?? []);
  return ends.length === 0 ? null : Math.max(...ends);
}

/**
 * @param open makes a secret of what is stored
 * @returns the header webhook-signature: one signature for each secret that is valid
 */
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
