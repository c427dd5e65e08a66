import { randomBytes } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import {
  type Author,
  type Beside,
  type ListPage,
  type PageRequest,
  type Reach,
  readPlace,
  toPage,
} from '../projects/projects.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import * as deliveryStore from './delivery-store.ts';
import { type Delivery, type DeliveryStatus, type Endpoint, writeBody } from './endpoint.ts';
import { ENDPOINTS } from './endpoint-store.ts';

/** A delivery with the instant at which it is tried again, if it is. */
export interface ShownDelivery extends Delivery {
  readonly dueAt: number | undefined;
}

/** Runs a transaction after which there may be something to send. */
export type Write = <Result>(work: (tx: ControlTransaction) => Promise<Result>) => Promise<Result>;

/** The deliveries of an endpoint, and those that a caller requests: replays and tests. */
export function createDeliveryLists(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  write: Write,
) {
  return {
    /** Newest first. @throws not_found */
    async listDeliveries(
      reach: Reach,
      {
        endpointId,
        status,
        ...page
      }: PageRequest & { endpointId: number; status: DeliveryStatus | undefined },
    ): Promise<ListPage<ShownDelivery>> {
      await getInReach(database.read, reach, endpointId);
      const place = readPlace(page);
      const found = await deliveryStore.listDeliveries(database.read, endpointId, { place, status });
      const due = await deliveryStore.listDue(database.read, endpointId);
      const { items, nextCursor } = toPage(found, place);
      return { items: items.map((delivery) => show(delivery, due)), nextCursor };
    },

    /** Sends an event once more, under its own id. @throws not_found */
    replay: (
      author: Author,
      { endpointId, id }: Pick<Delivery, 'endpointId' | 'id'>,
      beside: Beside<ShownDelivery>,
    ) =>
      write(async (tx) => {
        await getInReach(tx, author, endpointId);
        const former = await deliveryStore.findDelivery(tx, { endpointId, id });
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
        const [message] = await deliveryStore.insertMessages(tx, [sent]);
        return addRequested(tx, { endpointId, message: message?.number ?? 0, kind: 'test', at }, beside);
      }),
  };
}

/** In no list of types: only the caller of a test gets it. */
const TEST_TYPE = 'webhook.test';

/** Adds a replay or a test, which goes out beside the events of projects, as those may be waiting. */
async function addRequested(
  tx: ControlTransaction,
  delivery: Omit<deliveryStore.NewDelivery, 'lane'> & { readonly at: number },
  beside: Beside<ShownDelivery>,
): Promise<ShownDelivery> {
  const { endpointId, at, message, kind } = delivery;
  const [id = 0] = await deliveryStore.insertDeliveries(tx, [{ endpointId, lane: 0, message, kind }], at);
  const added = await deliveryStore.findDelivery(tx, { endpointId, id });
  if (added === undefined) throw new Error(`the delivery ${id} is not there`);
  const shown = { ...added, dueAt: at };
  await beside(tx, shown);
  return shown;
}

const show = (delivery: Delivery, due: ReadonlyMap<number, number>): ShownDelivery => ({
  ...delivery,
  dueAt: delivery.status === 'pending' ? due.get(delivery.lane) : undefined,
});

/** @throws not_found */
export async function getInReach(
  rows: Database['read'] | ControlTransaction,
  reach: Reach,
  id: number,
): Promise<Endpoint> {
  const endpoint = await ENDPOINTS.find(rows, reach, id);
  if (endpoint === undefined) throw new ServiceError('not_found');
  return endpoint;
}
