import type { Channel, ChannelBuild, PublishedFeed } from '@relata/client';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { DefinitionList, DefinitionView, TaskHistory, useStart } from '../parts/definitions.tsx';
import { Card, LastTaskNote, Note } from '../parts/page.tsx';
import { UrlCard } from '../parts/secrets.tsx';
import { Ago, MappingJson, OutLink, Pairs } from '../parts/show.tsx';
import { translateLabel } from '../rules/choices.ts';
import { describeFilter } from '../rules/filters.ts';
import { formatCount, formatMoment, formatSize } from '../rules/format.ts';
import { describeFailure } from '../state/mistakes.ts';
import { reread } from '../state/queries.ts';
import { useCalls } from '../state/rights.ts';
import { projectLink } from '../state/route.ts';
import {
  CHANNEL,
  describeCounts,
  describeDestination,
  describeTrigger,
  findFormat,
  isBuilding,
  listWarnings,
  nameRelated,
} from './channel-draft.ts';

const PARTS = ['channel', 'channels', 'channel-builds'];

/** One channel: what it publishes and where, and the results of its builds. */
export const ChannelView = () => (
  <DefinitionView
    kind={CHANNEL}
    deleting={t('Its published files are deleted too, and its URL stops working.')}
    actions={(channel) => <BuildNow channel={channel} />}
  >
    {(channel) => (
      <>
        <Outcome channel={channel} />
        <Published channel={channel} />
        <Builds channel={channel} />
        <Definition channel={channel} />
      </>
    )}
  </DefinitionView>
);

function BuildNow({ channel }: { channel: Channel }) {
  const { relata, projectId } = useCalls();
  const ids = { projectId, channelId: channel.id };
  const { run, isBusy } = useStart(t('The build has started'), () => relata.channels.build(ids), PARTS);
  return (
    <Button look="primary" busy={isBusy} disabled={isBuilding(channel)} onClick={() => void run()}>
      {t('Build now')}
    </Button>
  );
}

function Outcome({ channel }: { channel: Channel }) {
  const { lastBuild } = channel;
  const warnings = listWarnings(channel);
  if (lastBuild === null || (warnings.length === 0 && !lastBuild.error)) return null;
  const { error, taskId } = lastBuild;
  const failure = error && describeFailure(error);
  return (
    <Note
      look={error ? 'bad' : 'warn'}
      title={failure?.message}
      lines={[...(failure?.details ?? []), ...warnings]}
    >
      <a href={projectLink('updates', taskId)}>{t('Report of the last build')}</a>
    </Note>
  );
}

function Published({ channel }: { channel: Channel }) {
  const { relata, projectId } = useCalls();
  const ids = { projectId, channelId: channel.id };
  return (
    <UrlCard
      title={t('Published')}
      of="channel"
      url={channel.url}
      warning={t(
        'The current URL stops working immediately and returns 404. Give the new URL to everyone who reads the file.',
      )}
      renew={() => relata.channels.rotateUrl(ids).then(() => reread(...PARTS))}
    >
      {channel.published === null ? (
        <p className="soft">{t('Nothing is published yet. The URL returns 404 until the first build.')}</p>
      ) : (
        <Pairs pairs={listFacts(channel.published)} />
      )}
      <p className="soft">
        {t('Anyone with the URL can read the file without a key. All builds have the same URL.')}
      </p>
    </UrlCard>
  );
}

const listFacts = ({ rows, builtAt, catalogVersion, files }: PublishedFeed) =>
  [
    [t('Rows'), formatCount(rows)],
    [t('Built'), <Ago key="built" instant={builtAt} />],
    [t('Catalog version'), formatCount(catalogVersion)],
    [t('Size'), formatSize(files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0))],
    files.length > 1 && ([t('Files'), <FileList key="files" files={files} />] as const),
  ] as const;

