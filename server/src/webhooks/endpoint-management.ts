import type { EventType } from '../events/events.ts';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import { checkHttpUrl } from '../outbound/outbound.ts';
import {
  type Author,
  actorOf,
  type Beside,
  type Change,
  describeChange,
  type ListPage,
  type PageWish,
  type Projects,
  type Reach,
  readPlace,
  toPage,
} from '../projects/projects.ts';
import {
  type ControlTransaction,
  type Database,
  type ExpectedStates,
  markOf,
  refuseOtherState,
  type Secrets,
} from '../storage/storage.ts';
import { createDeliveryLists, getInReach, type Write } from './delivery-lists.ts';
import { describeUrl, type Endpoint, type NewEndpoint } from './endpoint.ts';
import { makeSecret, rotate, sealSecret } from './endpoint-secret.ts';
import {
  countEndpoints,
  insertEndpoint,
  listEndpointsInReach,
  removeEndpoints,
  updateEndpoint,
} from './endpoint-store.ts';
import { stopDeliveries } from './endpoint-switch.ts';
import { hurryLanes } from './queue-store.ts';

/** An endpoint at the one moment at which a secret of it is shown. */
export interface MadeEndpoint extends Endpoint {
  readonly secret: string;
}

export interface EndpointChange {
  readonly id: number;
  readonly expected: ExpectedStates;
  readonly url?: string;
  readonly events?: readonly EventType[];
  readonly enabled?: boolean;
}

export interface EndpointManagementParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly projects: Projects;
  readonly secrets: Secrets;
  /** Runs when there is something to send. */
  readonly onWritten: () => void;
}

/** Of an account: each event is sent to all of them. */
const ENDPOINTS = 100;

export type EndpointManagement = ReturnType<typeof createEndpointManagement>;

/** A caller reaches the endpoints of its own scope and below; any other is not_found. Source: docs/interface.md §6.1. */
export function createEndpointManagement(parts: EndpointManagementParts) {
  const { database, clock, projects } = parts;

  async function write<Result>(work: (tx: ControlTransaction) => Promise<Result>): Promise<Result> {
    const written = await database.write(work);
    parts.onWritten();
    return written;
  }

  return {
    async listEndpoints(reach: Reach, wish: PageWish): Promise<ListPage<Endpoint>> {
      const place = readPlace(wish);
      return toPage(await listEndpointsInReach(database.read, reach, place), place);
    },
    /** @throws not_found */
    getEndpoint: (reach: Reach, id: number) => getInReach(database.read, reach, id),

    /** @throws request_invalid, key_beyond_own */
    async createEndpoint(
      author: Author,
      given: NewEndpoint,
      beside: Beside<Endpoint>,
    ): Promise<MadeEndpoint> {
      checkUrl(given.url);
      if (!(await projects.reachesScope(author, given.scope)))
        throw new ServiceError('key_beyond_own', { details: ['/scope is not within reach'] });
      return write(async (tx) => {
        if ((await countEndpoints(tx, author.accountId)) >= ENDPOINTS)
          throw new ServiceError('request_invalid', {
            details: [`an account has at most ${ENDPOINTS} webhook endpoints`],
          });
        const now = clock.now();
        const secret = makeSecret();
        const made = await insertEndpoint(tx, {
          ...{ ...given, events: [...new Set(given.events)], accountId: author.accountId },
          ...{
            secrets: [],
            isEnabled: true,
            switchedOff: null,
            failingSince: null,
          },
          ...{ createdAt: now, createdBy: actorOf(author), updatedAt: now },
        });
        // What is encrypted is bound to the id, which is known now.
        const value = sealSecret(secret, made.id, parts.secrets);
        const endpoint = { ...made, secrets: [{ value, endsAt: null }] };
        await updateEndpoint(tx, endpoint);
        const details = { events: endpoint.events, scope: endpoint.scope };
        await projects.recordChange({ ...changeOf(author, 'created', endpoint), details }, tx);
        await beside(tx, endpoint);
        return { ...endpoint, secret };
      });
    },

    /** @throws not_found, request_invalid, changed_meanwhile */
    async changeEndpoint(
      author: Author,
      { id, expected, enabled, ...given }: EndpointChange,
      beside: Beside<Endpoint>,
    ) {
      if (given.url !== undefined) checkUrl(given.url);
      return write(async (tx) => {
        const before = await getInReach(tx, author, id);
        refuseOtherState(expected, markOfEndpoint(before));
        const endpoint = planChange(before, given, { enabled, now: clock.now() });
        await updateEndpoint(tx, endpoint);
        if (!endpoint.isEnabled && before.isEnabled) await stopDeliveries(tx, id, clock.now());
        if (endpoint.url !== before.url) await hurryLanes(tx, id, clock.now());
        const details = describeChange(toAudited(before), toAudited(endpoint));
        await projects.recordChange({ ...changeOf(author, 'changed', endpoint), details }, tx);
        await beside(tx, endpoint);
        return endpoint;
      });
    },

    ...createSecretChanges(parts, write),
    ...createDeliveryLists(parts, write),
  };
}

