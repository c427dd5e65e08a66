import { randomBytes } from 'node:crypto';
import type { EventType } from '../events/events.ts';
import { ServiceError } from '../kernel/errors.ts';
import { checkHttpUrl } from '../outbound/outbound.ts';
import {
  type Author,
  actorOf,
  auditScoped,
  type Beside,
  createResources,
  type ListPage,
  type PageRequest,
  type Projects,
  type Reach,
  readPlace,
  toPage,
  type Writer,
} from '../projects/projects.ts';
import type { Secrets } from '../storage/secrets/secrets.ts';
import {
  type Base,
  type Chosen,
  type ControlTransaction,
  type Database,
  markOf,
  type Rows,
} from '../storage/storage.ts';
import {
  describeUrl,
  type Endpoint,
  type EndpointSecret,
  makeSecret,
  type NewEndpoint,
  openSecret,
  rotate,
  sealSecret,
  writeBody,
} from './endpoint.ts';
import * as store from './webhook-store.ts';

/** A delivery with the instant at which it is tried again, if it is. */
export interface ShownDelivery extends store.Delivery {
  readonly dueAt: number | undefined;
}

/** An endpoint at the one moment at which a secret of it is shown. */
export interface MadeEndpoint extends Endpoint {
  readonly secret: string;
}

export interface EndpointChange {
  readonly url?: string;
  readonly events?: readonly EventType[];
  readonly enabled?: boolean;
}

export interface EndpointManagementParts extends Pick<Base, 'clock' | 'database' | 'secrets'> {
  readonly projects: Projects;
  /** Runs when there is something to send. */
  readonly onWritten: () => void;
}

type EndpointWriter = Writer<Endpoint, Reach>;

/** Of an account: each event is sent to all of them. */
const MOST = 100;

export type EndpointManagement = ReturnType<typeof createEndpointManagement>;

/** A caller reaches the endpoints of its own scope and below; any other is not_found. Source: docs/interface.md §6.1. */
export function createEndpointManagement(parts: EndpointManagementParts) {
  const { database, clock, projects, secrets: keys } = parts;
  const endpoints = createResources<Endpoint, Reach>(parts, {
    store: store.ENDPOINTS,
    lockOf: () => 'all',
    markOf: markOfEndpoint,
    audit: ({ id, url, scope }) =>
      auditScoped({ type: 'webhook-endpoint', id, name: describeUrl(url) }, scope),
    show: ({ url, events, isEnabled }) => ({ url: describeUrl(url), events, enabled: isEnabled }),
  });

  async function write<Result>(work: (tx: ControlTransaction) => Promise<Result>): Promise<Result> {
    const written = await database.write('all', work);
    parts.onWritten();
    return written;
  }

  return {
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
        if ((await store.ENDPOINTS.count(tx, { account_id: accountId })) >= MOST)
          throw new ServiceError('request_invalid', `an account has at most ${MOST} webhook endpoints`);
        const now = clock.now();
        const made = await store.insertEndpoint(tx, {
          ...{ ...given, events: [...new Set(given.events)], accountId },
          ...{ secrets: [], isEnabled: true, switchedOff: null, failingSince: null },
          ...{ createdAt: now, createdBy: actorOf(author), updatedAt: now },
        });
        // What is encrypted is bound to the id, which is known now.
        const after = { ...made, secrets: [{ value: sealSecret(secret, made.id, keys), endsAt: null }] };
        await store.ENDPOINTS.update(tx, after);
        return { after, details: { events: after.events, scope: after.scope } };
      });
      return { ...endpoint, secret };
    },

    /** @throws not_found, request_invalid, changed_meanwhile */
    async changeEndpoint(
      writer: EndpointWriter,
      chosen: Chosen,
      { enabled, ...given }: EndpointChange,
    ): Promise<Endpoint> {
      if (given.url !== undefined) checkUrl(given.url);
      return endpoints.change(writer, { ...chosen, what: 'changed' }, async (tx, before) => {
        const now = clock.now();
        const after = planChange(before, given, { enabled, now });
        if (!after.isEnabled && before.isEnabled) await store.stopDeliveries(tx, after.id, now);
        if (after.url !== before.url) await store.hurryLanes(tx, after.id, now);
        return { after };
      });
    },

    /** @throws not_found, changed_meanwhile */
    deleteEndpoint: (writer: EndpointWriter, chosen: Chosen): Promise<void> =>
      endpoints.remove(writer, chosen, (tx, { id }) => store.removeDeliveriesTo(tx, [id])),

    /** Makes a new secret; the former ones sign too until the overlap ends. @throws not_found */
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
      {
        endpointId,
        status,
        ...page
      }: PageRequest & { endpointId: number; status: store.DeliveryStatus | undefined },
    ): Promise<ListPage<ShownDelivery>> {
      await getInReach(database.read, reach, endpointId);
      const place = readPlace(page);
      const found = await store.listDeliveries(database.read, endpointId, { place, status });
      const due = await store.listDue(database.read, endpointId);
      const { items, nextCursor } = toPage(found, place);
      return { items: items.map((delivery) => show(delivery, due)), nextCursor };
    },

    /** Sends an event once more, under its own id. @throws not_found */
    replay: (
      author: Author,
      { endpointId, id }: Pick<store.Delivery, 'endpointId' | 'id'>,
      beside: Beside<ShownDelivery>,
    ) =>
      write(async (tx) => {
        await getInReach(tx, author, endpointId);
        const former = await store.findDelivery(tx, { endpointId, id });
        if (former === undefined) throw new ServiceError('not_found');
        const message = former.message.number;
        return addRequested(tx, { endpointId, message, kind: 'replay', at: clock.now() }, beside);
      }),

    /** Sends an event that means nothing. @throws not_found */
    test: (author: Author, endpointId: number, beside: Beside<ShownDelivery>) =>
      write(async (tx) => {
        const { scope } = await getInReach(tx, author, endpointId);
        const at = clock.now();
        const projectId = scope.type === 'project' ? scope.id : null;
        const body = writeBody(TEST_TYPE, at, { projectId, endpointId });
        const sent = { id: `msg_${randomBytes(16).toString('hex')}`, projectId, type: TEST_TYPE, at, body };
        const [message] = await store.insertMessages(tx, [sent]);
        return addRequested(tx, { endpointId, message: message?.number ?? 0, kind: 'test', at }, beside);
      }),
  };
}

