import type { Pipeline, PipelineRun } from '@relata/client';
import { t } from '../languages/text.ts';
import { TaskHistory } from '../parts/task-history.tsx';
import { useProject } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';
import { describeCounts, isRunning } from './pipeline-draft.ts';

const nameStarters = (): Readonly<Record<PipelineRun['startedBy'], string>> => ({
  manual: t('by hand'),
  upload: t('by a file'),
  schedule: t('by schedule'),
  webhook: t('by webhook'),
});

/** The history of a pipeline. */
export function PipelineRuns({ pipeline }: { pipeline: Pipeline }) {
  const project = useProject();
  const relata = useRelata();
  const newest = pipeline.lastRun;
  return (
    <TaskHistory<PipelineRun>
      title={t('Runs')}
      noun="run"
      queryKey={['pipeline-runs', project.id, pipeline.id, newest?.taskId, newest?.taskStatus]}
      isBusy={isRunning(pipeline)}
      read={(page) => relata.pipelines.runs({ projectId: project.id, pipelineId: pipeline.id }, page)}
      startedBy={nameStarters()}
      describe={({ counts }) => describeCounts(counts)}
      never={
        pipeline.source.type === 'upload'
          ? t('None yet. Each uploaded file starts one.')
          : t('None yet. Run it now to test it.')
      }
    />
  );
}
