import type { ChosenProject } from '../kernel/caller.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import type { Task } from '../tasks/tasks.ts';
import type { SourceRow } from './formats/source-row.ts';
import type { CellProblem, MappedProduct } from './mapping.ts';
import type { SuggestedMapping } from './mapping-suggestion.ts';
import type { Pipeline, PipelineDefinition, RunStart, UploadedFile } from './pipeline.ts';

export interface RunRequest {
  readonly startedBy: RunStart;
  readonly upload?: UploadedFile | undefined;
  /** Written in the transaction that accepts the run. */
  readonly alongside?: (tx: ControlTransaction, task: Task) => Promise<void>;
}

/** A definition to be tried; without a mapping one is suggested. */
export type TriedDefinition = Pick<PipelineDefinition, 'source' | 'format' | 'mapping' | 'mode'>;

export interface PreviewRow extends Pick<SourceRow, 'number' | 'values'> {
  readonly product?: MappedProduct;
  readonly problems?: readonly CellProblem[];
  readonly isFiltered?: true;
}

/** Source: docs/interface.md §13.5. */
export interface Preview {
  readonly found: Readonly<Record<string, string>>;
  readonly columns: readonly string[];
  readonly rows: readonly PreviewRow[];
  readonly suggestion: SuggestedMapping;
}

export interface PipelineRuns {
  /** @throws pipeline_running, pipeline_file_missing; then what stands `alongside` is not written */
  start(pipeline: Pipeline, project: ChosenProject, request: RunRequest): Promise<Task>;
  /**
   * Maps the first rows of the real source.
   * @throws source_unreadable, format_unreadable, mapping_unfit
   */
  preview(
    projectId: number,
    tried: TriedDefinition,
    file?: { name: string; bytes: Uint8Array },
  ): Promise<Preview>;
}
