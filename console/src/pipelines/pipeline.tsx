import type { Pipeline, PipelineTrigger } from '@relata/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { Button, LinkButton } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { Answer, Card, Page } from '../parts/page.tsx';
import { Code } from '../parts/show.tsx';
import { useTell } from '../parts/toasts.tsx';
import { formatMoment, formatPercent } from '../state/format.ts';
import { useProject } from '../state/project.ts';
import { goTo, linkTo, useRoute } from '../state/route.ts';
import { useRelata, useRights } from '../state/session.tsx';
import { describeSource, describeTrigger, MODES, nameFormat } from './pipeline-draft.ts';
import { PipelineRuns } from './pipeline-runs.tsx';
import { isRunning } from './pipelines.tsx';

const BUSY_MS = 1_500;
const IDLE_MS = 15_000;

type WebhookTrigger = Extract<PipelineTrigger, { type: 'webhook' }>;

/** One pipeline: what it does, what started it, what became of it. */
export function PipelineView() {
  const { parts } = useRoute();
  const project = useProject();
  const relata = useRelata();
  const pipelineId = Number(parts[3]);
  const read = useQuery({
    queryKey: ['pipeline', project.id, pipelineId],
    queryFn: async ({ signal }) =>
      (await relata.pipelines.get({ projectId: project.id, pipelineId }, { signal })).value,
    refetchInterval: ({ state }) => (state.data && isRunning(state.data) ? BUSY_MS : IDLE_MS),
  });
  const { canChange } = useRights();
  return (
    <Page
      title={read.data?.name ?? 'Pipeline'}
      crumbs={[
        [project.name, linkTo('projects', project.id)],
        ['Pipelines', linkTo('projects', project.id, 'pipelines')],
      ]}
      actions={canChange && read.data && <Actions pipeline={read.data} />}
    >
      <Answer of={read}>
        {(pipeline) => (
          <>
            <PipelineRuns pipeline={pipeline} />
            {pipeline.trigger.type === 'webhook' && (
              <Webhook pipeline={pipeline} trigger={pipeline.trigger} />
            )}
            <Definition pipeline={pipeline} />
          </>
        )}
      </Answer>
    </Page>
  );
}

/** After something was done with a pipeline: it, its runs and the list are read anew. */
function useRefresh() {
  const project = useProject();
  const queries = useQueryClient();
  return () =>
    Promise.all(
      ['pipeline', 'pipelines', 'pipeline-runs'].map((name) =>
        queries.invalidateQueries({ queryKey: [name, project.id] }),
      ),
    );
}

function Actions({ pipeline }: { pipeline: Pipeline }) {
  const project = useProject();
  return (
    <>
      <DeletePipeline pipeline={pipeline} />
      <LinkButton href={linkTo('projects', project.id, 'pipelines', pipeline.id, 'edit')}>Change</LinkButton>
      {pipeline.source.type === 'upload' ? (
        <SendFile pipeline={pipeline} />
      ) : (
        <>
          {pipeline.lastRun?.counts?.nothingNew && <RunNow pipeline={pipeline} isForced />}
          <RunNow pipeline={pipeline} />
        </>
      )}
    </>
  );
}

/** @returns what starts a run, and whether it is being done */
function useStart(start: (given?: File) => Promise<unknown>) {
  const tell = useTell();
  const refresh = useRefresh();
  const [isBusy, setBusy] = useState(false);
  const begin = async (file?: File) => {
    setBusy(true);
    await start(file).then(() => tell.good('The run has started'), tell.bad);
    await refresh();
    setBusy(false);
  };
  return { begin, isBusy };
}

/** `isForced`: although the source is what it was, say because the ontology changed since. */
function RunNow({ pipeline, isForced = false }: { pipeline: Pipeline; isForced?: boolean }) {
  const relata = useRelata();
  const project = useProject();
  const { begin, isBusy } = useStart(() =>
    relata.pipelines.run(
      { projectId: project.id, pipelineId: pipeline.id },
      isForced ? { force: true } : undefined,
    ),
  );
  return (
    <Button
      look={isForced ? 'plain' : 'primary'}
      busy={isBusy}
      disabled={isRunning(pipeline)}
      onClick={() => void begin()}
    >
      {isForced ? 'Read it again' : 'Run now'}
    </Button>
  );
}

