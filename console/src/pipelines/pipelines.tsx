import type { Pipeline } from '@relata/client';
import { t } from '../languages/text.ts';
import { DefinitionList } from '../parts/definitions.tsx';
import { LastTaskNote } from '../parts/list-page.tsx';
import { formatMoment } from '../rules/format.ts';
import {
  describeCounts,
  describeSource,
  describeTrigger,
  nameFormat,
  nameMode,
  PIPELINE,
} from './pipeline-draft.ts';

/** What feeds the catalog by itself. */
export function Pipelines() {
  return (
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
