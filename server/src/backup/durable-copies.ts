import { existsSync } from 'node:fs';
import { copyFile, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../storage/folder/folder.ts';

/** @returns the number of copied files */
export async function copyFiles(from: string, to: string): Promise<number> {
  const names = existsSync(from) ? await readdir(from) : [];
  for (const name of names) await copyDurably(join(from, name), join(to, name));
  await syncFolder(to);
  return names.length;
}

/** The copy is on the disk when the promise resolves, and only its owner may read it. */
export async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await using file = await open(to, 'r+');
  await file.chmod(0o600);
  await file.sync();
}
