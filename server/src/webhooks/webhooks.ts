/**
 * The door of webhooks: endpoints, to which events are sent, and their deliveries. A recorded event becomes a
 * delivery for each endpoint that listens to it; these are sent in order, at least once, and repeated after a
 * failure. Webhooks never know what an event means.
 */
import { randomBytes } from 'node:crypto';
import { ServiceError } from '../kernel/errors.ts';
import { checkHttpUrl } from '../outbound/outbound.ts';
import type { Author, Beside, ListPage, PageRequest, Projects, Reach, Writer } from '../projects/projects.ts';
import { actorOf, auditScoped, createResources, readPlace, toPage } from '../projects/projects.ts';
import type { Secrets } from '../storage/secrets/secrets.ts';
import type { Base, Chosen, ControlTransaction, Database } from '../storage/storage.ts';
import { markOf } from '../storage/storage.ts';
import { createSender, type SenderSettings } from './delivery-sender.ts';
import { type CatalogEvents, createDispatcher } from './dispatcher.ts';
import type { Endpoint, EndpointChange, MadeEndpoint, NewEndpoint } from './endpoint.ts';
import { describeUrl, makeSecret, openSecret, rotate, sealSecret, writeBody } from './endpoint.ts';
import {
  countTroubled,
  type Delivery,
  type DeliveryStatus,
  dropOldDeliveries,
  ENDPOINTS,
  findDelivery,
  findEndpoint,
  hurryLanes,
  insertDeliveries,
  insertEndpoint,
  insertMessages,
  listDeliveries,
  listEndpoints,
  removeDeliveriesTo,
  removeEndpointsOf,
  removeProjectRows,
  stopDeliveries,
} from './webhook-store.ts';

export interface WebhookParts extends Pick<Base, 'clock' | 'database' | 'logger' | 'secrets'> {
  readonly projects: Projects;
  readonly catalogs: CatalogEvents;
  readonly sending: SenderSettings;
}

/** How long, and how many for each endpoint, ended deliveries are stored. Source: docs/interface §6.4. */
const RETENTION_MS = 7 * 24 * 3_600_000;
const RETAINED_DELIVERIES = 1_000;
/** The limit for an account, as each event is sent to all of them. */
const MOST = 100;
/** Not in any list of types: only the caller of a test gets it. */
const TEST_TYPE = 'webhook.test';

type EndpointWriter = Writer<Endpoint, Reach>;

export type Webhooks = ReturnType<typeof createWebhooks>;

