import type { Channel } from '@relata/client';
import { t } from '../languages/text.ts';
import { DefinitionList } from '../parts/definitions.tsx';
import { LastTaskNote } from '../parts/list-page.tsx';
import { sayOf } from '../rules/choices.ts';
import { formatCount, formatMoment } from '../rules/format.ts';
import { CHANNEL, describeTrigger, findFormat, listWarnings } from './channel-draft.ts';

/** What publishes the catalog for others. */
export function Channels() {
  return (
    <DefinitionList
      kind={CHANNEL}
      icon="channels"
      about={t(
        'A channel publishes the catalog as a file for others, with the products that go with each product.',
      )}
      hint={t(
        'Choose a format, such as Google Merchant Center or CSV. The console suggests a mapping and previews the first rows.',
      )}
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
