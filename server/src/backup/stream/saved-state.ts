import { existsSync, rmSync } from 'node:fs';
import { type LocalState, readLocalState, statePath, writeLocalState } from '../files/files.ts';

/** What the data directory records about its backup, written at intervals. */
export class SavedState {
  /** undefined: the directory has never sent a backup, and was not restored from one. */
  local: LocalState | undefined;
  private readonly dataDir: string;
  private savedAt = 0;
  /** The text that was written last. */
  private text = '';

  constructor(dataDir: string) {
    this.dataDir = dataDir;
    this.local = readLocalState(dataDir);
  }

  /** Saved before a lease is taken, so that this directory recognises its own lease even if the answer is lost. */
  claim(state: LocalState): void {
    writeLocalState(this.dataDir, state);
    this.local = state;
  }

  /** Removes the claim. Another service took the first lease, so this directory has still sent nothing. */
  withdraw(): void {
    rmSync(statePath(this.dataDir));
  }

  /** Makes the next `save` due. */
  expire(): void {
    this.savedAt = 0;
  }

  /** @param describe called if the last save is older than `everyMs` and the directory exists */
  save(everyMs: number, describe: () => LocalState): void {
    const now = performance.now();
    if (now - this.savedAt < everyMs || !existsSync(this.dataDir)) return;
    this.savedAt = now;
    const present = describe();
    // Nothing is written while the state does not change.
    const text = JSON.stringify(present);
    if (text !== this.text) writeLocalState(this.dataDir, present);
    this.text = text;
    this.local = present;
  }
}
