/**
 * The door of the catalog: it accepts products (full, incremental and partial updates, deletion, restore), turns
 * their attributes into facts by the ontology, and answers lookups. Changes of one project are tasks that take
 * effect in order; a commit is one transaction, so readers see the catalog before it or after it. The catalog has
 * no relations: they are in a room to its right.
 */
import type { CatalogFiles } from '../storage/sqlite/sqlite.ts';
import type { Task } from '../tasks/tasks.ts';
import { type OpenTally, readProductPage, scanOperations } from './browse/browse.ts';
import type { CatalogParts } from './catalog-parts.ts';
import { GarbageCollection } from './garbage-collection.ts';
import { ingestOperations } from './ingest/ingest.ts';
import { madeAnswerOperations } from './lookup/lookup.ts';
import type { CatalogSnapshots } from './port.ts';
import { readerOperations } from './store/sqlite/sqlite.ts';
import {
  createFullUpdates,
  createUndoableCommits,
  gatherWrites,
  OntologyChanges,
  ProductDeletes,
  ProductUpdates,
  ReExtraction,
  Restores,
  Staging,
  type WriteMode,
} from './updates/updates.ts';

export type {
  BatchDerivation,
  Derivation,
  Derive,
  DerivedBatch,
  DerivedFrom,
  DerivedSource,
  PlacedDocument,
} from './derivation.ts';
export type {
  CatalogSnapshot,
  CatalogSnapshots,
  CatalogStore,
  ChangeOrder,
  DeleteLimit,
  ListedPart,
  ListedRow,
  PlacedRow,
} from './port.ts';
export { openPassage } from './report-lines.ts';

export type Catalog = ReturnType<typeof createCatalog>;

/**
 * The operations of the parsing threads. `files` are the catalog files of the embedded store, which these threads
 * also read for lookups.
 */
export const ingestThreadOperations = (snapshots: CatalogSnapshots, files?: CatalogFiles) => ({
  ...ingestOperations(snapshots),
  ...(files && readerOperations(files)),
});

/**
 * The operations of the scanning thread and of the thread that makes long answers. A room to the right passes
 * `openSuggestions`.
 */
export const scanThreadOperations = (snapshots: CatalogSnapshots, openSuggestions: OpenTally) => ({
  ...scanOperations(snapshots, openSuggestions),
  ...madeAnswerOperations(snapshots),
});

export function createCatalog(baseParts: Omit<CatalogParts, 'collectGarbage'>) {
  const { tasks, store, ingest, scans } = baseParts;
  const garbage = new GarbageCollection(baseParts);
  const parts: CatalogParts = {
    ...baseParts,
    collectGarbage: (projectId) => void garbage.collect(projectId),
  };
  const staging = new Staging(parts, (projectId, fullUpdateId) => {
    parts.onStaged(projectId);
    void garbage.collectUnlessLive(projectId, fullUpdateId);
  });
  const reExtraction = new ReExtraction(parts);
  const fullUpdates = createFullUpdates(parts, staging);
  const updates = new ProductUpdates(parts);
  const deletes = new ProductDeletes(parts);
  const restores = new Restores(parts, reExtraction);
  tasks.define([...fullUpdates.definitions, reExtraction.task, updates.task, deletes.task, restores.task]);

  return {
    fullUpdates,
    updates,
    deletes,
    restores,
    ontology: new OntologyChanges(parts, reExtraction),
    store,
    /** Gathers the products that a task is about to write; see `GatheredWrites`. */
    gatherWrites: (task: Task, mode: WriteMode) =>
      gatherWrites({ catalog: parts, fullUpdates, updates, deletes }, task, mode),
    /** Discards the products that a task gathered but did not write, whichever process ran the task. */
    dropGathered: (task: Task) => fullUpdates.sessions.discardOf(task),
    survey: scans.survey,
    commits: createUndoableCommits(parts),
    /** Counts in the scanning thread, not in the serving thread. */
    countProducts: scans.countProducts,
    readProductPage: (order: { projectId: number; identifier: string }, signal: AbortSignal) =>
      readProductPage(parts, order, signal),
    ingest,
    /** Resumes the work that a former process left unfinished. */
    async start({ takesBatches }: { takesBatches: boolean }): Promise<void> {
      await fullUpdates.ends.closeEnded();
      await fullUpdates.failedBatches.start(takesBatches);
    },
    async close(): Promise<void> {
      garbage.close();
      await fullUpdates.failedBatches.close().finally(() => store.close());
    },
  };
}