function SendFile({ pipeline }: { pipeline: Pipeline }) {
  const relata = useRelata();
  const project = useProject();
  const input = useRef<HTMLInputElement>(null);
  const { begin, isBusy } = useStart(async (file) => {
    if (file === undefined) return;
    const place = { projectId: project.id, pipelineId: pipeline.id };
    await relata.pipelines.upload(place, file, { name: file.name });
  });
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="File to upload"
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          if (file) void begin(file);
          // The same file may be sent again.
          target.value = '';
        }}
      />
      <Button
        look="primary"
        busy={isBusy}
        disabled={isRunning(pipeline)}
        onClick={() => input.current?.click()}
      >
        Upload a file …
      </Button>
    </>
  );
}

function Webhook({ pipeline, trigger }: { pipeline: Pipeline; trigger: WebhookTrigger }) {
  const relata = useRelata();
  const project = useProject();
  const { canChange } = useRights();
  const refresh = useRefresh();
  const tell = useTell();
  const [isOpen, setOpen] = useState(false);
  const renew = async () => {
    await relata.pipelines.renewTriggerId({ projectId: project.id, pipelineId: pipeline.id });
    tell.good('The webhook has a new URL');
    await refresh();
  };
  return (
    <Card title="Webhook" actions={canChange && <Button onClick={() => setOpen(true)}>New URL …</Button>}>
      <p className="soft">
        A POST to this URL starts a run. It needs an account key that may write, as{' '}
        <code>Authorization: Bearer …</code>, and works at most once every {trigger.minSecondsBetween}{' '}
        seconds.
      </p>
      <Code label="The URL of the webhook" text={trigger.url ?? ''} />
      <FormDialog
        title="Change the URL of the webhook"
        action="Create a new URL"
        isDanger
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onSubmit={renew}
      >
        <p>The present URL stops working at once: calls to it get 404. Give callers the new one.</p>
      </FormDialog>
    </Card>
  );
}

function Definition({ pipeline }: { pipeline: Pipeline }) {
  const { mode, onRejectedRow = 'stop' } = pipeline;
  const rejected =
    typeof onRejectedRow === 'number'
      ? `are left out, up to ${formatPercent(onRejectedRow)} of the rows`
      : { stop: 'end the run', continue: 'are left out' }[onRejectedRow];
  const pairs: readonly (readonly [string, string])[] = [
    ['Source', describeSource(pipeline)],
    ['Format', nameFormat(pipeline.format)],
    ['Mode', MODES.find(([value]) => value === mode)?.[1] ?? mode],
    ['Trigger', describeTrigger(pipeline)],
    ...(pipeline.nextRunAt === undefined ? [] : [['Next run', formatMoment(pipeline.nextRunAt)] as const]),
    ['Rejected rows', rejected],
    ['Minimum products', String(pipeline.minProducts)],
    ['Deleted at most', `${pipeline.maxDeletePercent} % of the catalog`],
    ['Id', String(pipeline.id)],
  ];
  return (
    <Card title="Definition">
      <dl className="pairs">
        {pairs.map(([name, value]) => (
          <div key={name} className="pair">
            <dt>{name}</dt>
            <dd className="break">{value}</dd>
          </div>
        ))}
      </dl>
      {pipeline.mapping && (
        <details>
          <summary>Mapping</summary>
          <Code label="The mapping as JSON" text={JSON.stringify(pipeline.mapping, null, 2)} />
        </details>
      )}
    </Card>
  );
}

function DeletePipeline({ pipeline }: { pipeline: Pipeline }) {
  const relata = useRelata();
  const project = useProject();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const remove = async () => {
    await relata.pipelines.delete({ projectId: project.id, pipelineId: pipeline.id });
    await queries.invalidateQueries({ queryKey: ['pipelines', project.id] });
    setTimeout(() => goTo(linkTo('projects', project.id, 'pipelines')));
  };
  return (
    <>
      <Button look="danger" onClick={() => setOpen(true)}>
        Delete …
      </Button>
      <FormDialog
        title={`Delete ${pipeline.name}`}
        action="Delete the pipeline"
        isDanger
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onSubmit={remove}
      >
        <p>Its schedule or webhook ends. The products that it imported stay.</p>
      </FormDialog>
    </>
  );
}
