import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../kernel/errors.ts';
import { createThreadPool, type PoolSettings, type ThreadPool } from './thread-pool.ts';

/** A caller who waits for a thread soon asks again. */
const IDLE_MS = 60_000;
const LET_GO_MS = 2_000;

/**
 * Threads of which each works for one user at a time, and which end wherever they are when its signal aborts. Starting one
 * takes half a second of processor time: the last one that was used to its end waits a while for the next user. The
 * operation `close` lets go of what a thread holds.
 */
export class ThreadSupply {
  private readonly entry: URL;
  private readonly settings: Omit<PoolSettings, 'size'>;
  private idle: ThreadPool | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(entry: URL, settings: Omit<PoolSettings, 'size'>) {
    this.entry = entry;
    this.settings = settings;
  }

  /** @param signal  ends the thread where it is */
  async use<Result>(signal: AbortSignal, work: (thread: ThreadPool) => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    const thread = this.take();
    const end = () => void thread.end();
    signal.addEventListener('abort', end, { once: true });
    try {
      const result = await work(thread);
      this.keep(thread);
      return result;
    } catch (error) {
      // What was refused leaves a sound thread behind; of anything else that is unknown.
      if (error instanceof ServiceError && (await letGo(thread))) this.keep(thread);
      else await thread.end();
      throw error;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.timer);
    await this.idle?.end();
    this.idle = undefined;
  }

  private take(): ThreadPool {
    const { entry, settings, idle } = this;
    this.idle = undefined;
    clearTimeout(this.timer);
    return idle ?? createThreadPool(entry, { ...settings, size: 1 });
  }

  private keep(thread: ThreadPool): void {
    if (this.idle !== undefined) {
      void thread.end();
      return;
    }
    this.idle = thread;
    this.timer = setTimeout(() => void this.close(), IDLE_MS);
    this.timer.unref();
  }
}

/** @returns whether the thread has let go of what it holds */
async function letGo(thread: ThreadPool): Promise<boolean> {
  const timeUp = delay(LET_GO_MS, false, { ref: false });
  const done = thread.run('close', {}, { key: 0 }).then(
    () => true,
    () => false,
  );
  return Promise.race([done, timeUp]);
}
