/**
 * The door of the catalog: it accepts products (full, incremental and partial updates, deletion, restore),
 * turns their attributes into facts by the ontology, and answers lookups. Changes of one project are tasks
 * that take effect in order; a commit is one transaction, so readers see the catalog before it or after it.
 * The catalog does not know what goes with what, nor how products are searched: relations and search are to its right.
 */
import type { CatalogFiles } from '../storage/sqlite/sqlite.ts';
import type { Task } from '../tasks/tasks.ts';
import { type OpenTally, readProductPage, scanOperations } from './browse/browse.ts';
import type { CatalogParts } from './catalog-parts.ts';
import { ingestOperations } from './ingest/ingest.ts';
import { madeAnswerOperations } from './lookup/lookup.ts';
import type { CatalogSnapshots } from './port.ts';
import { readerOperations } from './store/sqlite/sqlite.ts';
import {
  createFullUpdates,
  createOntologyChanges,
  createProductUpdates,
  createStaging,
  createUndoableCommits,
  gatherWrites,
  listLiveFullUpdates,
  undoLimitsOf,
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

/** The operations of the parsing threads. `files`: of the embedded store, which they also read for lookups. */
export const ingestThreadOperations = (snapshots: CatalogSnapshots, files?: CatalogFiles) => ({
  ...ingestOperations(snapshots),
  ...(files && readerOperations(files)),
});

/** The operations of the scanning thread, and of the one that makes long answers. `openSuggestions`: from a room to the right. */
export const scanThreadOperations = (snapshots: CatalogSnapshots, openSuggestions: OpenTally) => ({
  ...scanOperations(snapshots, openSuggestions),
  ...madeAnswerOperations(snapshots),
});

export function createCatalog(given: Omit<CatalogParts, 'collectGarbage'>) {
  const collecting = new Set<number>();
  /** Projects where more became garbage while it was being collected. */
  const again = new Set<number>();
  const parts: CatalogParts = {
    ...given,
    collectGarbage: (projectId) => void collect(projectId),
  };
  const { store, tasks, database, logger } = parts;
  const staging = createStaging(parts, (projectId, fullUpdateId) => {
    parts.onStaged(projectId);
    void collectUnlessLive(projectId, fullUpdateId);
  });
  const ontology = createOntologyChanges(parts);
  const fullUpdates = createFullUpdates(parts, staging);
  const productUpdates = createProductUpdates(parts, ontology);
  let closing = false;
  tasks.define([...fullUpdates.definitions, ...ontology.definitions, ...productUpdates.definitions]);

  /** At most one run per project at a time. */
  async function collect(projectId: number): Promise<void> {
    if (closing) return;
    if (collecting.has(projectId)) return void again.add(projectId);
    collecting.add(projectId);
    await collectAll(projectId).catch((error: unknown) =>
      // The change is committed; nothing points to the rest, and the next change continues removing it.
      logger.warn({ err: error, project: projectId }, 'removing replaced products failed, it goes on later'),
    );
    collecting.delete(projectId);
    if (again.delete(projectId)) await collect(projectId);
  }

  async function collectAll(projectId: number): Promise<void> {
    const limits = undoLimitsOf(await parts.getSettings(projectId), parts.clock.now());
    let isMore = true;
    while (isMore && !closing) {
      const live = await listLiveFullUpdates(database, projectId);
      isMore = await store.collectGarbage(projectId, { live, ...limits });
    }
  }

  /** A batch may still be staged when its full update is discarded and its staged products are removed. */
  async function collectUnlessLive(projectId: number, fullUpdateId: number): Promise<void> {
    try {
      const live = await listLiveFullUpdates(database, projectId);
      if (!live.includes(fullUpdateId)) await collect(projectId);
    } catch (error) {
      // What remains only takes space, until the next change of the project.
      logger.warn({ err: error, project: projectId }, 'a batch that was staged may stay for now');
    }
  }

  return {
    fullUpdates,
    updates: productUpdates,
    ontology,
    store,
    /** The products that a task is about to write; see `GatheredWrites`. */
    gatherWrites: (task: Task, mode: WriteMode) =>
      gatherWrites({ catalog: parts, fullUpdates, updates: productUpdates }, task, mode),
    /** Drops what a task gathered but did not write, whichever process ran it. */
    dropGathered: (task: Task) => fullUpdates.discardOf(task),
    survey: parts.scans.survey,
    commits: createUndoableCommits(parts),
    /** Counts outside the serving thread. */
    countProducts: parts.scans.countProducts,
    readProductPage: (order: { projectId: number; identifier: string }, signal: AbortSignal) =>
      readProductPage(parts, order, signal),
    openPayload: given.ingest.openPayload,
    countPages: given.ingest.countPages,
    readLegacyForm: given.ingest.readLegacyForm,
    /** Resumes what a former process left. */
    async start({ takesBatches }: { takesBatches: boolean }): Promise<void> {
      await fullUpdates.closeEnded();
      await fullUpdates.failedBatches.start(takesBatches);
    },
    async close(): Promise<void> {
      closing = true;
      await fullUpdates.failedBatches.close().finally(() => store.close());
    },
  };
}
