import type { RecordAnswer } from '../http/answers/answers.ts';
import * as http from '../http/server/server.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Beside, Reach } from '../projects/projects.ts';
import type { Endpoint, MadeEndpoint } from './endpoint.ts';
import * as schemas from './webhook-endpoint-schemas.ts';
import type { Delivery } from './webhook-store.ts';
import { markOfEndpoint, type Webhooks } from './webhooks.ts';

const config = { guard: 'management', access: 'manage' } as const;
const tags = ['Events'];
const PATH = '/management/webhook-endpoints';
const onlyOnce =
  'The secret is in this answer and never again; a repetition by `Idempotency-Key` has no `secret`.';

/** Source: docs/interface.md §6. */
export const webhookEndpointRoutes =
  ({ webhooks, clock, answerOnce }: http.RouteTools & { webhooks: Webhooks; clock: Clock }): http.Routes =>
  (server) => {
    const endpoints = http.serveKind<Endpoint, Reach>(server, {
      ...http.inReach,
      path: PATH,
      tags,
      answerOnce,
      answer: http.answerAs(schemas.WireEndpoint, (endpoint) =>
        schemas.toWireEndpoint(endpoint, clock.now()),
      ),
      markOf: markOfEndpoint,
    });
    const made = http.answerAs(schemas.WireMadeEndpoint, (endpoint: MadeEndpoint) =>
      schemas.toWireMade(endpoint, clock.now()),
    );
    endpoints.list({ summary: 'List webhook endpoints', list: webhooks.listEndpoints });
    endpoints.create({
      summary: 'Create a webhook endpoint',
      description: `Events of the projects in its scope are sent to it from now on. ${onlyOnce}`,
      body: schemas.SentEndpoint,
      made,
      create: webhooks.createEndpoint,
    });
    endpoints.read({
      summary: 'Read a webhook endpoint; the ETag is for If-Match',
      get: webhooks.getEndpoint,
    });
    endpoints.change({
      method: 'PATCH',
      summary: 'Change a webhook endpoint, or switch it on or off',
      body: schemas.SentEndpointChange,
      change: webhooks.changeEndpoint,
    });
    endpoints.remove({
      summary: 'Delete a webhook endpoint with its deliveries',
      remove: webhooks.deleteEndpoint,
    });
    endpoints.change({
      method: 'POST',
      below: '/rotate-secret',
      summary: 'Make a new secret for a webhook endpoint',
      description: `The former one signs too until the overlap ends. ${onlyOnce}`,
      body: schemas.SecretRotation,
      made,
      change: (writer, { id }, { overlapSeconds = 0 }) =>
        webhooks.rotateSecret(writer, { id, overlapSeconds }),
    });

    http.serve(server, `GET ${PATH}/:id/deliveries`, {
      config,
      tags,
      params: schemas.EndpointParams,
      query: schemas.DeliveryQuery,
      answer: { 200: schemas.DeliveryPage },
      summary: 'List deliveries, newest first',
      description: 'Those that ended are kept for 7 days, and 1,000 of an endpoint.',
      async handle({ caller, params, query }) {
        const page = await webhooks.listDeliveries(caller, params.id, { limit: 50, ...query });
        return { ...page, items: page.items.map(schemas.toWireDelivery) };
      },
    });
    const action = { config, tags, answer: { 200: schemas.WireDelivery }, answerOnce } as const;
    const answerAdded = async (
      record: RecordAnswer<ReturnType<typeof schemas.toWireDelivery>>,
      add: (beside: Beside<Delivery>) => Promise<Delivery>,
    ) => schemas.toWireDelivery(await add((tx, added) => record(tx, schemas.toWireDelivery(added))));
    http.serveOnce(server, `POST ${PATH}/:id/deliveries/:deliveryId/replay`, {
      ...action,
      params: schemas.DeliveryParams,
      summary: 'Send an event again',
      description: 'Once, at once, with the same `webhook-id`; the list of deliveries shows what came of it.',
      handle: ({ caller, params: { id: endpointId, deliveryId: id } }, record) =>
        answerAdded(record, (beside) => webhooks.replay(caller, { endpointId, id }, beside)),
    });
    http.serveOnce(server, `POST ${PATH}/:id/test`, {
      ...action,
      params: schemas.EndpointParams,
      summary: 'Send a test event',
      description: 'Once, at once, of the type `webhook.test`, also to an endpoint that is switched off.',
      handle: ({ caller, params }, record) =>
        answerAdded(record, (beside) => webhooks.test(caller, params.id, beside)),
    });
  };
