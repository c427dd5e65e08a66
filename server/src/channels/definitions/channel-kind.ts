import { randomBytes } from 'node:crypto';
import {
  type DefinitionKind,
  findNextRun,
  type SecretPart,
  sealedColumnOf,
} from '../../definitions/definitions.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { TextChecks } from '../../pipelines/mapping/expressions/expressions.ts';
import type { Base } from '../../storage/storage.ts';
import {
  fillMasked,
  hasMasked,
  maskDestinations,
  secretsOf,
  withSecrets,
} from '../destinations/destinations.ts';
import { type CheckedCatalog, checkChannel } from './channel-check.ts';
import type { ChannelDefinition, ChannelState, SentChannel, Snapshot } from './channel-schemas.ts';
import { BUILDS, CHANNELS, findPublished, listSnapshots, removeSnapshot } from './channel-store.ts';

/** Of a definition: its destinations. */
export const CHANNEL_SECRETS: SecretPart<ChannelDefinition> = {
  column: sealedColumnOf('channel'),
  mask: (definition) => ({ ...definition, destinations: maskDestinations(definition.destinations) }),
  pick: ({ destinations }) => secretsOf(destinations),
  restore: (masked, picked: (object | null)[]) => ({
    ...{ ...masked, destinations: withSecrets(masked.destinations, picked) },
  }),
  hasMasked: ({ destinations }) => hasMasked(destinations),
  fill(sent, stored) {
    const { filled, problems } = fillMasked(sent.destinations, stored?.destinations ?? []);
    if (problems.length > 0) throw new ServiceError('request_invalid', { details: problems });
    return { ...sent, destinations: filled };
  },
};

/** 192 random bits. */
const TOKEN_BYTES = 24;
export const makeToken = () => randomBytes(TOKEN_BYTES).toString('base64url');

export interface ChannelKindParts extends Pick<Base, 'clock' | 'database'> {
  readonly textChecks: TextChecks;
  readCatalog(projectId: number): Promise<CheckedCatalog>;
  dropSnapshots(snapshots: readonly Snapshot[]): Promise<void>;
}

/** Source: docs/interface.md §16.1. */
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
      ...{ now: clock.now(), checkTexts: parts.textChecks({ accountId, signal }) },
    }),
  createState: () => ({ token: makeToken(), builtVersion: undefined, published: undefined }),
  // What is served follows another definition: a channel waits for a change no longer, and is built at once.
  changeState: ({ state }) => ({ ...state, builtVersion: undefined }),
  secrets: CHANNEL_SECRETS,
  trigger: {
    of: ({ trigger }) => trigger,
    planNext({ trigger }, now) {
      if (trigger.type === 'change') return now;
      return trigger.type === 'schedule' ? findNextRun(trigger, now) : undefined;
    },
  },
  runs: { ...BUILDS, busy: 'channel_busy' },
  async see(channels) {
    const published = new Map<number, Snapshot>();
    for (const channel of channels) {
      const snapshot = await findPublished(read, channel);
      if (snapshot !== undefined) published.set(channel.id, snapshot);
    }
    return published;
  },
  async removing(tx, channel) {
    const snapshots = await listSnapshots(tx, channel);
    for (const snapshot of snapshots) await removeSnapshot(tx, snapshot);
    return () => parts.dropSnapshots(snapshots);
  },
});
