/**
 * The door of webhooks: endpoints, to which events are sent, and their deliveries. What was recorded becomes a delivery for
 * each endpoint that listens to it; these go out in order, at least once, and again after a failure. Webhooks never know what
 * an event means.
 */
import type { Projects } from '../projects/projects.ts';
import type { Base } from '../storage/storage.ts';
import { createSender, type SenderSettings } from './delivery-sender.ts';
import { type CatalogEvents, createDispatcher } from './dispatcher.ts';
import { createEndpointManagement, type EndpointManagement, sealEndpoints } from './endpoint-management.ts';
import * as store from './webhook-store.ts';

export interface WebhookParts extends Pick<Base, 'clock' | 'database' | 'logger' | 'secrets'> {
  readonly projects: Projects;
  readonly catalogs: CatalogEvents;
  readonly sending: SenderSettings;
}

const DAY_MS = 24 * 3_600_000;
/** Deliveries that ended are stored for so long, and so many of an endpoint. Source: docs/interface.md §6.4. */
const RETENTION_MS = 7 * DAY_MS;
const RETAINED_DELIVERIES = 1_000;

export type Webhooks = ReturnType<typeof createWebhooks>;

export function createWebhooks({ projects, catalogs, sending, secrets, ...base }: WebhookParts) {
  const { database, clock, logger } = base;
  const dispatcher = createDispatcher({
    ...base,
    catalogs,
    send: createSender({ ...sending, secrets, logger }),
  });
  const parts = { database, clock, projects, secrets, onWritten: () => dispatcher.wake() };
  const management: EndpointManagement = createEndpointManagement(parts);
  projects.whenGone(async (tx, gone) => {
    await store.removeEndpointsOf(tx, gone);
    if (gone.type === 'project') await store.removeProjectRows(tx, gone.id);
  });

  return {
    ...management,
    /** Says that there may be something to send; with a project, also in its catalog. */
    wake: dispatcher.wake,
    /** Begins to send; called where tasks run. */
    start: dispatcher.start,
    close: dispatcher.close,
    /** Of all accounts, for the metrics. */
    countTroubled: () => store.countTroubled(database.read),
    /** Done at the start. */
    sealSecrets: () => sealEndpoints(database, secrets),
    /** Forgets old deliveries; done from time to time. */
    dropOld: () =>
      store.dropOldDeliveries(database, { before: clock.now() - RETENTION_MS, most: RETAINED_DELIVERIES }),
  };
}
