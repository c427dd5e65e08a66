/**
 * The door of links: relations that are listed, as lines of a source and its targets, read, stored in pieces and put
 * in place by tasks.
 */
export {
  type LinkLine,
  LinkPieces,
  LinkReader,
  mergeLines,
  packLines,
  TARGETS_PER_SOURCE,
} from './link-lines.ts';
export {
  type AcceptedLinks,
  type LinkOrder,
  type LinkPage,
  type LinkResult,
  type ListSize,
  type ReadLine,
  RelationLinks,
  type SentLinks,
  type StagedPiece,
} from './link-tasks.ts';
export { createTableTasks } from './table-tasks.ts';
