/**
 * The door of reading: what tools for agents do in a thread that answers relations. It reads products and answers of
 * relations, and hands the serving thread no more than an agent is shown.
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
