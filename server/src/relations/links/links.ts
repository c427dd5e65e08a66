/**
 * The door of links: reads lists of links as lines of a source and its targets, stores them in pieces, and
 * puts them in place by tasks.
 */
export {
  identifierOf,
  isQuantity,
  type LinkLine,
  LinkReader,
  MOST_QUANTITY,
  mergeLines,
  TARGETS_PER_SOURCE,
  toTarget,
  unpackLines,
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
