import type { AnswerOnce } from '../../http/http.ts';
import type { Caller } from '../../kernel/caller.ts';
import { describeChange, type Projects } from '../../projects/projects.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Pipelines } from '../pipelines.ts';
import type { Pipeline } from './pipeline.ts';
import type { FindBaseUrl } from './pipeline-answers.ts';
import { showDefinition } from './pipeline-definitions.ts';

/** What the routes of pipelines need. */
export interface PipelineRouteParts {
  readonly pipelines: Pipelines;
  readonly answerOnce: AnswerOnce;
  readonly projects: Pick<Projects, 'recordChange'>;
  /** Of files that are sent in. */
  readonly sourceMaxMib: number;
  readonly findBaseUrl: FindBaseUrl;
}

interface PipelineChange {
  readonly tx: ControlTransaction;
  readonly caller: Caller;
  readonly action: 'created' | 'changed' | 'deleted' | 'run' | 'trigger-id';
  readonly pipeline: Pipeline;
  readonly before?: Pipeline | undefined;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Writes the entry of the audit log. */
export function recordPipelineChange(
  { projects }: Pick<PipelineRouteParts, 'projects'>,
  { tx, caller: author, action, pipeline, before, details: given }: PipelineChange,
): Promise<void> {
  const { projectId, id, definition } = pipeline;
  const details = before ? describeChange(showDefinition(before), showDefinition(pipeline)) : given;
  const subject = { type: 'pipeline', id, name: definition.name };
  const change = { author, projectId, action: `pipeline.${action}`, subject };
  return projects.recordChange({ ...change, ...(details && { details }) }, tx);
}
