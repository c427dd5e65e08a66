/**
 * The door of filters: the one language that says which things are meant, and the one comparison of values. Relations, lists
 * of products and mappings use it. Pure.
 */
export {
  areComparable,
  type Comparable,
  type ComparableValue,
  type ComparedAttribute,
  type Computation,
  compareValues,
  compute,
  describeAttribute,
  OWN,
  type OwnField,
  readComparable,
  readComparables,
  readOperand,
  sumComparables,
  toCompared,
} from './comparable.ts';
export {
  type AttributeCondition,
  ComparisonProblem,
  compileFilter,
  type Filter,
  listConditions,
  type ProductTest,
  type ProductView,
  viewUpload,
} from './filter.ts';
export { checkFilter } from './filter-check.ts';
export {
  COMPARISONS,
  CONDITIONS_PER_FILTER,
  combineTests,
  compileOperator,
  FILTER_DEPTH,
  OPERATORS,
  type Operator,
  type Test,
} from './operators.ts';
export { judgeFilter, least, listUnknown, type Truth } from './truth.ts';
