import type { FailureCode } from '../kernel/errors.ts';
import type { ProjectSettings } from '../projects/projects.ts';
import type { Base } from '../storage/storage.ts';
import type { TaskRun, Tasks } from '../tasks/tasks.ts';
import type { Scans } from './browse/browse.ts';
import type { Ingest } from './ingest/ingest.ts';
import type { ListNaming } from './ontology/changes/changes.ts';
import type { CatalogStore, ChangeCounts } from './port.ts';

/** Settings of a project that concern its catalog. Source: docs/interface §14.2. */
export type CatalogSettings = Pick<
  ProjectSettings,
  'maxDeletePercent' | 'keptCommits' | 'keptDays' | 'onInvalid'
>;

/** Numbers of products that a task created, changed and deleted; absent after a restore. */
export type WrittenCounts = Partial<Pick<ChangeCounts, 'created' | 'changed' | 'deleted'>>;

export interface CatalogParts extends Pick<Base, 'clock' | 'database' | 'logger' | 'payloads'> {
  readonly store: CatalogStore;
  readonly ingest: Ingest;
  readonly scans: Scans;
  readonly tasks: Tasks;
  getSettings(projectId: number): Promise<CatalogSettings>;
  /** The locale of the project's numbers, such as `de-DE`. */
  getLocale(projectId: number): Promise<string>;
  /** Starts to remove documents and rows that nothing points to, in the background. */
  collectGarbage(projectId: number): void;
  /** Updates the metrics after each change; `onCommitRefused` does so after each refused commit. */
  onProductsWritten(projectId: number, counts: WrittenCounts): void;
  /** Called when a batch of a full update is staged. */
  onStaged(projectId: number): void;
  onCommitRefused(code: FailureCode): void;
  /** Called when facts follow another ontology. The task that extracted them waits for this call before it ends. */
  onOntologyFollowed(run: TaskRun): Promise<void>;
  /** Lists the definitions of other rooms that name attributes. */
  readonly listNaming: ListNaming;
}
