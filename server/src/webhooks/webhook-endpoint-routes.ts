import type { RecordAnswer } from '../http/answers/answers.ts';
import {
  answerAs,
  inReach,
  type Routes,
  type RouteTools,
  type Server,
  serve,
  serveKind,
  serveOnce,
} from '../http/server/server.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Beside, Reach } from '../projects/projects.ts';
import type { Endpoint, MadeEndpoint } from './webhook-endpoint.ts';
import {
  DeliveryPage,
  DeliveryParams,
  DeliveryQuery,
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
import { markOfEndpoint } from './webhook-endpoints.ts';
import type { Delivery } from './webhook-store.ts';
import type { Webhooks } from './webhooks.ts';

const config = { guard: 'management', access: 'manage' } as const;
const tags = ['Events'];
const PATH = '/management/webhook-endpoints';
const onlyOnce =
  'The secret is only in this answer; a repeated request with the same `Idempotency-Key` has no `secret`.';

interface EndpointRouteParts extends Pick<RouteTools, 'answerOnce'> {
  readonly webhooks: Webhooks;
  readonly clock: Clock;
}

/** Source: docs/interface §6. */
export const webhookEndpointRoutes =
  (parts: EndpointRouteParts): Routes =>
  (server) => {
    serveEndpoints(server, parts);
    serveDeliveries(server, parts);
    serveRequestedDeliveries(server, parts);
  };

function serveEndpoints(server: Server, { webhooks, clock, answerOnce }: EndpointRouteParts): void {
  const endpoints = serveKind<Endpoint, Reach>(server, {
    ...inReach,
    path: PATH,
    tags,
    answerOnce,
    answer: answerAs(WireEndpoint, (endpoint) => toWireEndpoint(endpoint, clock.now())),
    markOf: markOfEndpoint,
  });
  const made = answerAs(WireMadeEndpoint, (endpoint: MadeEndpoint) => toWireMade(endpoint, clock.now()));
  endpoints.list({ summary: 'List webhook endpoints', list: webhooks.listEndpoints });
  endpoints.create({
    summary: 'Create a webhook endpoint',
    description: `Events of the projects in its scope are sent to it from now on. ${onlyOnce}`,
    body: SentEndpoint,
    made,
    create: webhooks.createEndpoint,
  });
  endpoints.read({
    summary: 'Read a webhook endpoint, with an ETag for If-Match',
    get: webhooks.getEndpoint,
  });
  endpoints.change({
    method: 'PATCH',
    summary: 'Change a webhook endpoint, or switch it on or off',
    body: SentEndpointChange,
    change: webhooks.changeEndpoint,
  });
  endpoints.remove({
    summary: 'Delete a webhook endpoint with its deliveries',
    remove: webhooks.deleteEndpoint,
  });
  endpoints.change({
    method: 'POST',
    below: '/rotate-secret',
    summary: 'Rotate the secret of a webhook endpoint',
    description: `The former secret also signs until the overlap ends. ${onlyOnce}`,
    body: SecretRotation,
    made,
    change: (writer, { id }, { overlapSeconds = 0 }) => webhooks.rotateSecret(writer, { id, overlapSeconds }),
  });
}

function serveDeliveries(server: Server, { webhooks }: EndpointRouteParts): void {
  serve(server, `GET ${PATH}/:id/deliveries`, {
    config,
    tags,
    params: EndpointParams,
    query: DeliveryQuery,
    answer: { 200: DeliveryPage },
    summary: 'List deliveries, newest first',
    description: 'Ended deliveries are kept for 7 days, at most 1,000 of an endpoint.',
    async handle({ caller, params, query }) {
      const page = await webhooks.listDeliveries(caller, params.id, { limit: 50, ...query });
      return { ...page, items: page.items.map(toWireDelivery) };
    },
  });
}

/** Serves replays and tests, which are sent because a caller requested them. */
function serveRequestedDeliveries(server: Server, { webhooks, answerOnce }: EndpointRouteParts): void {
  const action = { config, tags, answer: { 200: WireDelivery }, answerOnce } as const;
  const answerAdded = async (
    record: RecordAnswer<ReturnType<typeof toWireDelivery>>,
    add: (beside: Beside<Delivery>) => Promise<Delivery>,
  ) => toWireDelivery(await add((tx, added) => record(tx, toWireDelivery(added))));
  serveOnce(server, `POST ${PATH}/:id/deliveries/:deliveryId/replay`, {
    ...action,
    params: DeliveryParams,
    summary: 'Send an event again',
    description:
      'Makes one attempt immediately, with the same `webhook-id`. The list of deliveries shows the outcome.',
    handle: ({ caller, params: { id: endpointId, deliveryId: id } }, record) =>
      answerAdded(record, (beside) => webhooks.replay(caller, { endpointId, id }, beside)),
  });
  serveOnce(server, `POST ${PATH}/:id/test`, {
    ...action,
    params: EndpointParams,
    summary: 'Send a test event',
    description:
      'Makes one attempt immediately, with the type `webhook.test`, also to an endpoint that is switched off.',
    handle: ({ caller, params }, record) =>
      answerAdded(record, (beside) => webhooks.test(caller, params.id, beside)),
  });
}
