/**
 * The door of reading: the work of agents' tools in a thread that answers relations. It reads products and
 * answers of relations, and returns to the serving thread only what an agent is shown.
 */
export {
  type ComparedProducts,
  type FoundPage,
  productOperations,
  type ShownProducts,
} from './product-reading.ts';
export {
  describeMatch,
  type JudgedFit,
  listAdvice,
  type ReadFit,
  type ReadRelated,
  relationOperations,
  type ShownRelated,
} from './relation-reading.ts';
