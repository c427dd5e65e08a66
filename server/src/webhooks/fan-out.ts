import { dropServiceEvents, listeningTo, listServiceEvents, type RecordedEvent } from '../events/events.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import * as deliveryStore from './delivery-store.ts';
import { writeBody } from './endpoint.ts';

/** Recorded events become deliveries, one for each endpoint that listens to them. */

/** Where events of catalogs are. */
export interface CatalogEvents {
  listEvents(projectId: number, limit: number): Promise<readonly RecordedEvent[]>;
  dropEvents(projectId: number, ids: readonly string[]): Promise<void>;
}

/** Events in one step: each may have 64 KiB. */
const STEP = 100;
/** Of an endpoint that does not keep up; then it is switched off. Source: docs/interface.md §6.3. */
export const PENDING_DELIVERIES = 20_000;

/**
 * Makes the deliveries of a project's oldest events. Those of the catalog are forgotten after that, and not before: should
 * the process die in between, they come again and are recognised by their ids.
 * @returns whether there may be more
 */
export async function fanOut(
  { database, catalogs }: { readonly database: Database; readonly catalogs: CatalogEvents },
  projectId: number,
  now: number,
): Promise<boolean> {
  const isEmpty =
    (await listServiceEvents(database.read, projectId, 1)).length === 0 &&
    (await catalogs.listEvents(projectId, 1)).length === 0;
  if (isEmpty) return false;
  const { ofCatalog, isMore } = await database.write(projectId, async (tx) => {
    // First these: what happened in the catalog before them is there by now, and goes out before them.
    const ofService = await listServiceEvents(tx, projectId, STEP);
    const ofCatalog = await catalogs.listEvents(projectId, STEP);
    const events = merge(ofCatalog, ofService);
    await addDeliveries(tx, { projectId, events, now });
    const done = new Set(events);
    const service = ofService.filter((event) => done.has(event)).map(({ number }) => number);
    await dropServiceEvents(tx, projectId, service);
    const isMore = ofService.length === STEP || ofCatalog.length === STEP;
    return { ofCatalog: ofCatalog.filter((event) => done.has(event)).map(({ id }) => id), isMore };
  });
  if (ofCatalog.length > 0) await catalogs.dropEvents(projectId, ofCatalog);
  return isMore;
}

/** @returns events in the order in which they happened; where a list is cut, only what comes before its end */
function merge(ofCatalog: readonly RecordedEvent[], ofService: readonly RecordedEvent[]): RecordedEvent[] {
  const reached = [ofCatalog, ofService].map((list) =>
    list.length < STEP ? Number.POSITIVE_INFINITY : (list.at(-1)?.at ?? 0),
  );
  const until = Math.min(...reached);
  // The sort is stable: a change comes before the end of its task.
  return [...ofCatalog, ...ofService].filter(({ at }) => at <= until).sort((one, other) => one.at - other.at);
}

interface Found {
  readonly projectId: number;
  readonly events: readonly RecordedEvent[];
  readonly now: number;
}

async function addDeliveries(tx: ControlTransaction, { projectId, events, now }: Found): Promise<void> {
  const endpoints = (await listeningTo(tx, projectId).execute()).map((endpoint) => ({
    id: endpoint.id,
    types: new Set(JSON.parse(endpoint.events) as string[]),
  }));
  const heard = events.filter(({ type }) => endpoints.some(({ types }) => types.has(type)));
  if (heard.length === 0) return;
  const added = await deliveryStore.insertMessages(tx, await describeMessages(tx, projectId, heard));
  const numbers = new Map(added.map(({ id, number }) => [id, number]));
  const deliveries = heard.flatMap(({ id, type }): deliveryStore.NewDelivery[] => {
    const message = numbers.get(id);
    if (message === undefined) return [];
    const listening = endpoints.filter(({ types }) => types.has(type));
    return listening.map(({ id: endpointId }) => ({ endpointId, lane: projectId, message, kind: 'event' }));
  });
  if (deliveries.length === 0) return;
  await deliveryStore.insertDeliveries(tx, deliveries, now);
  for (const id of new Set(deliveries.map(({ endpointId }) => endpointId))) await refuseBacklog(tx, id, now);
}

async function refuseBacklog(tx: ControlTransaction, endpointId: number, now: number): Promise<void> {
  const pending = await deliveryStore.countPending(tx, endpointId, PENDING_DELIVERIES + 1);
  if (pending <= PENDING_DELIVERIES) return;
  const reason = `more than ${PENDING_DELIVERIES} deliveries were waiting`;
  await deliveryStore.switchOff(tx, endpointId, { at: now, reason });
}

async function describeMessages(tx: ControlTransaction, projectId: number, events: readonly RecordedEvent[]) {
  const read = events.map(({ id, type, at, data }) => {
    const { taskNumber, ...rest } = JSON.parse(data) as { taskNumber?: number };
    return { id, type, at, taskNumber, rest };
  });
  const taskIds = await deliveryStore.findTaskIds(tx, projectId, [
    ...new Set(read.flatMap(({ taskNumber }) => taskNumber ?? [])),
  ]);
  return read.map(({ id, type, at, taskNumber, rest }) => {
    const taskId = taskNumber === undefined ? undefined : taskIds.get(taskNumber);
    const data = { projectId, ...(taskId !== undefined && { taskId }), ...rest };
    return { id, projectId, type, at, body: writeBody(type, at, data) };
  });
}
