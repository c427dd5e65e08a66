/**
 * The door of definitions: the record of channels, their checks, their answers and their rows, and what they have published. Never
 * reads a product.
 */
export {
  type BuildCounts,
  type BuildStart,
  type Channel,
  type ChannelDefinition,
  type ChannelRelation,
  type FeedFile,
  NO_COUNTS,
  type Snapshot,
} from './channel.ts';
export { checkChannel, compileChannelFilter } from './channel-check.ts';
export { CHANNEL_SECRETS, channelKind, makeToken } from './channel-kind.ts';
export {
  BuildAnswer,
  BuildPage,
  ChannelParams,
  type SentChannel,
  SentPreview,
  toStartedBuild,
  toWireBuild,
  WirePreview,
} from './channel-schemas.ts';
export {
  BUILDS,
  CHANNELS,
  findPublished,
  insertSnapshot,
  listFollowing,
  listPieces,
  listSnapshots,
  listUnnoticed,
  removeSnapshot,
  savePublished,
} from './channel-store.ts';
