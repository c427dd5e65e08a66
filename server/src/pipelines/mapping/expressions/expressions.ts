/**
 * The door of expressions. The expressions of a mapping are evaluated in a process without permissions
 * (`expression-process.ts`), with limits of time and memory.
 */
export { EXPRESSION_LIMITS, type ExpressionLimits } from './expression-child.ts';
export { RowExpressions } from './row-expressions.ts';
export {
  type CheckedTexts,
  checkTexts,
  createTextChecks,
  type TextChecks,
  type TextProblems,
} from './text-checks.ts';
