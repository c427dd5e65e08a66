import { randomBytes } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import {
  type Author,
  type Beside,
  type ListPage,
  type PageWish,
  type Reach,
  readPlace,
  toPage,
} from '../projects/projects.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import { findDelivery, insertDeliveries, insertMessages, listDeliveries, listDue } from './delivery-store.ts';
import { type Delivery, type DeliveryStatus, type Endpoint, writeBody } from './endpoint.ts';
import { ENDPOINTS } from './endpoint-store.ts';
import { openLanes } from './queue-store.ts';

/** A delivery with the instant at which it is tried again, if it is. */
export interface ShownDelivery extends Delivery {
  readonly dueAt: number | undefined;
}

/** Runs a transaction after which there may be something to send. */
export type Write = <Result>(work: (tx: ControlTransaction) => Promise<Result>) => Promise<Result>;

/** What was sent, and what is sent because somebody asks for it. */
export function createDeliveryLists(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  write: Write,
) {
  return {
    /** Newest first. @throws not_found */
    async listDeliveries(
      reach: Reach,
      { endpointId, status, ...wish }: PageWish & { endpointId: number; status: DeliveryStatus | undefined },
    ): Promise<ListPage<ShownDelivery>> {
      await getInReach(database.read, reach, endpointId);
      const place = readPlace(wish);
      const found = await listDeliveries(database.read, endpointId, { place, status });
      const due = await listDue(database.read, endpointId);
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
        const former = await findDelivery(tx, { endpointId, id });
        if (former === undefined) throw new ServiceError('not_found');
        const message = former.message.number;
        return addAsked(tx, { endpointId, message, kind: 'replay', at: clock.now() }, beside);
      }),

    /** Sends an event that means nothing. @throws not_found */
    test: (author: Author, endpointId: number, beside: Beside<ShownDelivery>) =>
      write(async (tx) => {
        const { scope } = await getInReach(tx, author, endpointId);
        const at = clock.now();
        const projectId = scope.type === 'project' ? scope.id : null;
        const body = writeBody(TEST_TYPE, at, { projectId, endpointId });
        const sent = { id: `msg_${randomBytes(16).toString('hex')}`, projectId, type: TEST_TYPE, at, body };
        const [message] = await insertMessages(tx, [sent]);
        return addAsked(tx, { endpointId, message: message?.number ?? 0, kind: 'test', at }, beside);
      }),
  };
}

/** Of no list: whoever asks for a test gets it. */
const TEST_TYPE = 'webhook.test';

interface Asked {
  readonly endpointId: number;
  readonly message: number;
  readonly kind: 'replay' | 'test';
  readonly at: number;
}

/** These go out beside the events of projects, which may be waiting. */
async function addAsked(
  tx: ControlTransaction,
  { endpointId, message, kind, at }: Asked,
  beside: Beside<ShownDelivery>,
): Promise<ShownDelivery> {
  const lane = { endpointId, lane: 0 };
  const [id = 0] = await insertDeliveries(tx, [{ ...lane, message, kind, createdAt: at }]);
  await openLanes(tx, [lane], at);
  const delivery = await findDelivery(tx, { endpointId, id });
  if (delivery === undefined) throw new Error(`the delivery ${id} is not there`);
  const shown = { ...delivery, dueAt: at };
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
