import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type AnswerOnce,
  DoneAnswer,
  done,
  IfMatch,
  ListQuery,
  type Routes,
  readIfMatch,
  type Server,
  sendMark,
  serve,
  serveOnce,
} from '../http/http.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Endpoint } from './endpoint.ts';
import { markOfEndpoint } from './endpoint-management.ts';
import {
  DeliveryPage,
  DeliveryParams,
  DeliveryQuery,
  EndpointPage,
  EndpointParams,
  SecretRotation,
  SentEndpoint,
  SentEndpointChange,
  toWireDelivery,
  toWireEndpoint,
  toWireMade,
  WireDelivery,
  WireEndpoint,
  WireMadeEndpoint,
} from './webhook-endpoint-schemas.ts';
import type { Webhooks } from './webhooks.ts';

export interface WebhookEndpointRouteParts {
  readonly webhooks: Webhooks;
  readonly clock: Clock;
  readonly answerOnce: AnswerOnce;
}

const config = { guard: 'management', access: 'manage' } as const;
const tags = ['Events'];
const PATH = '/management/webhook-endpoints';
const onlyOnce =
  'The secret is in this answer and never again; a repetition by `Idempotency-Key` has no `secret`.';

/** Source: docs/interface.md §6. */
export const webhookEndpointRoutes =
  (parts: WebhookEndpointRouteParts): Routes =>
  (server) => {
    serveEndpoints(server, parts);
    serveEndpoint(server, parts);
    serveRotation(server, parts);
    serveDeliveries(server, parts);
    serveAsked(server, parts);
  };

function serveEndpoints(server: Server, { webhooks, clock, answerOnce }: WebhookEndpointRouteParts): void {
  const about = { path: PATH, config, tags };
  const list = {
    ...about,
    method: 'GET',
    summary: 'List webhook endpoints',
    ...{ query: ListQuery, answer: { 200: EndpointPage } },
  } as const;
  serve(server, list, async ({ caller, query }) => {
    const { items, nextCursor } = await webhooks.listEndpoints(caller, query);
    return { items: items.map((endpoint) => toWireEndpoint(endpoint, clock.now())), nextCursor };
  });

  const create = {
    ...about,
    method: 'POST',
    summary: 'Create a webhook endpoint',
    description: `Events of the projects in its scope are sent to it from now on. ${onlyOnce}`,
    ...{ body: SentEndpoint, answer: { 201: WireMadeEndpoint }, answerOnce },
  } as const;
  serveOnce(server, create, ({ caller, body }, once) =>
    once(async (record) => {
      // The answer kept for an idempotency key is stored, and secrets must not be.
      const made = await webhooks.createEndpoint(caller, body, (tx, endpoint) =>
        record(tx, toWireEndpoint(endpoint, clock.now())),
      );
      return toWireMade(made, clock.now());
    }),
  );
}

