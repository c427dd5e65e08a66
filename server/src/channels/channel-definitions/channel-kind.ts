import {
  type DefinitionKind,
  findNextRun,
  type SecretPart,
  sealedColumnOf,
} from '../../definitions/definitions.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { TextChecks } from '../../pipelines/mapping/expressions/expressions.ts';
import { makeToken } from '../../projects/projects.ts';
import type { Base } from '../../storage/storage.ts';
import {
  fillMasked,
  hasMasked,
  maskDestinations,
  secretsOf,
  withSecrets,
} from '../destinations/destinations.ts';
import { type CheckedCatalog, checkChannel } from './channel-checks.ts';
import type {
  Channel,
  ChannelDefinition,
  ChannelState,
  SentChannel,
  Snapshot,
  Trigger,
} from './channel-schemas.ts';
import { BUILDS, CHANNELS, findPublished, listSnapshots, removeSnapshot } from './channel-store.ts';

export const CHANNEL_SECRETS: SecretPart<ChannelDefinition> = {
  column: sealedColumnOf('channel'),
  mask: (sent) => ({ ...sent, destinations: maskDestinations(sent.destinations) }),
  pick: (sent) => secretsOf(sent.destinations),
  restore: (masked, picked: (object | null)[]) => ({
    ...masked,
    destinations: withSecrets(masked.destinations, picked),
  }),
  hasMasked: (sent) => hasMasked(sent.destinations),
  fill(sent, stored) {
    const { filled, problems } = fillMasked(sent.destinations, stored?.destinations ?? []);
    if (problems.length > 0) throw new ServiceError('request_invalid', { details: problems });
    return { ...sent, destinations: filled };
  },
};

interface ChannelKindParts extends Pick<Base, 'clock' | 'database'> {
  readonly textChecks: TextChecks;
  readCatalog(projectId: number): Promise<CheckedCatalog>;
  dropSnapshots(snapshots: readonly Snapshot[]): Promise<void>;
}

/** @returns when a channel is next due; a channel that follows its catalog is due after a wait */
export function planNext(trigger: Trigger, now: number, waitMs: number): number | undefined {
  if (trigger.type === 'change') return now + waitMs;
  return trigger.type === 'schedule' ? findNextRun(trigger, now) : undefined;
}

/** Source: docs/interface §16.1. */
export const channelKind = ({
  database: { read },
  clock,
  ...parts
}: ChannelKindParts): DefinitionKind<SentChannel, ChannelDefinition, ChannelState, Snapshot> => ({
  type: 'channel',
  store: CHANNELS,
  check: async (sent, { id, accountId }, signal) =>
    checkChannel(sent, {
      ...(await parts.readCatalog(id)),
      now: clock.now(),
      checkTexts: parts.textChecks({ accountId, signal }),
    }),
  createState: () => ({ token: makeToken(), builtVersion: undefined, published: undefined }),
  // The served files belong to the former definition, so the channel no longer waits for a change and is built
  // immediately.
  changeState: ({ state }) => ({ ...state, builtVersion: undefined }),
  secrets: CHANNEL_SECRETS,
  trigger: { of: ({ trigger }) => trigger, planNext: ({ trigger }, now) => planNext(trigger, now, 0) },
  runs: { ...BUILDS, busy: 'channel_busy' },
  async see(channels) {
    const published = async (channel: Channel) => [channel.id, await findPublished(read, channel)] as const;
    return new Map(await Array.fromAsync(channels, published));
  },
  async removing(tx, channel) {
    const snapshots = await listSnapshots(tx, channel);
    for (const snapshot of snapshots) await removeSnapshot(tx, snapshot);
    return () => parts.dropSnapshots(snapshots);
  },
});
