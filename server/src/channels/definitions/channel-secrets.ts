/** The secrets of a channel's destinations: sealed in a column of their own, with *** in the stored definition. */
import { ServiceError } from '../../kernel/errors.ts';
import type { SealedColumn, Secrets } from '../../storage/storage.ts';
import {
  type Destination,
  fillMasked,
  hasMasked,
  maskDestinations,
  secretsOf,
  withSecrets,
} from '../destinations/destinations.ts';
import type { Channel, ChannelDefinition } from './channel.ts';
import type { ChannelKey } from './channel-store.ts';

export const SEALED_DESTINATIONS = {
  table: 'channel',
  column: 'secrets',
  key: ['project_id', 'id'],
} satisfies SealedColumn;

const placeOf = ({ projectId, id }: ChannelKey) => ({ ...SEALED_DESTINATIONS, row: [projectId, id] });

/** @returns the destinations with their secrets. @throws secret_unreadable */
export function openDestinations(
  { definition: { destinations }, sealed, ...key }: Channel,
  secrets: Secrets,
): readonly Destination[] {
  if (sealed === undefined) return destinations;
  return withSecrets(destinations, JSON.parse(secrets.unseal(sealed, placeOf(key))) as (object | null)[]);
}

/**
 * @returns the stored channel with its secrets; masked, where they cannot be unsealed and nothing that was sent needs them
 * @throws secret_unreadable
 */
export function openStored(stored: Channel, secrets: Secrets, sent: readonly Destination[]): Channel {
  try {
    const destinations = openDestinations(stored, secrets);
    return { ...stored, definition: { ...stored.definition, destinations } };
  } catch (error) {
    const isUnreadable = error instanceof ServiceError && error.code === 'secret_unreadable';
    if (!isUnreadable || hasMasked(sent)) throw error;
    return stored;
  }
}

/** Fills in what an answer masked. @throws request_invalid where there is no value to fill in */
export function fillSecrets(sent: ChannelDefinition, stored: readonly Destination[]): ChannelDefinition {
  const { filled, problems } = fillMasked(sent.destinations, stored);
  if (problems.length > 0) throw new ServiceError('request_invalid', { details: problems });
  return { ...sent, destinations: filled };
}

export const maskDefinition = (definition: ChannelDefinition): ChannelDefinition => ({
  ...definition,
  destinations: maskDestinations(definition.destinations),
});

/** @returns the channel as it is stored. @throws secret_key_missing */
export function sealChannel(channel: Channel, secrets: Secrets): Channel {
  const { definition } = channel;
  const own = secretsOf(definition.destinations);
  if (own === undefined) return { ...channel, sealed: undefined };
  const sealed = secrets.seal(JSON.stringify(own), placeOf(channel));
  return { ...channel, definition: maskDefinition(definition), sealed };
}
