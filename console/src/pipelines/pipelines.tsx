import type { Pipeline, PipelineRun, PipelineTrigger } from '@relata/client';
import { useRef } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { DefinitionList, DefinitionView, TaskHistory, useStart } from '../parts/definitions.tsx';
import { Card, LastTaskNote } from '../parts/page.tsx';
import { UrlCard } from '../parts/secrets.tsx';
import { MappingJson, type Pair, Pairs } from '../parts/show.tsx';
import { formatMoment, formatPercent } from '../rules/format.ts';
import { reread } from '../state/queries.ts';
import { useCalls } from '../state/rights.ts';
import {
  describeCounts,
  describeSource,
  describeTrigger,
  isRunning,
  listModes,
  nameFormat,
  nameMode,
  PIPELINE,
} from './pipeline-draft.ts';

const PARTS = ['pipeline', 'pipelines', 'pipeline-runs'];

type WebhookTrigger = Extract<PipelineTrigger, { type: 'webhook' }>;

/** One pipeline: what it does, and its runs with their triggers and results. */
export const PipelineView = () => (
  <DefinitionView
    kind={PIPELINE}
    deleting={t('Its schedule or webhook stops. The imported products stay.')}
    actions={(pipeline) => <Starts pipeline={pipeline} />}
  >
    {(pipeline) => (
      <>
        <PipelineRuns pipeline={pipeline} />
        {pipeline.trigger.type === 'webhook' && <Webhook pipeline={pipeline} trigger={pipeline.trigger} />}
        <Definition pipeline={pipeline} />
      </>
    )}
  </DefinitionView>
);

function Starts({ pipeline }: { pipeline: Pipeline }) {
  if (pipeline.source.type === 'upload') return <SendFile pipeline={pipeline} />;
  return (
    <>
      {pipeline.lastRun?.counts?.nothingNew && <RunNow pipeline={pipeline} isForced />}
      <RunNow pipeline={pipeline} />
    </>
  );
}

/** `isForced`: even if the source has not changed, for example because the ontology has. */
function RunNow({ pipeline, isForced = false }: { pipeline: Pipeline; isForced?: boolean }) {
  const { relata, projectId } = useCalls();
  const { run, isBusy } = useStart(
    t('The run has started'),
    () =>
      relata.pipelines.run({ projectId, pipelineId: pipeline.id }, isForced ? { force: true } : undefined),
    PARTS,
  );
  return (
    <Button
      look={isForced ? 'plain' : 'primary'}
      busy={isBusy}
      disabled={isRunning(pipeline)}
      onClick={() => void run()}
    >
      {isForced ? t('Read it again') : t('Run now')}
    </Button>
  );
}

function SendFile({ pipeline }: { pipeline: Pipeline }) {
  const { relata, projectId } = useCalls();
  const input = useRef<HTMLInputElement>(null);
  const { run, isBusy } = useStart(
    t('The run has started'),
    async (file: File) => {
      const ids = { projectId, pipelineId: pipeline.id };
      await relata.pipelines.upload(ids, file, { name: file.name });
    },
    PARTS,
  );
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={t('File to upload')}
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          if (file) void run(file);
          // Allows the same file to be sent again.
          target.value = '';
        }}
      />
      <Button
        look="primary"
        busy={isBusy}
        disabled={isRunning(pipeline)}
        onClick={() => input.current?.click()}
      >
        {t('Upload a file …')}
      </Button>
    </>
  );
}

