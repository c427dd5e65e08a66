import type { RecordedEvent } from '../events/events.ts';
import { dropServiceEvents, listListening, listServiceEvents } from '../events/events.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import { writeBody } from './webhook-endpoint.ts';
import {
  countPending,
  findTaskIds,
  insertDeliveries,
  insertMessages,
  type NewDelivery,
  switchOff,
} from './webhook-store.ts';

export interface CatalogEvents {
  listEvents(projectId: number, limit: number): Promise<readonly RecordedEvent[]>;
  dropEvents(projectId: number, ids: readonly string[]): Promise<void>;
}

/** The number of events in a step; an event can have 64 KiB. */
const STEP = 100;
/** An endpoint with more pending deliveries is switched off. Source: docs/interface §6.3. */
const PENDING_DELIVERIES = 20_000;

/**
 * Creates the deliveries of a project's oldest events. Events of the catalog are removed only after that. If the
 * process dies in between, they are read again and recognised by their ids.
 * @returns whether there may be more events
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
    // Read before the events of the catalog, so that all earlier events of the catalog are included and sent first.
    const ofService = await listServiceEvents(tx, projectId, STEP);
    const ofCatalog = await catalogs.listEvents(projectId, STEP);
    const events = merge(ofCatalog, ofService);
    await addDeliveries(tx, { projectId, events, now });
    const included = new Set(events);
    const service = ofService.filter((event) => included.has(event)).map(({ number }) => number);
    await dropServiceEvents(tx, projectId, service);
    const isMore = ofService.length === STEP || ofCatalog.length === STEP;
    return { ofCatalog: ofCatalog.filter((event) => included.has(event)).map(({ id }) => id), isMore };
  });
  if (ofCatalog.length > 0) await catalogs.dropEvents(projectId, ofCatalog);
  return isMore;
}

/** @returns the events in the order in which they happened; if a list is truncated, only up to its last event */
function merge(ofCatalog: readonly RecordedEvent[], ofService: readonly RecordedEvent[]): RecordedEvent[] {
  const reached = [ofCatalog, ofService].map((list) =>
    list.length < STEP ? Number.POSITIVE_INFINITY : (list.at(-1)?.at ?? 0),
  );
  const until = Math.min(...reached);
  // The sort is stable, so a change comes before the end of its task.
  return [...ofCatalog, ...ofService]
    .filter(({ at }) => at <= until)
    .sort((left, right) => left.at - right.at);
}

async function addDeliveries(
  tx: ControlTransaction,
  { projectId, events, now }: { projectId: number; events: readonly RecordedEvent[]; now: number },
): Promise<void> {
  const endpoints = await listListening(tx, projectId);
  const heard = events.filter(({ type }) => endpoints.some(({ types }) => types.has(type)));
  if (heard.length === 0) return;
  const added = await insertMessages(tx, await describeMessages(tx, projectId, heard));
  const numbers = new Map(added.map(({ id, number }) => [id, number]));
  const deliveries = heard.flatMap(({ id, type }): NewDelivery[] => {
    const message = numbers.get(id);
    if (message === undefined) return [];
    const listening = endpoints.filter(({ types }) => types.has(type));
    return listening.map(({ id: endpointId }) => ({ endpointId, lane: projectId, message, kind: 'event' }));
  });
  if (deliveries.length === 0) return;
  await insertDeliveries(tx, deliveries, now);
  const reason = `more than ${PENDING_DELIVERIES} deliveries were waiting`;
  for (const id of new Set(deliveries.map(({ endpointId }) => endpointId)))
    if ((await countPending(tx, id, PENDING_DELIVERIES + 1)) > PENDING_DELIVERIES)
      await switchOff(tx, id, { at: now, reason });
}

async function describeMessages(tx: ControlTransaction, projectId: number, events: readonly RecordedEvent[]) {
  const read = events.map(({ id, type, at, data }) => {
    const { taskNumber, ...rest } = JSON.parse(data) as { taskNumber?: number };
    return { id, type, at, taskNumber, rest };
  });
  const numbers = new Set(read.flatMap(({ taskNumber }) => taskNumber ?? []));
  const taskIds = await findTaskIds(tx, projectId, [...numbers]);
  return read.map(({ id, type, at, taskNumber, rest }) => {
    const taskId = taskNumber === undefined ? undefined : taskIds.get(taskNumber);
    const data = { projectId, ...(taskId !== undefined && { taskId }), ...rest };
    return { id, projectId, type, at, body: writeBody(type, at, data) };
  });
}
