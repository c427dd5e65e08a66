/**
 * The door of threads: pools of workers that carry out named operations.
 */
export { BufferPool, Loan, refuseOtherBytes, sampleBytes } from './buffer-pool.ts';
export { countPassed, countPassedAtOnce } from './collector.ts';
export { type Operation, serveOperations } from './thread-entry.ts';
export { createThreadPool, type PoolSettings, type StopFlag, type ThreadPool } from './thread-pool.ts';
export { ThreadSupply } from './thread-supply.ts';
