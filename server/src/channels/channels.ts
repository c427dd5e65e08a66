/**
 * The door of channels, which publish a catalog for others as files. A channel is a stored definition, and a build of
 * it is a task. A build reads one version of the catalog with related products, writes an immutable snapshot, and
 * replaces the published snapshot in one step. Channels know catalogs and relations, but never how either is stored.
 */
import type { Catalog } from '../catalog/catalog.ts';
import { createDefinitions, type SentChange, type Shown } from '../definitions/definitions.ts';
import { getOutputFormat } from '../formats/formats.ts';
import type { ChosenProject } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import { createTextChecks, type TextChecks } from '../pipelines/mapping/expressions/expressions.ts';
import { AccountPlaces } from '../pipelines/pipelines.ts';
import { makeToken, type Projects } from '../projects/projects.ts';
import type { Relations } from '../relations/relations.ts';
import type { Base, Database } from '../storage/storage.ts';
import type { Tasks } from '../tasks/tasks.ts';
import {
  type BuildRequest,
  type BuildThreads,
  ChannelBuilds,
  createChangeNotices,
  createChannelSchedule,
  dropPieces,
  findServedFile,
} from './builds/builds.ts';
import {
  BUILDS,
  CHANNELS,
  type Channel,
  channelKind,
  checkChannel,
  type SentChannel,
  type Snapshot,
} from './channel-definitions/channel-definitions.ts';
import { type KeylessLimits, Ucp, type UcpChannel, type UcpParts } from './ucp/ucp.ts';

export interface ChannelParts extends Base {
  readonly tasks: Tasks;
  readonly threads: BuildThreads;
  readonly catalog: Pick<Catalog, 'countProducts' | 'store'>;
  readonly search: UcpParts['search'];
  readonly relations: Pick<Relations, 'list' | 'answer' | 'judgeFit'>;
  readonly projects: Pick<Projects, 'recordChange' | 'removeWithProject'>;
  /** The budget of callers without a key. */
  readonly keyless: KeylessLimits;
}

/** Each preview has its own thread for up to a minute. */
const PREVIEWS = { inProcess: 2, inAccount: 1, waiting: 4 } as const;

export type Channels = ReturnType<typeof createChannels>;

export function createChannels(parts: ChannelParts) {
  const { database, payloads, secrets, clock, logger, tasks, threads, catalog } = parts;
  const { countProducts } = catalog;
  const builds = new ChannelBuilds({ database, payloads, secrets, tasks, threads, countProducts });
  const scheduled = { database, logger, builds, readVersion: catalog.store.readVersion };
  const textChecks = createTextChecks();
  parts.projects.removeWithProject(CHANNELS.name, BUILDS.name, 'channel_snapshot');

  const readCatalog = (projectId: number) => readCheckedCatalog(parts, projectId);
  const dropSnapshots = (snapshots: readonly Snapshot[]) => dropPieces(payloads, snapshots);
  const definitions = createDefinitions(
    parts,
    channelKind({ database, clock, textChecks, readCatalog, dropSnapshots }),
  );

  return {
    ...definitions,
    /** Gives the published files a new address, after which the old address answers 404. @throws not_found */
    rotateUrl: (change: SentChange<Shown<Channel, Snapshot>>, { id }: { readonly id: number }) =>
      definitions.renew(change, { id, what: 'url-rotated' }, (state) => ({ ...state, token: makeToken() })),
    /** Runs in the processes that run tasks. */
    schedule: createChannelSchedule(scheduled),
    /** Runs in the processes that write catalogs. `noteWrite` notes the project of a written catalog. */
    ...createChangeNotices(scheduled),
    close: () => threads.close(),

    /** @throws channel_building, channel_served */
    build(channel: Channel, project: ChosenProject, alongside: BuildRequest['alongside']) {
      const { type, servedAs } = getOutputFormat(channel.definition.format.type);
      if (servedAs !== undefined) throw new ServiceError('channel_served', { values: [type] });
      return builds.start(channel, project, { startedBy: 'manual', ...(alongside && { alongside }) });
    },

    ucp: new Ucp(parts),
    /** @returns the channel with this token that the protocol serves @throws not_found */
    findUcp: (token: string): Promise<UcpChannel> => findUcpChannel(database, token),
    preview: createPreviews(parts, textChecks),
    /** @returns a file that the channel with this token serves now */
    findFile: (token: string, fileName: string) => findServedFile({ database, payloads }, token, fileName),
  };
}

/** The parts of a catalog against which the definition of a channel is checked. */
const readCheckedCatalog = async (
  { catalog, relations }: Pick<ChannelParts, 'catalog' | 'relations'>,
  projectId: number,
) => ({
  attributes: (await catalog.store.getOntology(projectId)).attributes,
  relations: await relations.list(projectId),
});

async function findUcpChannel(database: Database, token: string): Promise<UcpChannel> {
  const channel = await CHANNELS.findByToken(database.read, 'token', token);
  if (channel?.resource.definition.format.type !== 'ucp') throw new ServiceError('not_found');
  return { token, project: channel.project, definition: channel.resource.definition };
}

function createPreviews(parts: ChannelParts, textChecks: TextChecks) {
  const { clock, threads } = parts;
  const previews = new AccountPlaces(PREVIEWS);

  /**
   * Makes the first rows, and stores nothing.
   * @param sent a definition to try, instead of the stored one or without one
   * @throws request_invalid, rate_limited, not_ready, channel_unfit
   */
  return async (
    project: ChosenProject,
    sent: Partial<SentChannel> | undefined,
    { channel, signal }: { readonly channel: Channel | undefined; readonly signal: AbortSignal },
  ) => {
    const { id: projectId, accountId } = project;
    const requester = { accountId, signal };
    const format = sent?.format ?? channel?.definition.format ?? { type: 'ndjson' };
    const tried = {
      name: 'preview',
      ...(sent ?? channel?.definition),
      format,
      destinations: [],
    } as SentChannel;
    return previews.use(requester, async () => {
      const checks = { now: clock.now(), checkTexts: textChecks(requester) };
      const catalog = await readCheckedCatalog(parts, projectId);
      const definition = await checkChannel(tried, { ...catalog, ...checks });
      return threads.preview({ projectId, definition }, signal);
    });
  };
}
