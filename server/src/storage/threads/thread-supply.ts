import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../kernel/errors.ts';
import { ThreadReplaced } from './thread-failure.ts';
import { createThreadPool, type PoolSettings, type ThreadPool } from './thread-pool.ts';

/** A caller who waits for a thread is likely to ask again soon. */
const IDLE_MS = 60_000;

/**
 * Threads that each work for one user at a time, and are stopped wherever they are when its signal aborts.
 * Starting one takes half a second of processor time, so the last one that finished waits a while for the
 * next user. The operation `close` releases what a thread holds.
 */
export function createThreadSupply(entry: URL, settings: Omit<PoolSettings, 'size'>) {
  let idle: ThreadPool | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Those whose user was refused: what they read ahead may take seconds, for which the refusal does not wait. */
  const leaving = new Set<ThreadPool>();

  function keep(thread: ThreadPool): void {
    if (idle !== undefined) return void thread.end();
    idle = thread;
    timer = setTimeout(() => void close(), IDLE_MS).unref();
  }

  async function leave(thread: ThreadPool): Promise<void> {
    leaving.add(thread);
    const isFree = await letGo(thread);
    // `close` takes out what it ends.
    if (leaving.delete(thread) && isFree) keep(thread);
    else await thread.end();
  }

  async function close(): Promise<void> {
    clearTimeout(timer);
    const threads = [idle, ...leaving];
    // Before they have ended, so that no new user gets one of them.
    idle = undefined;
    leaving.clear();
    await Promise.all(threads.map((thread) => thread?.end()));
  }

  return {
    close,
    /** @param signal stops the thread wherever it is */
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
        // A refusal leaves a sound thread behind; after any other error that is unknown.
        if (error instanceof ServiceError && !(error instanceof ThreadReplaced)) void leave(thread);
        else await thread.end();
        throw error;
      } finally {
        signal.removeEventListener('abort', end);
      }
    },
  };
}

/** @returns whether the thread has let go of what it holds */
async function letGo(thread: ThreadPool): Promise<boolean> {
  const done = thread.run('close', {}, { key: 0 }).then(() => true);
  return Promise.race([done, delay(2_000, false, { ref: false })]).catch(() => false);
}
