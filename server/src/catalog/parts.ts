import type { FailureCode } from '../kernel/errors.ts';
import type { ProjectSettings } from '../projects/projects.ts';
import type { Base } from '../storage/storage.ts';
import type { ThreadPool } from '../storage/threads/threads.ts';
import type { TaskRun, Tasks } from '../tasks/tasks.ts';
import type { Scans } from './browse/browse.ts';
import type { Ingest } from './ingest/ingest.ts';
import type { ListNaming } from './ontology/ontology.ts';
import type { CatalogStore, ChangeCounts } from './port.ts';

/** Settings of a project that concern its catalog. Source: docs/interface.md §14.2. */
export type CatalogSettings = Pick<
  ProjectSettings,
  'maxDeletePercent' | 'keptCommits' | 'keptDays' | 'onInvalid' | 'priceAttribute'
>;

/** Products that a task created, changed and deleted; after a restore none of them is said. */
export type WrittenCounts = Partial<Pick<ChangeCounts, 'created' | 'changed' | 'deleted'>>;

/** What every part of the catalog works with. */
export interface CatalogParts extends Pick<Base, 'clock' | 'database' | 'logger' | 'payloads'> {
  readonly store: CatalogStore;
  readonly ingest: Ingest;
  readonly scans: Scans;
  /** Threads that keep their priority: callers wait for what they find. */
  readonly searchers: ThreadPool;
  /** How long a search waits for its index; default: as docs/interface.md §4.13 says. */
  readonly searchWaitMs?: number | undefined;
  readonly tasks: Tasks;
  getSettings(projectId: number): Promise<CatalogSettings>;
  /** How people write numbers in the project, as `de-DE`. */
  getLocale(projectId: number): Promise<string>;
  /** Starts the removal of what nothing points to, beside everything else. */
  collectGarbage(projectId: number): void;
  /** Hears of changes and of commits that were refused, for the metrics. */
  onProductsWritten(projectId: number, counts: WrittenCounts): void;
  onCommitRefused(code: FailureCode): void;
  /** Facts follow another ontology now; awaited before the task that made them ends. */
  onOntologyFollowed(run: TaskRun): Promise<void>;
  /** What other rooms define that names attributes. */
  readonly listNaming: ListNaming;
}
