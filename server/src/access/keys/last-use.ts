import type { Database } from '../../storage/storage.ts';
import { type KeyUse, saveUses } from './api-key-store.ts';

/** Storing each use would cost a commit per request, and the console only shows the minute of the last use. */
const FLUSH_EVERY_MS = 10_000;

/** Collects when keys were used. The first use after a write starts the timer for the next write. */
export class LastUse {
  readonly #database: Database;
  #uses = new Map<number, KeyUse>();
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
  }

  note(use: KeyUse): void {
    this.#keep(use);
    // A full disk must not stop the service. The next write includes the uses that were not written.
    this.#timer ??= setTimeout(() => this.flush().catch(() => {}), FLUSH_EVERY_MS).unref();
  }

  /** @returns the latest use if it is not written yet */
  find(keyId: number): KeyUse | undefined {
    return this.#uses.get(keyId);
  }

  /** Writes run one after another, so the promise of the last write resolves after all writes. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // A failed write is reported to its own caller, and its uses are part of this write.
    this.#underWay = this.#underWay.catch(() => {}).then(() => this.#writeUses());
    return this.#underWay;
  }

  async #writeUses(): Promise<void> {
    if (this.#uses.size === 0) return;
    const written = this.#uses;
    this.#uses = new Map();
    try {
      await saveUses(this.#database, [...written.values()]);
    } catch (error) {
      for (const use of written.values()) this.#keep(use);
      throw error;
    }
  }

  #keep(use: KeyUse): void {
    const earlier = this.#uses.get(use.id);
    const usedAt = Math.max(use.usedAt, earlier?.usedAt ?? 0);
    const inUrlAt = Math.max(use.inUrlAt ?? 0, earlier?.inUrlAt ?? 0);
    this.#uses.set(use.id, { id: use.id, usedAt: usedAt, inUrlAt: inUrlAt === 0 ? null : inUrlAt });
  }
}
