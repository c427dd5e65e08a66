import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { syncFolderNow, writeOwnFile } from '../../storage/folder/folder.ts';
import type { SentFiles } from './watched-folder.ts';

/**
 * What the data directory records about its backup. It may be older than the target, because sending a change twice is
 * harmless.
 */
export interface LocalState {
  readonly holder: string;
  /** 0: the directory requested its first lease and did not get it. */
  readonly epoch: number;
  /** The segment whose state the files have. */
  readonly seq: number;
  readonly at: number;
  readonly files: SentFiles;
  /** The target from which the files came. */
  readonly url: string;
  /** The id of the backup that this target held. A directory of an earlier version does not record it. */
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

/** Durable, because even after a loss of power a directory without this file would not be recognised as the writer. */
export function writeLocalState(dataDir: string, state: LocalState): void {
  writeOwnFile(`${statePath(dataDir)}.part`, JSON.stringify(state), 'w');
  renameSync(`${statePath(dataDir)}.part`, statePath(dataDir));
  syncFolderNow(dataDir);
}

export const makeHolder = () => randomBytes(8).toString('hex');
