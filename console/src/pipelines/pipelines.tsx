import type { Pipeline } from '@relata/client';
import { t } from '../languages/text.ts';
import { DefinitionList, LastTaskNote } from '../parts/definition-list.tsx';
import { formatMoment } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';
import { describeCounts, describeSource, describeTrigger, nameFormat, nameMode } from './pipeline-draft.ts';

/** As many as a project may have. Source: docs/interface.md §13.1 rule 17. */
const MOST = 1_000;

export const isRunning = ({ lastRun }: Pick<Pipeline, 'lastRun'>) =>
  lastRun !== null && lastRun.finishTime === null;

/** What feeds the catalog by itself. */
export function Pipelines() {
  const project = useProject();
  const relata = useRelata();
  return (
    <DefinitionList<Pipeline>
      what="pipeline"
      icon="pipelines"
      about={t(
        'A pipeline reads a file, maps its columns, and updates the catalog: by hand, by schedule or by webhook.',
      )}
      hint={t(
        'Use the file that your shop or ERP exports. The console reads its columns, suggests a mapping and previews the first rows.',
      )}
      read={async (signal) => (await relata.pipelines.list(project.id, { limit: MOST, signal })).items}
      isBusy={isRunning}
      describe={(pipeline) => `${nameFormat(pipeline.format)}, ${describeSource(pipeline)}`}
      columns={[
        [t('Last run'), ({ lastRun }) => <LastRunNote run={lastRun} />],
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
}

const LastRunNote = ({ run }: { run: Pipeline['lastRun'] }) => (
  <LastTaskNote task={run}>{describeCounts(run?.counts ?? null)}</LastTaskNote>
);
