import type { Pipeline, PipelineTrigger } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { Button, LinkButton } from '../parts/button.tsx';
import { DeleteButton } from '../parts/delete-button.tsx';
import { useRefresh, useStart } from '../parts/forms/saving.ts';
import { Answer, Card, Page } from '../parts/page.tsx';
import { MappingJson, Pairs } from '../parts/show.tsx';
import { UrlCard } from '../parts/url-card.tsx';
import { formatMoment, formatPercent } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { linkTo, useRoute } from '../state/route.ts';
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

const STARTED = 'The run has started';
const PARTS = ['pipeline', 'pipelines', 'pipeline-runs'];

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

/** `isForced`: although the source is what it was, say because the ontology changed since. */
function RunNow({ pipeline, isForced = false }: { pipeline: Pipeline; isForced?: boolean }) {
  const relata = useRelata();
  const project = useProject();
  const { begin, isBusy } = useStart(
    STARTED,
    () =>
      relata.pipelines.run(
        { projectId: project.id, pipelineId: pipeline.id },
        isForced ? { force: true } : undefined,
      ),
    PARTS,
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
  const { begin, isBusy } = useStart(
    STARTED,
    async (file?: File) => {
      if (file === undefined) return;
      const place = { projectId: project.id, pipelineId: pipeline.id };
      await relata.pipelines.upload(place, file, { name: file.name });
    },
    PARTS,
  );
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
  const refresh = useRefresh(...PARTS);
  const renew = async () => {
    await relata.pipelines.renewTriggerId({ projectId: project.id, pipelineId: pipeline.id });
    await refresh();
  };
  return (
    <UrlCard
      title="Webhook"
      of="webhook"
      url={trigger.url ?? ''}
      warning="The present URL stops working at once: calls to it get 404. Give callers the new one."
      renew={renew}
    >
      <p className="soft">
        A POST to this URL starts a run. It needs an account key that may write, as{' '}
        <code>Authorization: Bearer …</code>, and works at most once every {trigger.minSecondsBetween}{' '}
        seconds.
      </p>
    </UrlCard>
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
      <Pairs pairs={pairs} />
      {pipeline.mapping && <MappingJson mapping={pipeline.mapping} />}
    </Card>
  );
}

function DeletePipeline({ pipeline }: { pipeline: Pipeline }) {
  const relata = useRelata();
  const project = useProject();
  const remove = () => relata.pipelines.delete({ projectId: project.id, pipelineId: pipeline.id });
  return (
    <DeleteButton what="pipeline" name={pipeline.name} remove={remove}>
      Its schedule or webhook ends. The products that it imported stay.
    </DeleteButton>
  );
}
