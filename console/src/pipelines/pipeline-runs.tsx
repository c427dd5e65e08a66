import type { Pipeline, PipelineRun } from '@relata/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Button } from '../parts/button.tsx';
import { Answer, Card } from '../parts/page.tsx';
import { Ago, Meter, TaskStatus } from '../parts/show.tsx';
import { formatDuration } from '../state/format.ts';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { describeCounts } from './pipeline-draft.ts';
import { isRunning } from './pipelines.tsx';

const BUSY_MS = 1_000;
const PAGE = 20;

/** The history of a pipeline, newest first; live while one runs. */
export function PipelineRuns({ pipeline }: { pipeline: Pipeline }) {
  const project = useProject();
  const relata = useRelata();
  const newest = pipeline.lastRun;
  const runs = useInfiniteQuery({
    // The pipeline is looked at all the time: when it has another run, or that has ended, so has its history.
    queryKey: ['pipeline-runs', project.id, pipeline.id, newest?.taskId, newest?.taskStatus],
    queryFn: ({ pageParam, signal }) =>
      relata.pipelines.runs(
        { projectId: project.id, pipelineId: pipeline.id },
        { limit: PAGE, cursor: pageParam, signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: (before) => before,
    refetchInterval: isRunning(pipeline) ? BUSY_MS : false,
  });
  return (
    <Answer of={runs}>
      {({ pages }) => {
        const list = pages.flatMap(({ items }) => items);
        const isEmpty = list.length === 0;
        return (
          <Card title="Runs" isBare={!isEmpty}>
            {isEmpty ? <Never pipeline={pipeline} /> : <RunTable runs={list} />}
            {runs.hasNextPage && (
              <div className="grid-foot">
                <Button busy={runs.isFetchingNextPage} onClick={() => void runs.fetchNextPage()}>
                  Show older ones
                </Button>
              </div>
            )}
          </Card>
        );
      }}
    </Answer>
  );
}

function Never({ pipeline }: { pipeline: Pipeline }) {
  const words =
    pipeline.source.type === 'upload'
      ? 'None yet. Each uploaded file starts one.'
      : 'None yet. Run it now to test it.';
  return <p className="soft">{words}</p>;
}

const STARTED_BY: Readonly<Record<PipelineRun['startedBy'], string>> = {
  manual: 'by hand',
  upload: 'by a file',
  schedule: 'by schedule',
  webhook: 'by webhook',
};

function RunTable({ runs }: { runs: readonly PipelineRun[] }) {
  const project = useProject();
  return (
    <div className="table-box">
      <table className="table">
        <thead>
          <tr>
            <th>Run</th>
            <th>Status</th>
            <th>Counts</th>
            <th className="wide-only">Started</th>
            <th className="wide-only number">Took</th>
          </tr>
        </thead>
        <tbody>
          {runs.map(({ task, startedBy, counts }) => (
            <tr key={task.id}>
              <td>
                <a className="strong" href={linkTo('projects', project.id, 'updates', task.id)}>
                  <Ago at={task.requestTime} />
                </a>
              </td>
              <td>
                <TaskStatus task={task} />
                {task.finishTime === null && (
                  <Meter share={task.progress / 100} label="Progress of the run" />
                )}
              </td>
              <td>
                {describeCounts(counts)}
                {task.error && <div className="small soft">{task.error.message}</div>}
              </td>
              <td className="wide-only soft">{STARTED_BY[startedBy]}</td>
              <td className="wide-only soft number nowrap">
                {task.finishTime === null ? '' : formatDuration(task.finishTime - task.requestTime)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
