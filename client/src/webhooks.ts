import { type Page, paging } from './page.ts';
import type { BodyOf, CallOptions, Transport } from './transport.ts';

type Made = BodyOf<'postManagementWebhookEndpoints'>;
type Changed = BodyOf<'patchManagementWebhookEndpointsById'>;

/** The event types that an endpoint can subscribe to. */
export type EventType = Made['events'][number];

/** Endpoints that receive events, and their deliveries. Source: docs/interface §6. */
export function createWebhookEndpoints({ call }: Transport) {
  return {
    list: (page: Page = {}) => call('getManagementWebhookEndpoints', { query: paging(page) }, page),
    get: (id: number, options: CallOptions = {}) =>
      call('getManagementWebhookEndpointsById', { path: { id } }, options),
    /** Only this answer contains the secret. */
    create: (endpoint: Made, options: CallOptions = {}) =>
      call('postManagementWebhookEndpoints', { body: endpoint }, options),
    change: (id: number, change: Changed, options: CallOptions = {}) =>
      call('patchManagementWebhookEndpointsById', { path: { id }, body: change }, options),
    delete: (id: number, options: CallOptions = {}) =>
      call('deleteManagementWebhookEndpointsById', { path: { id } }, options),
    /** Creates a new secret. The former one also signs during the overlap. */
    rotateSecret: (id: number, overlapSeconds = 0, options: CallOptions = {}) =>
      call(
        'postManagementWebhookEndpointsByIdRotateSecret',
        { path: { id }, body: { overlapSeconds } },
        options,
      ),
    /** Newest first. */
    deliveries: (id: number, page: Page = {}) =>
      call('getManagementWebhookEndpointsByIdDeliveries', { path: { id }, query: paging(page) }, page),
    replay: (id: number, deliveryId: number, options: CallOptions = {}) =>
      call(
        'postManagementWebhookEndpointsByIdDeliveriesByDeliveryIdReplay',
        { path: { id, deliveryId } },
        options,
      ),
    test: (id: number, options: CallOptions = {}) =>
      call('postManagementWebhookEndpointsByIdTest', { path: { id } }, options),
  };
}
