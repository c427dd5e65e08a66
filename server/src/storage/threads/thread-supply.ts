import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../kernel/errors.ts';
import { ThreadReplaced } from './thread-failure.ts';
import { createThreadPool, type PoolSettings, type ThreadPool } from './thread-pool.ts';

/** How long a thread stays idle, because its caller is likely to return soon. */
const IDLE_MS = 60_000;

/**
 * Threads that each work for one user at a time. When the user's signal aborts, its thread is stopped at any point.
 * Starting a thread takes half a second of processor time, so the last thread to finish stays idle for a while for the
 * next user. The operation `close` releases what a thread holds.
 */
export function createThreadSupply(entry: URL, settings: Omit<PoolSettings, 'size'>) {
  let idle: ThreadPool | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Threads whose user was refused. Their read-ahead may take seconds, and the refusal does not wait for it. */
  const leaving = new Set<ThreadPool>();

  function keep(thread: ThreadPool): void {
    if (idle !== undefined) return void thread.end();
    idle = thread;
    timer = setTimeout(() => void close(), IDLE_MS).unref();
  }

  async function leave(thread: ThreadPool): Promise<void> {
    leaving.add(thread);
    const isFree = await letGo(thread);
    // `close` removes the threads that it ends from the set.
    if (leaving.delete(thread) && isFree) keep(thread);
    else await thread.end();
  }

  async function close(): Promise<void> {
    clearTimeout(timer);
    const threads = [idle, ...leaving];
    // Cleared before the threads have ended, so that no new user gets one of them.
    idle = undefined;
    leaving.clear();
    await Promise.all(threads.map((thread) => thread?.end()));
  }

  return {
    close,
    /** @param signal stops the thread at any point */
    async use<Result>(signal: AbortSignal, work: (thread: ThreadPool) => Promise<Result>): Promise<Result> {
      signal.throwIfAborted();
      const thread = idle ?? createThreadPool(entry, { ...settings, size: 1 });
      idle = undefined;
      clearTimeout(timer);
      const end = () => void thread.end();
      signal.addEventListener('abort', end, { once: true });
      try {
        const result = await work(thread);
        keep(thread);
        return result;
      } catch (error) {
        // After a refusal the thread is intact. After any other error its state is unknown.
        if (error instanceof ServiceError && !(error instanceof ThreadReplaced)) void leave(thread);
        else await thread.end();
        throw error;
      } finally {
        signal.removeEventListener('abort', end);
      }
    },
  };
}

/** @returns whether the thread has released what it holds */
async function letGo(thread: ThreadPool): Promise<boolean> {
  const closed = thread.run('close', {}, { key: 0 }).then(() => true);
  return Promise.race([closed, delay(2_000, false, { ref: false })]).catch(() => false);
}