/** A caller reaches the endpoints of its own scope and below; all others are not_found. Source: docs/interface §6.1. */
export function createWebhooks({ projects, catalogs, sending, ...parts }: WebhookParts) {
  const { database, clock, secrets: keys } = parts;
  const dispatcher = createDispatcher({ ...parts, catalogs, send: createSender({ ...sending, ...parts }) });
  const onWritten = () => dispatcher.wake();
  const endpoints = createResources<Endpoint, Reach>(
    { database, projects, onWritten },
    {
      store: ENDPOINTS,
      markOf: markOfEndpoint,
      audit: ({ id, url, scope }) =>
        auditScoped({ type: 'webhook-endpoint', id, name: describeUrl(url) }, scope),
      show: ({ url, events, isEnabled }) => ({ url: describeUrl(url), events, enabled: isEnabled }),
    },
  );
  projects.removeWithProject('service_event');
  projects.whenGone(async (tx, gone) => {
    await removeEndpointsOf(tx, gone);
    if (gone.type === 'project') await removeProjectRows(tx, gone.id);
  });

  /** Adds a replay or a test, which is sent independently of the events of projects, as those may be waiting. */
  async function addRequested(
    author: Author,
    endpointId: number,
    {
      kind,
      findMessage,
      beside,
    }: {
      kind: 'replay' | 'test';
      findMessage(tx: ControlTransaction, endpoint: Endpoint): Promise<number | undefined>;
      beside: Beside<Delivery>;
    },
  ): Promise<Delivery> {
    const added = await database.write('all', async (tx) => {
      const message = await findMessage(tx, await endpoints.getIn(tx, author, endpointId));
      if (message === undefined) throw new ServiceError('not_found');
      const requested = { endpointId, lane: 0, message, kind };
      const [id = 0] = await insertDeliveries(tx, [requested], clock.now());
      const delivery = await findDelivery(tx, { endpointId, id });
      if (delivery === undefined) throw new Error(`the delivery ${id} is not there`);
      await beside(tx, delivery);
      return delivery;
    });
    onWritten();
    return added;
  }

  return {
    /** Reports that there may be something to send; with a project, also in its catalog. */
    wake: dispatcher.wake,
    /** Starts sending; called where tasks run. */
    start: dispatcher.start,
    close: dispatcher.close,
    /** Counts over all accounts, for the metrics. */
    countTroubled: () => countTroubled(database.read),
    /** Called at the start. */
    sealSecrets: () => sealEndpoints(database, keys),
    /** Removes old deliveries; called from time to time. */
    dropOld: () =>
      dropOldDeliveries(database, { before: clock.now() - RETENTION_MS, most: RETAINED_DELIVERIES }),

    listEndpoints: endpoints.list,
    /** @throws not_found */
    getEndpoint: endpoints.get,

    /** @throws request_invalid, key_beyond_own */
    async createEndpoint(writer: EndpointWriter, given: NewEndpoint): Promise<MadeEndpoint> {
      const { author } = writer;
      const { accountId } = author;
      checkUrl(given.url);
      if (!(await projects.reachesScope(author, given.scope)))
        throw new ServiceError('key_beyond_own', '/scope is not within reach');
      const secret = makeSecret();
      const endpoint = await endpoints.create(writer, async (tx) => {
        if ((await ENDPOINTS.count(tx, { accountId })) >= MOST)
          throw new ServiceError('request_invalid', `an account has at most ${MOST} webhook endpoints`);
        const now = clock.now();
        const made = await insertEndpoint(tx, {
          ...given,
          events: [...new Set(given.events)],
          accountId,
          secrets: [],
          isEnabled: true,
          switchedOff: null,
          failingSince: null,
          createdAt: now,
          createdBy: actorOf(author),
          updatedAt: now,
        });
        // The encryption is bound to the id, which is only known now.
        const after = { ...made, secrets: [{ value: sealSecret(secret, made.id, keys), endsAt: null }] };
        await ENDPOINTS.update(tx, after);
        return { after, details: { events: after.events, scope: after.scope } };
      });
      return { ...endpoint, secret };
    },

    /** @throws not_found, request_invalid, changed_meanwhile */
    async changeEndpoint(writer: EndpointWriter, chosen: Chosen, given: EndpointChange): Promise<Endpoint> {
      if (given.url !== undefined) checkUrl(given.url);
      return endpoints.change(writer, { ...chosen, what: 'changed' }, async (tx, before) => {
        const after = planChange(before, given, clock.now());
        if (!after.isEnabled && before.isEnabled) await stopDeliveries(tx, after.id, after.updatedAt);
        if (after.url !== before.url) await hurryLanes(tx, after.id, after.updatedAt);
        return { after };
      });
    },

    /** @throws not_found, changed_meanwhile */
    deleteEndpoint: (writer: EndpointWriter, chosen: Chosen): Promise<void> =>
      endpoints.remove(writer, chosen, (tx, { id }) => removeDeliveriesTo(tx, [id])),

    /** Creates a new secret; former ones sign too until the overlap ends. @throws not_found */
    async rotateSecret(
      writer: EndpointWriter,
      { id, overlapSeconds }: { readonly id: number; readonly overlapSeconds: number },
    ): Promise<MadeEndpoint> {
      const secret = makeSecret();
      const endpoint = await endpoints.change(writer, { id, what: 'secret-rotated' }, async (_, before) => {
        const now = clock.now();
        const value = sealSecret(secret, id, keys);
        const secrets = rotate(before.secrets, { now, overlapMs: overlapSeconds * 1_000, value });
        return { after: { ...before, secrets, updatedAt: now }, details: { overlapSeconds } };
      });
      return { ...endpoint, secret };
    },

    /** Newest first. @throws not_found */
    async listDeliveries(
      reach: Reach,
      endpointId: number,
      { status, ...page }: PageRequest & { status?: DeliveryStatus },
    ): Promise<ListPage<Delivery>> {
      await endpoints.get(reach, endpointId);
      const place = readPlace(page);
      return toPage(await listDeliveries(database.read, endpointId, { place, status }), place);
    },

    /** Sends an event again, with the same id. @throws not_found */
    replay: (
      author: Author,
      { endpointId, id }: Pick<Delivery, 'endpointId' | 'id'>,
      beside: Beside<Delivery>,
    ) =>
      addRequested(author, endpointId, {
        kind: 'replay',
        beside,
        findMessage: async (tx) => (await findDelivery(tx, { endpointId, id }))?.message.number,
      }),

    /** Sends an event without meaning. @throws not_found */
    test: (author: Author, endpointId: number, beside: Beside<Delivery>) =>
      addRequested(author, endpointId, {
        kind: 'test',
        beside,
        async findMessage(tx, { scope }) {
          const at = clock.now();
          const projectId = scope.type === 'project' ? scope.id : null;
          const body = writeBody(TEST_TYPE, at, { projectId, endpointId });
          const id = `msg_${randomBytes(16).toString('hex')}`;
          return (await insertMessages(tx, [{ id, projectId, type: TEST_TYPE, at, body }]))[0]?.number;
        },
      }),
  };
}