function Webhook({ pipeline, trigger }: { pipeline: Pipeline; trigger: WebhookTrigger }) {
  const { relata, projectId } = useCalls();
  const ids = { projectId, pipelineId: pipeline.id };
  return (
    <UrlCard
      title={t('Webhook')}
      of="webhook"
      url={trigger.url ?? ''}
      warning={t(
        'The current URL stops working immediately and returns 404. Give the new URL to the program that starts the pipeline.',
      )}
      renew={() => relata.pipelines.renewTriggerId(ids).then(() => reread(...PARTS))}
    >
      <p className="soft">
        {rich(
          'A POST to this URL starts a run, at most once every {seconds, plural, one {# second} other {# seconds}}. It needs an account key with write access, as <code>Authorization: Bearer …</code>.',
          { seconds: trigger.minSecondsBetween ?? 0 },
        )}
      </p>
    </UrlCard>
  );
}

function Definition({ pipeline }: { pipeline: Pipeline }) {
  const { mode, onRejectedRow = 'stop' } = pipeline;
  const rejected =
    typeof onRejectedRow === 'number'
      ? t('are left out, up to {share} of the rows', { share: formatPercent(onRejectedRow) })
      : { stop: t('end the run'), continue: t('are left out') }[onRejectedRow];
  const pairs: readonly (Pair | false)[] = [
    [t('Source'), describeSource(pipeline)],
    [t('Format'), nameFormat(pipeline.format)],
    [t('Mode'), listModes().find(([value]) => value === mode)?.[1] ?? mode],
    [t('Trigger'), describeTrigger(pipeline)],
    pipeline.nextRunAt !== undefined && [t('Next run'), formatMoment(pipeline.nextRunAt)],
    [t('Rejected rows'), rejected],
    [t('Minimum products'), String(pipeline.minProducts)],
    [t('Maximum deleted'), t('{percent, number} % of the catalog', { percent: pipeline.maxDeletePercent })],
    [t('Id'), String(pipeline.id)],
  ];
  return (
    <Card title={t('Definition')}>
      <Pairs pairs={pairs} />
      {pipeline.mapping && <MappingJson mapping={pipeline.mapping} />}
    </Card>
  );
}

const nameStarters = (): Readonly<Record<PipelineRun['startedBy'], string>> => ({
  manual: t('by hand'),
  upload: t('by a file'),
  schedule: t('by schedule'),
  webhook: t('by webhook'),
});

export function PipelineRuns({ pipeline }: { pipeline: Pipeline }) {
  const { relata, projectId } = useCalls();
  const newest = pipeline.lastRun;
  return (
    <TaskHistory<PipelineRun>
      title={t('Runs')}
      noun="run"
      queryKey={['pipeline-runs', pipeline.id, newest?.taskId, newest?.taskStatus]}
      isBusy={isRunning(pipeline)}
      read={(page) => relata.pipelines.runs({ projectId, pipelineId: pipeline.id }, page)}
      startedBy={nameStarters()}
      describe={({ counts }) => describeCounts(counts)}
      never={
        pipeline.source.type === 'upload'
          ? t('None yet. Each uploaded file starts one.')
          : t('None yet. Start a run to test the pipeline.')
      }
    />
  );
}

/** The pipelines, which feed the catalog automatically. */
export const Pipelines = () => (
  <DefinitionList
    kind={PIPELINE}
    icon="pipelines"
    about={t(
      'A pipeline reads a file, maps its columns, and updates the catalog: by hand, by schedule or by webhook.',
    )}
    hint={t(
      'Use the file that your shop or ERP exports. The console reads its columns, suggests a mapping and previews the first rows.',
    )}
    describe={(pipeline) => `${nameFormat(pipeline.format)}, ${describeSource(pipeline)}`}
    columns={[
      [
        t('Last run'),
        ({ lastRun }) => (
          <LastTaskNote task={lastRun}>{describeCounts(lastRun?.counts ?? null)}</LastTaskNote>
        ),
      ],
      [t('Mode'), ({ mode }) => nameMode(mode), 'wide-only soft'],
      [t('Trigger'), describeTrigger, 'wide-only soft'],
      [
        t('Next run'),
        ({ nextRunAt }) => nextRunAt !== undefined && formatMoment(nextRunAt),
        'wide-only soft nowrap',
      ],
    ]}
  />
);