/** In no list of types: only the caller of a test gets it. */
const TEST_TYPE = 'webhook.test';

/** Adds a replay or a test, which goes out beside the events of projects, as those may be waiting. */
async function addRequested(
  tx: ControlTransaction,
  delivery: Omit<store.NewDelivery, 'lane'> & { readonly at: number },
  beside: Beside<ShownDelivery>,
): Promise<ShownDelivery> {
  const { endpointId, at, message, kind } = delivery;
  const [id = 0] = await store.insertDeliveries(tx, [{ endpointId, lane: 0, message, kind }], at);
  const added = await store.findDelivery(tx, { endpointId, id });
  if (added === undefined) throw new Error(`the delivery ${id} is not there`);
  const shown = { ...added, dueAt: at };
  await beside(tx, shown);
  return shown;
}

const show = (delivery: store.Delivery, due: ReadonlyMap<number, number>): ShownDelivery => ({
  ...delivery,
  dueAt: delivery.status === 'pending' ? due.get(delivery.lane) : undefined,
});

/** @throws not_found */
async function getInReach(rows: Rows, reach: Reach, id: number): Promise<Endpoint> {
  const endpoint = await store.ENDPOINTS.find(rows, reach, id);
  if (endpoint === undefined) throw new ServiceError('not_found');
  return endpoint;
}

function planChange(
  before: Endpoint,
  given: Omit<EndpointChange, 'enabled'>,
  { enabled, now }: { enabled: boolean | undefined; now: number },
): Endpoint {
  const isEnabled = enabled ?? before.isEnabled;
  const isOther = given.url !== undefined && given.url !== before.url;
  return {
    ...before,
    ...given,
    ...(given.events && { events: [...new Set(given.events)] }),
    isEnabled,
    // What failed before says nothing about what is now.
    ...((isOther || (isEnabled && !before.isEnabled)) && { failingSince: null }),
    switchedOff: isEnabled ? null : before.switchedOff,
    updatedAt: now,
  };
}

/**
 * `failingSince` and `switchedOff` count: the author of a change has seen that it fails. Of secrets only their ends do:
 * sealing them anew is no change.
 */
export const markOfEndpoint = ({ secrets, ...endpoint }: Endpoint): string =>
  markOf([endpoint, secrets.map(({ endsAt }) => endsAt)]);

/** @throws request_invalid */
function checkUrl(url: string): void {
  const problem = checkHttpUrl(url);
  if (problem !== undefined) throw new ServiceError('request_invalid', `/url: ${problem}`);
}

/**
 * Seals with the present key what no key or an earlier one sealed.
 * @returns how many endpoints, and of how many no key opens the secrets
 */
export async function sealEndpoints(
  database: Database,
  secrets: Secrets,
): Promise<{ resealed: number; unreadable: number }> {
  const counts = { resealed: 0, unreadable: 0 };
  const isSealed = ({ value }: EndpointSecret) =>
    !secrets.canSeal || (secrets.mark !== undefined && value.startsWith(secrets.mark));
  for (const { id, secrets: stored } of await store.listEndpoints(database.read)) {
    if (stored.every(isSealed)) continue;
    try {
      await database.write('all', (tx) => sealEndpoint(tx, id, secrets));
      counts.resealed += 1;
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'secret_unreadable')) throw error;
      counts.unreadable += 1;
    }
  }
  return counts;
}

async function sealEndpoint(tx: ControlTransaction, id: number, secrets: Secrets): Promise<void> {
  const endpoint = await store.findEndpoint(tx, id);
  if (endpoint === undefined) return;
  const sealed = endpoint.secrets.map(({ value, endsAt }) => ({
    ...{ value: sealSecret(openSecret(value, id, secrets), id, secrets), endsAt },
  }));
  await store.ENDPOINTS.update(tx, { ...endpoint, secrets: sealed });
}