function planChange(before: Endpoint, { enabled, ...given }: EndpointChange, updatedAt: number): Endpoint {
  const isEnabled = enabled ?? before.isEnabled;
  const isOther = given.url !== undefined && given.url !== before.url;
  return {
    ...before,
    ...given,
    ...(given.events && { events: [...new Set(given.events)] }),
    isEnabled,
    // Earlier failures say nothing about the new address.
    ...((isOther || (isEnabled && !before.isEnabled)) && { failingSince: null }),
    switchedOff: isEnabled ? null : before.switchedOff,
    updatedAt,
  };
}

/**
 * Includes `failingSince` and `switchedOff`: the author of a change has seen that it fails. Of secrets it
 * only includes their ends, as sealing them anew is no change. The order of the fields matters, and must not
 * follow the columns: the same state has the same mark in all versions.
 */
export function markOfEndpoint({ secrets, ...endpoint }: Endpoint): string {
  const { id, accountId, scope, createdAt, createdBy, url, events, ...state } = endpoint;
  const { isEnabled, switchedOff, failingSince, updatedAt } = state;
  const made = { id, accountId, scope, createdAt, createdBy, url, events };
  const ends = secrets.map(({ endsAt }) => endsAt);
  return markOf([{ ...made, isEnabled, switchedOff, failingSince, updatedAt }, ends]);
}

/** @throws request_invalid */
function checkUrl(url: string): void {
  const problem = checkHttpUrl(url);
  if (problem !== undefined) throw new ServiceError('request_invalid', `/url: ${problem}`);
}

/** Seals with the present key what is unsealed or sealed with an earlier one. @returns how many, and how many no key opens */
async function sealEndpoints(database: Database, keys: Secrets) {
  const counts = { resealed: 0, unreadable: 0 };
  for (const { id, secrets: stored } of await listEndpoints(database.read)) {
    const { canSeal, mark } = keys;
    if (!canSeal || stored.every(({ value }) => mark !== undefined && value.startsWith(mark))) continue;
    try {
      await database.write('all', async (tx) => {
        const endpoint = await findEndpoint(tx, id);
        if (endpoint === undefined) return;
        const seal = (value: string) => sealSecret(openSecret(value, id, keys), id, keys);
        const secrets = endpoint.secrets.map(({ value, endsAt }) => ({ value: seal(value), endsAt }));
        await ENDPOINTS.update(tx, { ...endpoint, secrets });
      });
      counts.resealed += 1;
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'secret_unreadable')) throw error;
      counts.unreadable += 1;
    }
  }
  return counts;
}
