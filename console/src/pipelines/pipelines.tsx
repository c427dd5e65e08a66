import type { LastRun, Pipeline } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { LinkButton } from '../parts/button.tsx';
import { Answer, Card, Empty, Page } from '../parts/page.tsx';
import { Ago, TaskStatus } from '../parts/show.tsx';
import { formatMoment } from '../state/format.ts';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { useRelata, useRights } from '../state/session.tsx';
import { describeCounts, describeSource, describeTrigger, nameFormat } from './pipeline-draft.ts';

/** As many as a project may have. Source: docs/interface.md §13.1 rule 17. */
const MOST = 1_000;
const BUSY_MS = 1_500;
const IDLE_MS = 15_000;

export const isRunning = ({ lastRun }: Pick<Pipeline, 'lastRun'>) =>
  lastRun !== null && lastRun.finishTime === null;

/** What feeds the catalog by itself. */
export function Pipelines() {
  const project = useProject();
  const relata = useRelata();
  const { canChange } = useRights();
  const pipelines = useQuery({
    queryKey: ['pipelines', project.id],
    queryFn: async ({ signal }) => (await relata.pipelines.list(project.id, { limit: MOST, signal })).items,
    refetchInterval: ({ state }) => (state.data?.some(isRunning) ? BUSY_MS : IDLE_MS),
  });
  const create = canChange && (
    <LinkButton icon="plus" look="primary" href={linkTo('projects', project.id, 'pipelines', 'new')}>
      New pipeline
    </LinkButton>
  );
  return (
    <Page
      title="Pipelines"
      crumbs={[[project.name, linkTo('projects', project.id)]]}
      about="A pipeline reads a file, maps its columns, and updates the catalog: by hand, by schedule or by webhook."
      actions={create}
    >
      <Answer of={pipelines}>
        {(list) => (
          <Card isBare>
            {list.length === 0 ? (
              <Empty icon="pipelines" title="No pipeline yet">
                <p>
                  Use the file that your shop or ERP exports. The console reads its columns, suggests a
                  mapping and previews the first rows.
                </p>
                {create}
              </Empty>
            ) : (
              <PipelineTable pipelines={list} />
            )}
          </Card>
        )}
      </Answer>
    </Page>
  );
}

function PipelineTable({ pipelines }: { pipelines: readonly Pipeline[] }) {
  const project = useProject();
  return (
    <div className="table-box">
      <table className="table">
        <thead>
          <tr>
            <th>Pipeline</th>
            <th>Last run</th>
            <th className="wide-only">Mode</th>
            <th className="wide-only">Trigger</th>
            <th className="wide-only">Next run</th>
          </tr>
        </thead>
        <tbody>
          {pipelines.map((pipeline) => (
            <tr key={pipeline.id}>
              <td>
                <a className="strong" href={linkTo('projects', project.id, 'pipelines', pipeline.id)}>
                  {pipeline.name}
                </a>
                <div className="small soft break">
                  {nameFormat(pipeline.format)}, {describeSource(pipeline)}
                </div>
              </td>
              <td>
                <LastRunNote run={pipeline.lastRun} />
              </td>
              <td className="wide-only soft">{pipeline.mode}</td>
              <td className="wide-only soft">{describeTrigger(pipeline)}</td>
              <td className="wide-only soft nowrap">
                {pipeline.nextRunAt !== undefined && formatMoment(pipeline.nextRunAt)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function LastRunNote({ run }: { run: LastRun | null }) {
  if (run === null) return <span className="soft">never</span>;
  return (
    <>
      <span className="row">
        <TaskStatus task={run} />
        <span className="soft small">
          <Ago at={run.finishTime ?? run.startTime} />
        </span>
      </span>
      <span className="small soft">{describeCounts(run.counts)}</span>
    </>
  );
}
