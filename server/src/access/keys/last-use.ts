import type { Database } from '../../storage/storage.ts';
import { type KeyUse, saveUses } from './api-key-store.ts';

/** A write per request would cost a commit each; the console needs the instant to the minute at most. */
const FLUSH_EVERY_MS = 10_000;

export type LastUse = ReturnType<typeof createLastUse>;

/** Remembers when keys were used; the first use after a write starts the time until the next. */
export function createLastUse(database: Database) {
  let uses = new Map<number, KeyUse>();
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();

  /** One write after another, so that waiting for the last one waits for all. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    // Its own caller hears of a write that failed; this one brings its uses again.
    underWay = underWay.catch(() => {}).then(writeUses);
    return underWay;
  }

  async function writeUses(): Promise<void> {
    if (uses.size === 0) return;
    const written = uses;
    uses = new Map();
    try {
      await saveUses(database, [...written.values()]);
    } catch (error) {
      for (const use of written.values()) keep(use);
      throw error;
    }
  }

  function keep(use: KeyUse): void {
    const known = uses.get(use.id);
    const at = Math.max(use.at, known?.at ?? 0);
    const inUrlAt = Math.max(use.inUrlAt ?? 0, known?.inUrlAt ?? 0);
    uses.set(use.id, { id: use.id, at, inUrlAt: inUrlAt === 0 ? null : inUrlAt });
  }

  function flushInBackground(): void {
    // A full disk must not stop the service; unwritten uses are kept and written with the next ones.
    flush().catch(() => {});
  }

  return {
    note(use: KeyUse): void {
      keep(use);
      timer ??= setTimeout(flushInBackground, FLUSH_EVERY_MS).unref();
    },
    /** @returns a use that is not written yet. */
    find: (keyId: number) => uses.get(keyId),
    flush,
    close: flush,
  };
}
