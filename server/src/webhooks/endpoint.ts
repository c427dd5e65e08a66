import type { EventType } from '../events/events.ts';
import type { Scope } from '../kernel/caller.ts';
import type { Actor } from '../projects/projects.ts';
import type { EndpointSecret } from './endpoint-secret.ts';

/** An address that events are sent to. Source: docs/interface.md §6.1. */
export interface Endpoint {
  readonly id: number;
  readonly accountId: number;
  readonly url: string;
  readonly events: readonly EventType[];
  readonly scope: Scope;
  /** The present one first, then those that a rotation left valid for a while. */
  readonly secrets: readonly EndpointSecret[];
  readonly isEnabled: boolean;
  /** Why the service itself switched it off. */
  readonly switchedOff: SwitchedOff | null;
  /** Since when no attempt has gone well. */
  readonly failingSince: number | null;
  readonly createdAt: number;
  readonly createdBy: Actor;
  readonly updatedAt: number;
}

export interface SwitchedOff {
  readonly at: number;
  readonly reason: string;
}

export interface NewEndpoint {
  readonly url: string;
  readonly events: readonly EventType[];
  readonly scope: Scope;
}

/** The query of a URL may be secret: logs and the audit log get the rest. */
export const describeUrl = (url: string): string => url.split(/[?#]/, 1)[0] ?? '';

/** What the answer to a request, or its failure, leaves to be shown. */
export interface Attempt {
  readonly at: number;
  readonly durationMs: number;
  readonly url: string;
  /** Epoch seconds. */
  readonly timestamp: number;
  readonly status?: number;
  /** The first characters. */
  readonly answer?: string;
  /** Why there was no answer, or why this one is none. */
  readonly error?: string;
}

export type DeliveryKind = 'event' | 'replay' | 'test';
export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

/** One event for one endpoint. Source: docs/interface.md §6.4. */
export interface Delivery {
  readonly id: number;
  readonly endpointId: number;
  /** The project; 0 of replays and tests. */
  readonly lane: number;
  readonly kind: DeliveryKind;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly createdAt: number;
  readonly firstAttemptAt: number | null;
  readonly finishedAt: number | null;
  readonly lastAttempt: Attempt | null;
  readonly message: Message;
}

/** What is sent of an event. */
export interface Message {
  readonly number: number;
  /** The webhook-id. */
  readonly id: string;
  readonly projectId: number | null;
  readonly type: string;
  readonly at: number;
  readonly body: string;
}

/** The payload of Standard Webhooks. */
export const writeBody = (type: string, at: number, data: object): string =>
  JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** An endpoint that fails for so long is switched off. Source: docs/interface.md §6.3. */
export const GIVE_UP_MS = 72 * HOUR;

/** After the first failed attempt, the second, and so on; the last ends 72 hours after the first. */
const DELAYS_MS = [
  5 * SECOND,
  MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  18 * HOUR,
];

/** @returns when to try again after `tries` failed attempts; undefined: never */
export function planRetry(now: number, tries: number, firstAttemptAt: number): number | undefined {
  const lastAt = firstAttemptAt + GIVE_UP_MS;
  if (now >= lastAt) return undefined;
  return Math.min(now + (DELAYS_MS[tries - 1] ?? GIVE_UP_MS), lastAt);
}
