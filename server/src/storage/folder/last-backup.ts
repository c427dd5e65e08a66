import fs from 'node:fs';
import type { DataFolder } from './data-folder.ts';
import { writeOwnFile } from './durable-files.ts';

/** The last complete backup. */
export interface LastBackup {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly directory: string;
}

/**
 * Records a backup for the service's metrics and `relata doctor`. The file belongs to the owner of the folder, even if
 * root makes the backup.
 * @returns whether it could be written; a backup counts even if the data folder is full or read-only
 */
export function recordBackup({ root, lastBackup }: DataFolder, backup: LastBackup): boolean {
  try {
    writeOwnFile(lastBackup, `${JSON.stringify(backup)}\n`, 'w');
    const { uid, gid } = fs.statSync(root);
    if (process.getuid?.() === 0) fs.chownSync(lastBackup, uid, gid);
    return true;
  } catch {
    return false;
  }
}

/** @returns undefined if there was no backup, or the file is unreadable */
export function findLastBackup({ lastBackup }: DataFolder): LastBackup | undefined {
  try {
    const { at, directory } = JSON.parse(fs.readFileSync(lastBackup, 'utf8'));
    return Number.isSafeInteger(at) ? { at, directory: String(directory) } : undefined;
  } catch {
    return undefined;
  }
}
