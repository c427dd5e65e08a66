import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { syncFolderNow, writeOwnFile } from '../../storage/folder/folder.ts';
import type { SentFiles } from './watched-folder.ts';

/** What the directory knows about its backup. It may be older than the target; sending something twice is harmless. */
export interface LocalState {
  readonly holder: string;
  /** 0: it asked for its first lease and did not get it. */
  readonly epoch: number;
  /** The segment whose state the files have. */
  readonly seq: number;
  readonly at: number;
  readonly files: SentFiles;
  /** The target that the files came from. */
  readonly url: string;
  /** The id of the backup that this target held; a directory of an earlier version does not know it. */
  readonly backup?: string | undefined;
  /** The base that the target held. */
  readonly base?: string | undefined;
}

/** For files that all have to be sent again, or that another service sends. */
export const NOTHING_SENT: SentFiles = { databases: {}, others: {} };

export const statePath = (dataDir: string) => join(dataDir, 'backup-state.json');

export function readLocalState(dataDir: string): LocalState | undefined {
  try {
    return JSON.parse(readFileSync(statePath(dataDir), 'utf8')) as LocalState;
  } catch {
    return undefined;
  }
}

/** Durable: even after a loss of power, a directory without it is not known as the writer. */
export function writeLocalState(dataDir: string, state: LocalState): void {
  writeOwnFile(`${statePath(dataDir)}.part`, JSON.stringify(state), 'w');
  renameSync(`${statePath(dataDir)}.part`, statePath(dataDir));
  syncFolderNow(dataDir);
}

export const makeHolder = () => randomBytes(8).toString('hex');
