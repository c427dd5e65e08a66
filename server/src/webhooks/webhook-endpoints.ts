import { ServiceError } from '../kernel/errors.ts';
import { checkHttpUrl } from '../outbound/outbound.ts';
import type { ListPage, PageRequest, Projects, Reach, ResourceParts, Writer } from '../projects/projects.ts';
import { actorOf, auditScoped, Resources } from '../projects/projects.ts';
import type { Secrets } from '../storage/secrets/secrets.ts';
import type { Base, Chosen, ControlTransaction, Database } from '../storage/storage.ts';
import { markOf } from '../storage/storage.ts';
import type { Endpoint, EndpointChange, MadeEndpoint, NewEndpoint } from './webhook-endpoint.ts';
import { describeUrl, makeSecret, openSecret, rotate, sealSecret } from './webhook-endpoint.ts';
import {
  ENDPOINTS,
  findEndpoint,
  hurryLanes,
  insertEndpoint,
  listEndpoints,
  removeDeliveriesTo,
  stopDeliveries,
} from './webhook-store.ts';

/** The maximum number of endpoints of an account, because each event may be sent to all of them. */
const MOST = 100;

export type EndpointWriter = Writer<Endpoint, Reach>;

interface EndpointParts extends ResourceParts, Pick<Base, 'clock' | 'secrets'> {
  readonly projects: Pick<Projects, 'reachesScope' | 'recordChange'>;
}

/** A caller reaches the endpoints of its own scope and below; all others are not_found. Source: docs/interface §6.1. */
export class WebhookEndpoints {
  private readonly parts: EndpointParts;
  private readonly resources: Resources<Endpoint, Reach>;

  constructor(parts: EndpointParts) {
    this.parts = parts;
    this.resources = new Resources<Endpoint, Reach>(parts, {
      store: ENDPOINTS,
      markOf: markOfEndpoint,
      audit: ({ id, url, scope }) =>
        auditScoped({ type: 'webhook-endpoint', id, name: describeUrl(url) }, scope),
      show: ({ url, events, isEnabled }) => ({ url: describeUrl(url), events, enabled: isEnabled }),
    });
  }

  list(reach: Reach, page: PageRequest): Promise<ListPage<Endpoint>> {
    return this.resources.list(reach, page);
  }

  /** @throws not_found */
  get(reach: Reach, id: number): Promise<Endpoint> {
    return this.resources.get(reach, id);
  }

  /** Reads an endpoint within a transaction. @throws not_found */
  getIn(tx: ControlTransaction, reach: Reach, id: number): Promise<Endpoint> {
    return this.resources.getIn(tx, reach, id);
  }

  /** @throws request_invalid, key_beyond_own */
  async create(writer: EndpointWriter, given: NewEndpoint): Promise<MadeEndpoint> {
    const { clock, projects, secrets: keys } = this.parts;
    const { author } = writer;
    const { accountId } = author;
    checkUrl(given.url);
    if (!(await projects.reachesScope(author, given.scope)))
      throw new ServiceError('key_beyond_own', '/scope is unknown or out of reach');
    const secret = makeSecret();
    const endpoint = await this.resources.create(writer, async (tx) => {
      if ((await ENDPOINTS.count(tx, { accountId })) >= MOST)
        throw new ServiceError(
          'request_invalid',
          `an account can have at most ${MOST} webhook endpoints: delete one first`,
        );
      const now = clock.now();
      const inserted = await insertEndpoint(tx, {
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
      // Sealing binds a secret to the id of its row, which the insert has just created.
      const after = {
        ...inserted,
        secrets: [{ value: sealSecret(secret, inserted.id, keys), endsAt: null }],
      };
      await ENDPOINTS.update(tx, after);
      return { after, details: { events: after.events, scope: after.scope } };
    });
    return { ...endpoint, secret };
  }

  /** @throws not_found, request_invalid, changed_meanwhile */
  async change(writer: EndpointWriter, chosen: Chosen, given: EndpointChange): Promise<Endpoint> {
    if (given.url !== undefined) checkUrl(given.url);
    return this.resources.change(writer, { ...chosen, what: 'changed' }, async (tx, before) => {
      const after = planChange(before, given, this.parts.clock.now());
      if (!after.isEnabled && before.isEnabled) await stopDeliveries(tx, after.id, after.updatedAt);
      if (after.url !== before.url) await hurryLanes(tx, after.id, after.updatedAt);
      return { after };
    });
  }

  /** @throws not_found, changed_meanwhile */
  remove(writer: EndpointWriter, chosen: Chosen): Promise<void> {
    return this.resources.remove(writer, chosen, (tx, { id }) => removeDeliveriesTo(tx, [id]));
  }

  /** Creates a new secret. Earlier secrets also sign until the overlap ends. @throws not_found */
  async rotateSecret(
    writer: EndpointWriter,
    { id, overlapSeconds }: { readonly id: number; readonly overlapSeconds: number },
  ): Promise<MadeEndpoint> {
    const { clock, secrets: keys } = this.parts;
    const secret = makeSecret();
    const endpoint = await this.resources.change(
      writer,
      { id, what: 'secret-rotated' },
      async (_, before) => {
        const now = clock.now();
        const value = sealSecret(secret, id, keys);
        const secrets = rotate(before.secrets, { now, overlapMs: overlapSeconds * 1_000, value });
        return { after: { ...before, secrets, updatedAt: now }, details: { overlapSeconds } };
      },
    );
    return { ...endpoint, secret };
  }
}

function planChange(before: Endpoint, { enabled, ...given }: EndpointChange, updatedAt: number): Endpoint {
  const isEnabled = enabled ?? before.isEnabled;
  const isOther = given.url !== undefined && given.url !== before.url;
  return {
    ...before,
    ...given,
    ...(given.events && { events: [...new Set(given.events)] }),
    isEnabled,
    // A new address clears earlier failures, and so does a person who switches the endpoint on.
    ...((isOther || (isEnabled && !before.isEnabled)) && { failingSince: null }),
    switchedOff: isEnabled ? null : before.switchedOff,
    updatedAt,
  };
}

/**
 * The mark includes `failingSince` and `switchedOff`, so that the author of a change has seen these failures. Secrets
 * only contribute their ends, because resealing does not count as a change. The order of the fields is fixed and does
 * not follow the columns, because the same state must have the same mark in all versions.
 */
export function markOfEndpoint({ secrets, ...endpoint }: Endpoint): string {
  const { id, accountId, scope, createdAt, createdBy, url, events, ...state } = endpoint;
  const { isEnabled, switchedOff, failingSince, updatedAt } = state;
  const creation = { id, accountId, scope, createdAt, createdBy, url, events };
  const ends = secrets.map(({ endsAt }) => endsAt);
  return markOf([{ ...creation, isEnabled, switchedOff, failingSince, updatedAt }, ends]);
}

/** @throws request_invalid */
function checkUrl(url: string): void {
  const problem = checkHttpUrl(url);
  if (problem !== undefined) throw new ServiceError('request_invalid', `/url: ${problem}`);
}

/**
 * Seals secrets with the current key if they are unsealed or were sealed with an earlier key.
 * @returns how many endpoints were resealed, and how many have secrets that no key can unseal
 */
export async function sealEndpoints(database: Database, keys: Secrets) {
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
