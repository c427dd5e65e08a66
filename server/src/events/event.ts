import { randomBytes } from 'node:crypto';

/** What an endpoint can ask for. The list is closed. Source: docs/interface.md §6.2. */
export const EVENT_TYPES = [
  'task.finished',
  'task.failed',
  'catalog.committed',
  'catalog.commit_refused',
  'products.changed',
  'relation.changed',
  'relation.unhealthy',
  'channel.published',
  'pipeline.failed',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** An event as whoever makes the change describes it. */
export interface EventDraft {
  readonly type: EventType;
  readonly at: number;
  /** The number of the task that it comes from; receivers get its id. */
  readonly taskNumber?: number;
  readonly data: object;
}

/** An event that is recorded and not yet with its deliveries. */
export interface RecordedEvent {
  readonly number: number;
  /** The webhook-id. */
  readonly id: string;
  readonly type: string;
  readonly at: number;
  /** JSON */
  readonly data: string;
}

/** @returns the columns of a new event */
export const toRow = ({ type, at, taskNumber, data }: EventDraft) => ({
  id: `msg_${randomBytes(16).toString('hex')}`,
  type,
  at,
  data: JSON.stringify({ ...(taskNumber !== undefined && { taskNumber }), ...data }),
});

/** @returns the types that any of these endpoints wants; each is a JSON list */
export const readWanted = (rows: readonly { readonly events: string }[]): ReadonlySet<EventType> =>
  new Set(rows.flatMap(({ events }) => JSON.parse(events) as EventType[]));
