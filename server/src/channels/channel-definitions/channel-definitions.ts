/**
 * The door of definitions: the record of channels, with their checks, answers and rows, and their published snapshots.
 * It never reads a product.
 */
export { checkChannel, compileChannelFilter } from './channel-checks.ts';
export { CHANNEL_SECRETS, channelKind, planNext } from './channel-kind.ts';
export {
  type BuildCounts,
  type BuildStart,
  type Channel,
  type ChannelDefinition,
  type ChannelRelation,
  type FeedFile,
  type FeedPreview,
  NO_COUNTS,
  type PublishedRows,
  SentChannel,
  type Snapshot,
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
