/**
 * The door of events: what happened to a project. The transaction of a change records its events, so that no event is
 * lost and none reports a change that did not happen. Events of a catalog are in the catalog's file, and all others in
 * the control database. Only the room `webhooks` determines who receives them, and how.
 */
export {
  announce,
  dropCatalogEvents,
  dropServiceEvents,
  EVENT_TYPES,
  type EventDraft,
  type EventType,
  insertEvents,
  listCatalogEvents,
  listListening,
  listProjectsWithEvents,
  listServiceEvents,
  listSubscribed,
  type RecordedEvent,
  recordEvents,
} from './outbox-store.ts';
