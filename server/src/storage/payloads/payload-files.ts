import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Turns } from '../../kernel/turns.ts';
import { syncFolder } from '../durable-folders.ts';
import { translateSqliteError } from '../sqlite-errors.ts';
import { createPayloadWriter, type PayloadWriter, type PieceTarget } from './payload-writer.ts';

/** Bodies of accepted requests, kept until their task ended. Names are made by the service, never taken from input. */
export interface PayloadFiles {
  /** Begins a payload that is still being received. */
  open(projectId: number, name: string): PayloadWriter;
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
  const begin = (name: string) => createPayloadWriter(name, () => openFile(folder, name));
  return {
    open: (_projectId, name) => begin(name),
    write: (_projectId, name, bytes) => begin(name).finish(bytes),
    async read(_projectId, name) {
      const bytes = await orRefuse(() => readFile(pathOf(name)));
      return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
    },
    // No other process writes here: at the start every file without an owner is orphaned.
    listOlderThan: async () => (await readdir(folder)).map((name) => ({ projectId: 0, name })),
    remove: (_projectId, name) => changes.take(() => rm(pathOf(name), { force: true })),
  };
}

/** Whole once it is closed: what a crash leaves of another belongs to no task, and is removed at the next start. */
async function openFile(folder: string, name: string): Promise<PieceTarget> {
  const path = join(folder, name);
  const file = await change(async () => {
    await mkdir(folder, { recursive: true });
    return open(path, 'w', 0o600);
  });
  return {
    write: (piece) => change(() => file.writeFile(piece)),
    async close() {
      await Promise.all([change(() => file.datasync()), change(() => syncFolder(folder))]);
      await file.close();
    },
    async drop() {
      await file.close().catch(() => {});
      await changes.take(() => rm(path, { force: true }));
    },
  };
}

/** On a disk that stalls they would take all four threads that also pack answers and hash passwords. */
const changes = new Turns(2);

const change = <Result>(work: () => Promise<Result>) => changes.take(() => orRefuse(work));

/** @throws storage_full, storage_failed */
async function orRefuse<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw translateSqliteError(error);
  }
}
