import { fstatSync, readSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { ServiceError } from '../../kernel/errors.ts';
import { Turns } from '../../kernel/turns.ts';
import { syncFolder } from '../data-folder.ts';
import { translateSqliteError } from '../sqlite-errors.ts';

/** Bodies of accepted requests, kept until their task ended. Names are made by the service, never taken from input. */
export interface PayloadFiles {
  /** Begins a payload that is still being received. */
  open(projectId: number, name: string): PayloadWriter;
  /** Durable when it returns. @throws storage_full */
  write(projectId: number, name: string, bytes: Uint8Array): Promise<void>;
  /** @throws payload_damaged when they are not the bytes that were written */
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
      const stored = await orRefuse(() => readFile(pathOf(name))).catch((error: { code?: string }) => {
        throw error.code === 'ENOENT' ? new ServiceError('payload_damaged', { values: [name] }) : error;
      });
      const bytes = readStored(name, stored);
      return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
    },
    // No other process writes here: at the start every file without an owner is orphaned.
    listOlderThan: async () => (await readdir(folder)).map((name) => ({ projectId: 0, name })),
    remove: (_projectId, name) => changes.take(() => rm(pathOf(name), { force: true })),
  };
}

/** Before the bytes of a file: this mark, then how many bytes they are and their CRC-32. */
const MARK = Buffer.from('\0payload');
const HEADER_BYTES = MARK.length + 12;

function headerOf(length: number, sum: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MARK.copy(header);
  header.writeBigUInt64LE(BigInt(length), MARK.length);
  header.writeUInt32LE(sum, MARK.length + 8);
  return header;
}

/** @returns the bytes of a payload; those of version 0.1.0 have no header. @throws payload_damaged */
function readStored(name: string, stored: Buffer): Buffer {
  const bytes = stored.subarray(HEADER_BYTES);
  const header = stored.subarray(0, HEADER_BYTES);
  if (header.equals(headerOf(bytes.length, crc32(bytes)))) return bytes;
  // Also of a file that was cut within it; no body, piece or list is empty.
  const isMarked = MARK.subarray(0, stored.length).equals(stored.subarray(0, MARK.length));
  if (isMarked) throw new ServiceError('payload_damaged', { values: [name] });
  return stored;
}

/** @param file  a descriptor. @returns whether all of a payload is there: its header is written last */
export function isWholePayload(file: number): boolean {
  const header = Buffer.alloc(HEADER_BYTES);
  const read = readSync(file, header, 0, HEADER_BYTES, 0);
  if (read < HEADER_BYTES || header.every((byte) => byte === 0)) return false;
  const isMarked = header.subarray(0, MARK.length).equals(MARK);
  return !isMarked || Number(header.readBigUInt64LE(MARK.length)) === fstatSync(file).size - HEADER_BYTES;
}

/** A sum of so many bytes takes 0.3 ms of the thread that answers. */
const SUMMED_BYTES = 1024 * 1024;

/** Whole once it is closed: what a crash leaves of another belongs to no task, and is removed at the next start. */
async function openFile(folder: string, name: string): Promise<PieceTarget> {
  const path = join(folder, name);
  const file = await change(async () => {
    await mkdir(folder, { recursive: true });
    return open(path, 'w', 0o600);
  });
  let length = 0;
  let sum = 0;
  return {
    async write(piece) {
      const at = HEADER_BYTES + length;
      length += piece.length;
      await change(() => writeAt(file, piece, at));
      for (let from = 0; from < piece.length; from += SUMMED_BYTES) {
        if (from > 0) await setImmediate();
        sum = crc32(piece.subarray(from, from + SUMMED_BYTES), sum);
      }
    },
    async close() {
      await change(() => writeAt(file, headerOf(length, sum), 0));
      await Promise.all([change(() => file.datasync()), change(() => syncFolder(folder))]);
      await file.close();
    },
    async drop() {
      // A failed disk may have closed it; what counts is that the file goes.
      await file.close().catch(() => {});
      await changes.take(() => rm(path, { force: true }));
    },
  };
}

async function writeAt(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, at + written);
    written += bytesWritten;
  }
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

/** A payload on its way: written while it is received. */
export interface PayloadWriter {
  readonly name: string;
  /** Says what came so far, from its first byte on. */
  received(bytes: Uint8Array): void;
  /** Writes all of it. Durable when it returns; nothing is left when it fails. @throws storage_full */
  finish(bytes: Uint8Array): Promise<void>;
  /** Leaves nothing behind, unless `finish` was called; it may be later. Never rejects. */
  abandon(): Promise<void>;
}

/** Where the pieces of one payload go. */
export interface PieceTarget {
  write(piece: Uint8Array): Promise<void>;
  /** Makes it durable. */
  close(): Promise<void>;
  /** Removes what was written. */
  drop(): Promise<void>;
}

/** Smaller bodies are written at once when they are there: an open file or a packer costs more than it saves. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** Writes piece by piece, one after another; `open` is called for the first. */
export function createPayloadWriter(name: string, open: () => Promise<PieceTarget>): PayloadWriter {
  let target: PieceTarget | undefined;
  /** Bytes that are written, or will be when `writing` is done. */
  let issued = 0;
  let writing: Promise<void> = Promise.resolve();
  let isFinished = false;

  function write(bytes: Uint8Array): void {
    const piece = bytes.subarray(issued);
    issued = bytes.length;
    writing = writing.then(async () => {
      target ??= await open();
      await target.write(piece);
    });
    // `finish` reports it; it may not be awaited yet.
    writing.catch(() => {});
  }

  async function drop(): Promise<void> {
    // What failed, `finish` has thrown; a file that stays is removed at the next start.
    await writing.catch(() => {});
    await target?.drop().catch(() => {});
    target = undefined;
  }

  return {
    name,
    received(bytes) {
      if (bytes.length - issued >= PIECE_BYTES) write(bytes);
    },
    async finish(bytes) {
      isFinished = true;
      write(bytes);
      try {
        await writing;
        await target?.close();
      } catch (error) {
        await drop();
        throw error;
      }
    },
    async abandon() {
      if (isFinished) return;
      writing = drop();
      issued = 0;
      await writing;
    },
  };
}
