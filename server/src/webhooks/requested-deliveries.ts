import { randomBytes } from 'node:crypto';
import { ServiceError } from '../kernel/errors.ts';
import type { Author, Beside, ListPage, PageRequest, Reach } from '../projects/projects.ts';
import { readPlace, toPage } from '../projects/projects.ts';
import type { Base, ControlTransaction } from '../storage/storage.ts';
import { type Endpoint, writeBody } from './webhook-endpoint.ts';
import type { WebhookEndpoints } from './webhook-endpoints.ts';
import {
  type Delivery,
  type DeliveryStatus,
  findDelivery,
  insertDeliveries,
  insertMessages,
  listDeliveries,
} from './webhook-store.ts';

/** Not in the list of event types, because endpoints cannot subscribe to it. */
const TEST_TYPE = 'webhook.test';

interface RequestedParts extends Pick<Base, 'clock' | 'database'> {
  readonly endpoints: WebhookEndpoints;
  /** Runs after a delivery is durable. */
  readonly onWritten: () => void;
}

interface RequestedDelivery {
  readonly kind: 'replay' | 'test';
  readonly beside: Beside<Delivery>;
  /** @returns the number of the message to send; undefined if it does not exist */
  findMessage(tx: ControlTransaction, endpoint: Endpoint): Promise<number | undefined>;
}

/** Lists the deliveries of an endpoint, and adds those that a caller requests. */
export function createRequestedDeliveries(parts: RequestedParts) {
  const { clock, database, endpoints } = parts;
  return {
    /** Lists the newest deliveries first. @throws not_found */
    async listDeliveries(
      reach: Reach,
      endpointId: number,
      { status, ...page }: PageRequest & { status?: DeliveryStatus },
    ): Promise<ListPage<Delivery>> {
      await endpoints.get(reach, endpointId);
      const position = readPlace(page);
      return toPage(await listDeliveries(database.read, endpointId, { position, status }), position);
    },

    /** Sends an event again with the same id. @throws not_found */
    replay: (
      author: Author,
      { endpointId, id }: Pick<Delivery, 'endpointId' | 'id'>,
      beside: Beside<Delivery>,
    ) =>
      addDelivery(
        parts,
        { author, endpointId },
        {
          kind: 'replay',
          beside,
          findMessage: async (tx) => (await findDelivery(tx, { endpointId, id }))?.message.number,
        },
      ),

    /** Sends an event of the type `webhook.test`. @throws not_found */
    test: (author: Author, endpointId: number, beside: Beside<Delivery>) =>
      addDelivery(
        parts,
        { author, endpointId },
        {
          kind: 'test',
          beside,
          async findMessage(tx, { scope }) {
            const now = clock.now();
            const projectId = scope.type === 'project' ? scope.id : null;
            const body = writeBody(TEST_TYPE, now, { projectId, endpointId });
            const id = `msg_${randomBytes(16).toString('hex')}`;
            return (await insertMessages(tx, [{ id, projectId, type: TEST_TYPE, at: now, body }]))[0]?.number;
          },
        },
      ),
  };
}

/** Adds a replay or a test in its own lane, because the lanes of projects may be waiting for a retry. */
async function addDelivery(
  { clock, database, endpoints, onWritten }: RequestedParts,
  { author, endpointId }: { readonly author: Author; readonly endpointId: number },
  { kind, findMessage, beside }: RequestedDelivery,
): Promise<Delivery> {
  const added = await database.write('all', async (tx) => {
    const message = await findMessage(tx, await endpoints.getIn(tx, author, endpointId));
    if (message === undefined) throw new ServiceError('not_found');
    const requested = { endpointId, lane: 0, message, kind };
    const [id = 0] = await insertDeliveries(tx, [requested], clock.now());
    const delivery = await findDelivery(tx, { endpointId, id });
    if (delivery === undefined) throw new Error(`the new delivery ${id} does not exist`);
    await beside(tx, delivery);
    return delivery;
  });
  onWritten();
  return added;
}
