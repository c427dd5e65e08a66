import type { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { allowAddresses } from '../outbound/outbound.ts';
import type { Projects } from '../projects/projects.ts';
import type { Secrets, Storage } from '../storage/storage.ts';
import { createWebhooks, type Webhooks } from '../webhooks/webhooks.ts';

export interface WebhookNeeds {
  readonly config: Config;
  readonly storage: Storage;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly projects: Projects;
  readonly catalog: Catalog;
}

/** @param version of the service, sent to endpoints */
export function openWebhooks(needs: WebhookNeeds, version: string): Webhooks {
  const { config, storage, secrets, clock, logger, projects, catalog } = needs;
  return createWebhooks({
    ...{ database: storage.database, secrets, clock, logger, projects, catalogs: catalog.store },
    sending: { allows: allowAddresses(config.fetchAllow), userAgent: `relata/${version}` },
  });
}
