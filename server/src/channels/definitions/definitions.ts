/**
 * The door of definitions: channels as they are stored, checked, listed and answered, and what they have published. Never
 * reads a product.
 */
export { dropForgottenBuilds, hasOpenBuild, insertBuild } from './build-store.ts';
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
export { toStartedBuild, toWireBuild } from './channel-answers.ts';
export { type CheckedCatalog, checkChannel, compileChannelFilter } from './channel-check.ts';
export { createChannelChanges, createChannelLists } from './channel-definitions.ts';
export { type ChannelRouteParts, recordChannelChange } from './channel-route-parts.ts';
export {
  BuildAnswer,
  BuildPage,
  ChannelParams,
  ListQuery,
  type SentChannel,
  SentPreview,
  WirePreview,
} from './channel-schemas.ts';
export { openDestinations, SEALED_DESTINATIONS } from './channel-secrets.ts';
export {
  type ChannelKey,
  type FoundChannel,
  findByToken,
  findChannel,
  listDue,
  listFollowing,
  listUnnoticed,
  moveNext,
  type NextBuild,
  removeChannelsOf,
  savePublished,
} from './channel-store.ts';
export {
  findPublished,
  insertSnapshot,
  listPieces,
  listSnapshots,
  removeSnapshot,
} from './snapshot-store.ts';