function serveEndpoint(server: Server, { webhooks, clock, answerOnce }: WebhookEndpointRouteParts): void {
  const about = {
    ...{ path: `${PATH}/:id`, config, tags, params: EndpointParams },
    answer: { 200: WireEndpoint },
  };
  const answer = (reply: FastifyReply, endpoint: Endpoint) => {
    sendMark(reply, markOfEndpoint(endpoint));
    return toWireEndpoint(endpoint, clock.now());
  };
  const read = {
    ...about,
    method: 'GET',
    summary: 'Read a webhook endpoint; the ETag is for If-Match',
  } as const;
  serve(server, read, async ({ caller, params }, reply) =>
    answer(reply, await webhooks.getEndpoint(caller, params.id)),
  );

  const change = {
    ...about,
    method: 'PATCH',
    summary: 'Change a webhook endpoint, or switch it on or off',
    ...{ headers: IfMatch, body: SentEndpointChange, answerOnce },
  } as const;
  serveOnce(server, change, (request, once, reply) =>
    once(async (record) => {
      const { caller, params, body } = request;
      const given = { ...body, id: params.id, expected: readIfMatch(request) };
      const changed = await webhooks.changeEndpoint(caller, given, (tx, endpoint) =>
        record(tx, toWireEndpoint(endpoint, clock.now())),
      );
      return answer(reply, changed);
    }),
  );

  const remove = {
    ...about,
    method: 'DELETE',
    summary: 'Delete a webhook endpoint with its deliveries',
    ...{ headers: IfMatch, answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, remove, (request, once) =>
    once(async (record) => {
      const given = { id: request.params.id, expected: readIfMatch(request) };
      await webhooks.deleteEndpoint(request.caller, given, (tx) => record(tx, done));
      return done;
    }),
  );
}

/** Without a body the settings are the usual ones. */
const takesNothing = {
  preValidation: async (request: FastifyRequest) => {
    request.body ??= {};
  },
};

function serveRotation(server: Server, { webhooks, clock, answerOnce }: WebhookEndpointRouteParts): void {
  const endpoint = {
    method: 'POST',
    path: `${PATH}/:id/rotate-secret`,
    ...{ config, tags, hooks: takesNothing },
    summary: 'Make a new secret for a webhook endpoint',
    description: `The former one signs too until the overlap ends. ${onlyOnce}`,
    ...{ params: EndpointParams, body: SecretRotation, answer: { 200: WireMadeEndpoint }, answerOnce },
  } as const;
  serveOnce(server, endpoint, ({ caller, params, body }, once) =>
    once(async (record) => {
      const rotation = { id: params.id, overlapSeconds: body.overlapSeconds ?? 0 };
      const made = await webhooks.rotateSecret(caller, rotation, (tx, changed) =>
        record(tx, toWireEndpoint(changed, clock.now())),
      );
      return toWireMade(made, clock.now());
    }),
  );
}

function serveDeliveries(server: Server, { webhooks }: WebhookEndpointRouteParts): void {
  const endpoint = {
    method: 'GET',
    path: `${PATH}/:id/deliveries`,
    ...{ config, tags, params: EndpointParams, query: DeliveryQuery, answer: { 200: DeliveryPage } },
    summary: 'List deliveries, newest first',
    description: 'Those that ended are kept for 7 days, and 1,000 of an endpoint.',
  } as const;
  serve(server, endpoint, async ({ caller, params, query }) => {
    const { url } = await webhooks.getEndpoint(caller, params.id);
    const wish = { limit: 50, ...query, endpointId: params.id, status: query.status };
    const { items, nextCursor } = await webhooks.listDeliveries(caller, wish);
    return { items: items.map((delivery) => toWireDelivery(delivery, url)), nextCursor };
  });
}

function serveAsked(server: Server, { webhooks, answerOnce }: WebhookEndpointRouteParts): void {
  const about = { method: 'POST', config, tags, answer: { 200: WireDelivery }, answerOnce } as const;
  const replay = {
    ...about,
    path: `${PATH}/:id/deliveries/:deliveryId/replay`,
    params: DeliveryParams,
    summary: 'Send an event again',
    description: 'Once, at once, with the same `webhook-id`; the list of deliveries shows what came of it.',
  } as const;
  serveOnce(server, replay, ({ caller, params }, once) =>
    once(async (record) => {
      const { url } = await webhooks.getEndpoint(caller, params.id);
      const asked = { endpointId: params.id, id: params.deliveryId };
      const added = await webhooks.replay(caller, asked, (tx, delivery) =>
        record(tx, toWireDelivery(delivery, url)),
      );
      return toWireDelivery(added, url);
    }),
  );

  const test = {
    ...about,
    path: `${PATH}/:id/test`,
    params: EndpointParams,
    summary: 'Send a test event',
    description: 'Once, at once, of the type `webhook.test`, also to an endpoint that is switched off.',
  } as const;
  serveOnce(server, test, ({ caller, params }, once) =>
    once(async (record) => {
      const { url } = await webhooks.getEndpoint(caller, params.id);
      const added = await webhooks.test(caller, params.id, (tx, delivery) =>
        record(tx, toWireDelivery(delivery, url)),
      );
      return toWireDelivery(added, url);
    }),
  );
}
