import { Type } from 'typebox';
import { EVENT_TYPES, type EventType } from '../events/events.ts';
import { closedObject, Id, Instant, orNull, pageOf, titled } from '../http/answers/answers.ts';
import { fieldsOf } from '../http/server/server.ts';
import { optional } from '../kernel/optional.ts';
import { URL_LENGTH } from '../outbound/outbound.ts';
import { toWireScope, WireActor, WireScope } from '../projects/projects.ts';
import { type Endpoint, type MadeEndpoint, overlapEnd } from './webhook-endpoint.ts';
import type { Delivery } from './webhook-store.ts';

const OptionalInstant = (description: string) => orNull(Instant, description);
const Url = Type.String({
  minLength: 1,
  maxLength: URL_LENGTH,
  description:
    'http:// or https://, without credentials; only public addresses and those of RELATA_FETCH_ALLOW',
});
const Events = Type.Array(Type.Unsafe<EventType>({ type: 'string', enum: EVENT_TYPES }), {
  minItems: 1,
  maxItems: 50,
});
const endpointFields = {
  id: Type.Integer(),
  url: Type.String(),
  events: Type.Array(Type.String()),
  scope: WireScope,
  enabled: Type.Boolean(),
  switchedOff: orNull(
    Type.Object({ at: Instant, reason: Type.String() }),
    'why the service switched it off; null if it is on or a person switched it off',
  ),
  failingSince: OptionalInstant(
    'the first failed attempt since the last success; null if the last attempt succeeded',
  ),
  overlapEndsAt: OptionalInstant('until when former secrets also sign'),
  createdAt: Instant,
  createdBy: WireActor,
  updatedAt: Instant,
};

/** Source: docs/interface §6.1. */
export const WireEndpoint = titled('WebhookEndpoint', endpointFields);

export const WireMadeEndpoint = titled('NewWebhookEndpoint', {
  ...endpointFields,
  secret: optional.text('shown once, so a repeated request with the same Idempotency-Key has none'),
});

export const SentEndpoint = closedObject({ url: Url, events: Events, scope: WireScope });

export const SentEndpointChange = closedObject({
  url: Type.Optional(Url),
  events: Type.Optional(Events),
  enabled: optional.flag('true also switches on an endpoint that the service switched off'),
});

export const SecretRotation = closedObject({
  overlapSeconds: optional.integer({
    minimum: 0,
    maximum: 604_800,
    default: 0,
    description: 'for how long the former secret also signs',
  }),
});

export const EndpointParams = Type.Object({ id: Id });
export const DeliveryParams = Type.Object({ id: Id, deliveryId: Id });
const Status = Type.Union([Type.Literal('pending'), Type.Literal('delivered'), Type.Literal('failed')]);

/** A page has at most 100 deliveries, because a body has up to 64 KiB. */
export const DeliveryQuery = Type.Object({
  limit: optional.integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: optional.text({ maxLength: 2048, description: 'nextCursor of the previous page' }),
  status: Type.Optional(Status),
});

/** Source: docs/interface §6.4. */
export const WireDelivery = titled('WebhookDelivery', {
  id: Type.Integer(),
  webhookId: Type.String({ description: 'the header webhook-id: the same for each attempt and replay' }),
  type: Type.String(),
  projectId: orNull(Type.Integer()),
  kind: Type.Union([Type.Literal('event'), Type.Literal('replay'), Type.Literal('test')]),
  status: Status,
  attempts: Type.Integer(),
  createdAt: Instant,
  lastAttemptAt: OptionalInstant('null before the first attempt'),
  nextAttemptAt: OptionalInstant('null unless it is pending; a delivery behind another one waits for it'),
  finishedAt: OptionalInstant('null while it is pending'),
  durationMs: orNull(Type.Integer(), 'the duration of the last attempt'),
  request: Type.Object({
    url: Type.String(),
    headers: Type.Record(Type.String(), Type.String(), { description: 'without the signature' }),
    body: Type.String(),
  }),
  answer: orNull(
    Type.Object({ status: Type.Integer(), body: Type.String() }),
    'the answer to the last attempt, at most 1,000 characters; null if there was none',
  ),
  error: orNull(Type.String(), 'why the last attempt failed'),
});

export const DeliveryPage = pageOf(WireDelivery);

const toFields = fieldsOf(WireEndpoint);

export const toWireEndpoint = (endpoint: Endpoint, now: number) =>
  toFields({
    ...endpoint,
    scope: toWireScope(endpoint.scope),
    enabled: endpoint.isEnabled,
    overlapEndsAt: overlapEnd(endpoint.secrets, now),
  });

export const toWireMade = (endpoint: MadeEndpoint, now: number) => ({
  ...toWireEndpoint(endpoint, now),
  secret: endpoint.secret,
});

export function toWireDelivery(delivery: Delivery) {
  const { message, lastAttempt: last, status } = delivery;
  const timestamp = last && { 'webhook-timestamp': String(last.timestamp) };
  const headers = { 'content-type': 'application/json', 'webhook-id': message.id, ...timestamp };
  return {
    id: delivery.id,
    webhookId: message.id,
    type: message.type,
    projectId: message.projectId,
    kind: delivery.kind,
    status,
    attempts: delivery.attempts,
    createdAt: delivery.createdAt,
    lastAttemptAt: last?.at ?? null,
    nextAttemptAt: delivery.dueAt,
    finishedAt: delivery.finishedAt,
    durationMs: last?.durationMs ?? null,
    request: { url: last?.url ?? delivery.url, headers, body: message.body },
    answer: last?.status === undefined ? null : { status: last.status, body: last.answer ?? '' },
    error: last?.error ?? null,
  };
}
