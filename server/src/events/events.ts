/**
 * The door of events: what happened to a project, recorded in the transaction that made it happen, so that no event is
 * lost and none tells of a change that did not happen. Events of a catalog are in the catalog's file, all others in the
 * control database. Who gets them, and how, is known to webhooks alone.
 */
export * from './outbox-store.ts';
