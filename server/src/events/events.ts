/**
 * The door of events: what happened to a project, recorded in the transaction that made it happen, so that no
 * event is lost and none reports a change that did not happen. Events of a catalog are in the catalog's file,
 * all others in the control database. Only webhooks knows who receives them, and how.
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
