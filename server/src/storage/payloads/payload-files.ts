import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '../durable-folders.ts';
import { translateSqliteError } from '../sqlite-errors.ts';

/** Bodies of accepted requests, kept until their task ended. Names are made by the service, never taken from input. */
export interface PayloadFiles {
  /** Durable when it returns. @throws storage_full */
  write(projectId: number, name: string, bytes: Uint8Array): Promise<void>;
  read(projectId: number, name: string): Promise<Uint8Array<ArrayBuffer>>;
  remove(projectId: number, name: string): Promise<void>;
  /** @returns orphaned files, too old to belong to an upload in progress; with the project if it is known */
  listOlderThan(ms: number): Promise<readonly PayloadName[]>;
}

export interface PayloadName {
  /** 0 in files, whose names are enough. */
  readonly projectId: number;
  readonly name: string;
}

export function createPayloadFiles(folder: string): PayloadFiles {
  const pathOf = (name: string) => join(folder, name);
  return {
    async write(_projectId, name, bytes) {
      const path = pathOf(name);
      try {
        await mkdir(folder, { recursive: true });
        await writeDurably(`${path}.part`, bytes);
        await rename(`${path}.part`, path);
        await syncFolder(dirname(path));
      } catch (error) {
        await rm(`${path}.part`, { force: true });
        throw translateSqliteError(error);
      }
    },
    async read(_projectId, name) {
      const bytes = await readFile(pathOf(name));
      return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
    },
    // No other process writes here: at the start every file without an owner is orphaned.
    listOlderThan: async () => (await readdir(folder)).map((name) => ({ projectId: 0, name })),
    remove: (_projectId, name) => rm(pathOf(name), { force: true }),
  };
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(bytes);
    await file.datasync();
  } finally {
    await file.close();
  }
}
