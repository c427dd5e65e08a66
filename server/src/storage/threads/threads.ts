/** The door of threads: pools of threads that run named operations, and the memory that threads share. */

export { Budget, type BudgetTerms, isTooLong, type StopFlag } from './budget.ts';
export { BufferPool, Loan } from './buffer-pool.ts';
export { countPassed, countPassedAtOnce } from './passed-bytes.ts';
export { type Operation, Passed, serveOperations } from './served-operations.ts';
export { refuseOtherBytes, sampleBytes, shareText } from './shared-bytes.ts';
export { ThreadReplaced } from './thread-failure.ts';
export {
  type AskOptions,
  createThreadPool,
  type PoolSettings,
  type QuestionPool,
  type ReplacedThread,
  type ThreadPool,
} from './thread-pool.ts';
export { createThreadSupply } from './thread-supply.ts';
