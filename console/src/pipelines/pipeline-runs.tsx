import type { Pipeline, PipelineRun } from '@relata/client';
import { TaskHistory } from '../parts/task-history.tsx';
import { useProject } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';
import { describeCounts } from './pipeline-draft.ts';
import { isRunning } from './pipelines.tsx';

const STARTED_BY: Readonly<Record<PipelineRun['startedBy'], string>> = {
  manual: 'by hand',
  upload: 'by a file',
  schedule: 'by schedule',
  webhook: 'by webhook',
};

/** The history of a pipeline. */
export function PipelineRuns({ pipeline }: { pipeline: Pipeline }) {
  const project = useProject();
  const relata = useRelata();
  const newest = pipeline.lastRun;
  return (
    <TaskHistory<PipelineRun>
      title="Runs"
      noun="run"
      queryKey={['pipeline-runs', project.id, pipeline.id, newest?.taskId, newest?.taskStatus]}
      isBusy={isRunning(pipeline)}
      read={(page) => relata.pipelines.runs({ projectId: project.id, pipelineId: pipeline.id }, page)}
      startedBy={STARTED_BY}
      describe={({ counts }) => describeCounts(counts)}
      never={
        pipeline.source.type === 'upload'
          ? 'None yet. Each uploaded file starts one.'
          : 'None yet. Run it now to test it.'
      }
    />
  );
}
