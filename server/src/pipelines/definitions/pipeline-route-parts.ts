import type { AnswerOnce } from '../../http/http.ts';
import type { Caller, ChosenProject } from '../../kernel/caller.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Pipelines } from '../pipelines.ts';
import type { Pipeline } from './pipeline.ts';
import type { FindBaseUrl } from './pipeline-answers.ts';

/** Whoever sends a request. */
interface Asking {
  readonly caller: Caller;
}

/** What the routes of pipelines need. */
export interface PipelineRouteParts {
  readonly pipelines: Pipelines;
  readonly answerOnce: AnswerOnce;
  /** Of files that are sent in. */
  readonly sourceMaxMib: number;
  readonly findBaseUrl: FindBaseUrl;
  /** @throws not_found for a project that does not exist or is out of the caller's reach */
  getProject(request: Asking, projectId: number): Promise<ChosenProject>;
  /** Writes the entry of the audit log. */
  recordPipelineChange(
    tx: ControlTransaction,
    request: Asking,
    change: {
      readonly action: 'created' | 'changed' | 'deleted' | 'run' | 'trigger-id';
      readonly pipeline: Pipeline;
      readonly before?: Pipeline | undefined;
    },
  ): Promise<void>;
}
