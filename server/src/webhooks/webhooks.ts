/**
 * The door of webhooks: endpoints and the delivery of events to them. A recorded event becomes a delivery for each
 * endpoint that has subscribed to its type. Deliveries are sent in order, at least once, and retried after a failure.
 * This room does not depend on the meaning of an event.
 */
import type { PageRequest, Projects, Reach } from '../projects/projects.ts';
import type { Base, Chosen } from '../storage/storage.ts';
import { createSender, type SenderSettings } from './delivery-sender.ts';
import { Dispatcher } from './dispatcher.ts';
import type { CatalogEvents } from './event-fan-out.ts';
import { createRequestedDeliveries } from './requested-deliveries.ts';
import type { EndpointChange, NewEndpoint } from './webhook-endpoint.ts';
import { type EndpointWriter, sealEndpoints, WebhookEndpoints } from './webhook-endpoints.ts';
import { countTroubled, dropOldDeliveries, removeEndpointsOf, removeProjectRows } from './webhook-store.ts';

export interface WebhookParts extends Pick<Base, 'clock' | 'database' | 'logger' | 'secrets'> {
  readonly projects: Projects;
  readonly catalogs: CatalogEvents;
  readonly sending: SenderSettings;
}

/** How long, and how many for each endpoint, ended deliveries are stored. Source: docs/interface §6.4. */
const RETENTION_MS = 7 * 24 * 3_600_000;
const RETAINED_DELIVERIES = 1_000;

export type Webhooks = ReturnType<typeof createWebhooks>;

export function createWebhooks({ projects, catalogs, sending, ...parts }: WebhookParts) {
  const { database, clock, secrets } = parts;
  const dispatcher = new Dispatcher({ ...parts, catalogs, send: createSender({ ...sending, ...parts }) });
  const onWritten = () => dispatcher.wake();
  const endpoints = new WebhookEndpoints({ database, clock, secrets, projects, onWritten });
  projects.removeWithProject('service_event');
  projects.onRemoval(async (tx, part) => {
    await removeEndpointsOf(tx, part);
    if (part.type === 'project') await removeProjectRows(tx, part.id);
  });

  return {
    /** Call it when there may be events to send. @param projectId a project whose catalog may have events */
    wake: (projectId?: number) => dispatcher.wake(projectId),
    /** Starts sending. Only processes that run tasks call it. */
    start: () => dispatcher.start(),
    close: () => dispatcher.close(),
    /** Counts over all accounts, for the metrics. */
    countTroubled: () => countTroubled(database.read),
    /** Reseals secrets with the current key at the start of the service. */
    sealSecrets: () => sealEndpoints(database, secrets),
    /** Removes old deliveries; called periodically. */
    dropOld: () =>
      dropOldDeliveries(database, { before: clock.now() - RETENTION_MS, most: RETAINED_DELIVERIES }),

    listEndpoints: (reach: Reach, page: PageRequest) => endpoints.list(reach, page),
    /** @throws not_found */
    getEndpoint: (reach: Reach, id: number) => endpoints.get(reach, id),
    /** @throws request_invalid, key_beyond_own */
    createEndpoint: (writer: EndpointWriter, given: NewEndpoint) => endpoints.create(writer, given),
    /** @throws not_found, request_invalid, changed_meanwhile */
    changeEndpoint: (writer: EndpointWriter, chosen: Chosen, given: EndpointChange) =>
      endpoints.change(writer, chosen, given),
    /** @throws not_found, changed_meanwhile */
    deleteEndpoint: (writer: EndpointWriter, chosen: Chosen) => endpoints.remove(writer, chosen),
    /** Creates a new secret. Earlier secrets also sign until the overlap ends. @throws not_found */
    rotateSecret: (
      writer: EndpointWriter,
      rotation: { readonly id: number; readonly overlapSeconds: number },
    ) => endpoints.rotateSecret(writer, rotation),
    ...createRequestedDeliveries({ database, clock, endpoints, onWritten }),
  };
}
