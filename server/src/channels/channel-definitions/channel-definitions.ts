/**
 * The door of definitions: the record of channels, their checks, answers and rows, and what they have
 * published. Never reads a product.
 */
export {
  CHANNEL_SECRETS,
  channelKind,
  checkChannel,
  compileChannelFilter,
  planNext,
} from './channel-kind.ts';
export {
  BuildAnswer,
  type BuildCounts,
  BuildPage,
  type BuildStart,
  type Channel,
  type ChannelDefinition,
  ChannelParams,
  type ChannelRelation,
  type FeedFile,
  type FeedPreview,
  NO_COUNTS,
  type PublishedRows,
  SentChannel,
  SentPreview,
  type Snapshot,
  toStartedBuild,
  toWireBuild,
  toWireChannel,
  WireChannel,
  WirePreview,
} from './channel-schemas.ts';
export {
  BUILDS,
  CHANNELS,
  findPublished,
  forgetRows,
  insertSnapshot,
  listFollowing,
  listSnapshots,
  listUnnoticed,
  removeSnapshot,
  savePublished,
} from './channel-store.ts';