const FileList = ({ files }: Pick<PublishedFeed, 'files'>) => (
  <ul>
    {files.map(({ name, url, rows }) => (
      <li key={name}>
        <OutLink url={url} />{' '}
        <span className="soft small">
          {t('{count, plural, one {# row} other {# rows}}', { count: rows })}
        </span>
      </li>
    ))}
  </ul>
);

const nameStarters = (): Readonly<Record<ChannelBuild['startedBy'], string>> => ({
  manual: t('by hand'),
  schedule: t('by schedule'),
  change: t('by a change'),
});

function Builds({ channel }: { channel: Channel }) {
  const { relata, projectId } = useCalls();
  const newest = channel.lastBuild;
  return (
    <TaskHistory<ChannelBuild>
      title={t('Builds')}
      noun="build"
      queryKey={['channel-builds', channel.id, newest?.taskId, newest?.taskStatus]}
      isBusy={isBuilding(channel)}
      read={(page) => relata.channels.builds({ projectId, channelId: channel.id }, page)}
      startedBy={nameStarters()}
      describe={({ counts }) => describeCounts(counts)}
      never={t('None yet. Start a build to publish the channel.')}
    />
  );
}

function Definition({ channel }: { channel: Channel }) {
  const { format, relations, mapping } = channel;
  const feedFormat = findFormat(format);
  const related = relations.map(
    ({ as, tag, id }) =>
      `${nameRelated(as)}: ${tag === undefined ? t('relation {id}', { id }) : t('tag {tag}', { tag })}`,
  );
  const packed = format.compression === 'none' ? t('not packed') : format.compression;
  return (
    <Card title={t('Definition')}>
      <Pairs
        pairs={[
          [
            t('Format'),
            `${translateLabel(feedFormat?.label ?? format.type)}, ${format.variant ?? feedFormat?.variants[0]}${packed ? ` (${packed})` : ''}`,
          ],
          [t('Products'), describeFilter(channel.filter)],
          Boolean(channel.changes) && [t('A build contains'), t('only changes')],
          [t('Related products'), related.join(', ') || t('none')],
          [
            t('Mapping'),
            mapping ? t('set in the channel') : t('suggested from the attributes by each build'),
          ],
          [t('Trigger'), describeTrigger(channel)],
          [t('Delivered to'), channel.destinations.map(describeDestination).join('; ') || t('nowhere else')],
          channel.nextBuildAt !== undefined && [t('Next build'), formatMoment(channel.nextBuildAt)],
          [
            t('Maximum loss of rows'),
            t('{percent, number} % of the published rows', { percent: channel.maxDeletePercent }),
          ],
          [
            t('Maximum left out'),
            t('{percent, number} % of the products', { percent: channel.maxLeftOutPercent }),
          ],
          [t('Id'), String(channel.id)],
        ]}
      />
      {mapping && <MappingJson mapping={mapping} />}
    </Card>
  );
}

/** The channels, which publish the catalog for others. */
export const Channels = () => (
  <DefinitionList
    kind={CHANNEL}
    icon="channels"
    about={t(
      'A channel publishes the catalog as a file for other systems, with the related products of each product.',
    )}
    hint={t(
      'Choose a format, such as Google Merchant Center or CSV. The console suggests a mapping and previews the first rows.',
    )}
    describe={({ format }) => translateLabel(findFormat(format)?.label ?? format.type)}
    columns={[
      [
        t('Last build'),
        ({ lastBuild }) => (
          <LastTaskNote task={lastBuild}>{describeFailure(lastBuild?.error).message}</LastTaskNote>
        ),
      ],
      [t('Rows'), ({ published }) => (published ? formatCount(published.rows) : '–'), 'number'],
      [
        t('Warnings'),
        (channel) => listWarnings(channel).map((warning) => <div key={warning}>{warning}</div>),
        'soft small',
      ],
      [t('Trigger'), describeTrigger, 'wide-only soft'],
      [
        t('Next build'),
        ({ nextBuildAt }) => nextBuildAt !== undefined && formatMoment(nextBuildAt),
        'wide-only soft nowrap',
      ],
    ]}
  />
);
