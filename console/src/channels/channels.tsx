import type { Channel } from '@relata/client';
import { t } from '../languages/text.ts';
import { DefinitionList, LastTaskNote } from '../parts/definition-list.tsx';
import { sayOf } from '../rules/choices.ts';
import { formatCount, formatMoment } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';
import { describeTrigger, findFormat, isBuilding, listWarnings } from './channel-draft.ts';

/** As many as a project may have. Source: docs/interface.md §16.1 rule 8. */
const MOST = 1_000;

/** What publishes the catalog for others. */
export function Channels() {
  const project = useProject();
  const relata = useRelata();
  return (
    <DefinitionList<Channel>
      what="channel"
      icon="channels"
      about={t(
        'A channel publishes the catalog as a file for others, with the products that go with each product.',
      )}
      hint={t(
        'Choose a format, such as Google Merchant Center or CSV. The console suggests a mapping and previews the first rows.',
      )}
      read={async (signal) => (await relata.channels.list(project.id, { limit: MOST, signal })).items}
      isBusy={isBuilding}
      describe={({ format }) => sayOf(findFormat(format)?.label ?? format.type)}
      columns={[
        [t('Last build'), ({ lastBuild }) => <LastBuildNote build={lastBuild} />],
        [t('Rows'), ({ published }) => (published ? formatCount(published.rows) : '–'), 'number'],
        [t('Warnings'), (channel) => <Warnings channel={channel} />, 'soft small'],
        [t('Trigger'), describeTrigger, 'wide-only soft'],
        [
          t('Next build'),
          ({ nextBuildAt }) => nextBuildAt !== undefined && formatMoment(nextBuildAt),
          'wide-only soft nowrap',
        ],
      ]}
    />
  );
}

const LastBuildNote = ({ build }: { build: Channel['lastBuild'] }) => (
  <LastTaskNote task={build}>{build?.error?.message}</LastTaskNote>
);

const Warnings = ({ channel }: { channel: Channel }) =>
  listWarnings(channel).map((warning) => <div key={warning}>{warning}</div>);