/** Deletion and rotation: what ends secrets. */
function createSecretChanges({ clock, projects, secrets: keys }: EndpointManagementParts, write: Write) {
  return {
    /** @throws not_found, changed_meanwhile */
    deleteEndpoint: (
      author: Author,
      { id, expected }: Pick<EndpointChange, 'id' | 'expected'>,
      beside: Beside<Endpoint>,
    ) =>
      write(async (tx) => {
        const endpoint = await getInReach(tx, author, id);
        refuseOtherState(expected, markOfEndpoint(endpoint));
        await removeEndpoints(tx, [id]);
        await projects.recordChange(changeOf(author, 'deleted', endpoint), tx);
        await beside(tx, endpoint);
      }),

    /** Makes a new secret; the former ones sign too until the overlap ends. @throws not_found */
    rotateSecret: (
      author: Author,
      { id, overlapSeconds }: { id: number; overlapSeconds: number },
      beside: Beside<Endpoint>,
    ): Promise<MadeEndpoint> =>
      write(async (tx) => {
        const before = await getInReach(tx, author, id);
        const [now, secret] = [clock.now(), makeSecret()];
        const value = sealSecret(secret, id, keys);
        const secrets = rotate(before.secrets, { now, overlapMs: overlapSeconds * 1_000, value });
        const endpoint = { ...before, secrets, updatedAt: now };
        await updateEndpoint(tx, endpoint);
        const details = { overlapSeconds };
        await projects.recordChange({ ...changeOf(author, 'secret-rotated', endpoint), details }, tx);
        await beside(tx, endpoint);
        return { ...endpoint, secret };
      }),
  };
}

function planChange(
  before: Endpoint,
  given: Pick<EndpointChange, 'url' | 'events'>,
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
 * `failingSince` and `switchedOff` count: whoever changes an endpoint has seen that it fails. Of secrets only their ends do:
 * sealing them anew is no change.
 */
export const markOfEndpoint = ({ secrets, ...endpoint }: Endpoint): string =>
  markOf([endpoint, secrets.map(({ endsAt }) => endsAt)]);

/** @throws request_invalid */
function checkUrl(url: string): void {
  const problem = checkHttpUrl(url);
  if (problem !== undefined) throw new ServiceError('request_invalid', { details: [`/url: ${problem}`] });
}

const toAudited = ({ url, events, isEnabled }: Endpoint) => ({
  url: describeUrl(url),
  events,
  enabled: isEnabled,
});

function changeOf(author: Author, what: string, { id, url, scope }: Endpoint): Change {
  return {
    author,
    ...(scope.type === 'project' && { projectId: scope.id }),
    action: `webhook-endpoint.${what}`,
    subject: {
      ...{ type: 'webhook-endpoint', id, name: describeUrl(url) },
      ...(scope.type === 'project-group' && { projectGroupId: scope.id }),
    },
  };
}
