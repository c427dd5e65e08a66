/**
 * The door of updates: full updates from initiate to commit, incremental and partial updates, deletes and restores.
 * Each is a task that takes effect in the order of its acceptance. This room decides about changes, and the stores
 * make them.
 */
export { isGuarded, refuseDeletes } from './delete-guard.ts';
export { createFullUpdates } from './full-update.ts';
export { listLiveFullUpdates } from './full-update-store.ts';
export { type GatheredWrites, gatherWrites, type WriteMode } from './gathered-writes.ts';
export { OntologyChanges } from './ontology-changes.ts';
export { ProductDeletes } from './product-deletes.ts';
export { ProductUpdates } from './product-updates.ts';
export { ReExtraction } from './re-extraction.ts';
export { Restores } from './restores.ts';
export { Staging } from './staging.ts';
export { createUndoableCommits, undoLimitsOf } from './undoable-commits.ts';
