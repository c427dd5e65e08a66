/**
 * The door of payloads: accepted bodies until their task has ended, as files or as rows.
 */

import { fstatSync, readSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { constants, crc32, createZstdCompress, zstdDecompress } from 'node:zlib';
import { ServiceError } from '../../kernel/errors.ts';
import { Turns } from '../../kernel/turns.ts';
import { syncFolder } from '../data-folder.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { translateSqliteError } from '../sqlite-errors.ts';

/** How a body was packed by its sender. */
export type BodyEncoding = 'identity' | 'gzip' | 'zstd' | 'br';

const MIB = 1024 * 1024;
// A window of 8 MiB is what RFC 9659 allows on the way; Node would take one of 128 MiB.
const ZSTD = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } };

/** `flush` gives what there is of a body that ends too early. */
const UNPACKERS = {
  identity: undefined,
  gzip: { now: zlib.gunzipSync, open: zlib.createGunzip, flush: zlib.constants.Z_SYNC_FLUSH },
  br: {
    now: zlib.brotliDecompressSync,
    open: zlib.createBrotliDecompress,
    flush: zlib.constants.BROTLI_OPERATION_FLUSH,
  },
  zstd: {
    now: (bytes: Uint8Array, limit: zlib.ZstdOptions) =>
      zlib.zstdDecompressSync(bytes, { ...ZSTD, ...limit }),
    open: () => zlib.createZstdDecompress(ZSTD),
    flush: zlib.constants.ZSTD_e_flush,
  },
};

const NAMES: Readonly<Record<string, BodyEncoding>> = {
  '': 'identity',
  identity: 'identity',
  gzip: 'gzip',
  'x-gzip': 'gzip',
  zstd: 'zstd',
  br: 'br',
};

/** @throws body_encoding */
export function readEncoding(header: string | undefined): BodyEncoding {
  const name = header?.trim().toLowerCase() ?? '';
  const known = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
  if (known !== undefined) return known;
  throw new ServiceError('body_encoding', `Content-Encoding ${name} is not known`);
}

/** On the calling thread. Stops at the limit, so that a small body cannot fill the memory. @throws body_not_unpacked, body_too_large */
export function unpackNow(bytes: Buffer, encoding: BodyEncoding, maxMib: number): Buffer {
  try {
    return UNPACKERS[encoding]?.now(bytes, { maxOutputLength: maxMib * MIB }) ?? bytes;
  } catch (error) {
    throw refuseUnpacking(error, encoding, maxMib);
  }
}

/** So much comes of a beginning at most: it is unpacked on the calling thread. */
const BEGINNING_BYTES = 64 * 1024;

/** @returns what can be read of a body of which there is only the beginning; undefined: nothing */
export function unpackBeginning(bytes: Uint8Array, encoding: BodyEncoding): Uint8Array | undefined {
  const unpacker = UNPACKERS[encoding];
  try {
    return unpacker?.now(bytes, { maxOutputLength: BEGINNING_BYTES, finishFlush: unpacker.flush }) ?? bytes;
  } catch {
    // It is for the list of kept requests (§14.9): a body that cannot be unpacked is not shown there.
    return undefined;
  }
}

/** The parts of a body, unpacked as they come. Never holds more than a part. @throws body_not_unpacked, body_too_large */
export async function* unpackParts(
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  encoding: BodyEncoding,
  maxMib: number,
): AsyncGenerator<Uint8Array> {
  const unpacker = UNPACKERS[encoding]?.open();
  let length = 0;
  try {
    for await (const part of unpacker === undefined ? parts : pipeline(parts, unpacker, () => {})) {
      length += part.length;
      if (length > maxMib * MIB) throw new ServiceError('body_too_large', { values: [maxMib] });
      yield part;
    }
  } catch (error) {
    throw unpacker === undefined ? error : refuseUnpacking(error, encoding, maxMib);
  }
}

/** Of what an unpacker throws. */
function refuseUnpacking(error: unknown, encoding: BodyEncoding, maxMib: number): unknown {
  if (error instanceof ServiceError) return error;
  const { code, message } = error as Error & { code?: string };
  if (code === 'ERR_BUFFER_TOO_LARGE') return new ServiceError('body_too_large', { values: [maxMib] });
  return new ServiceError('body_not_unpacked', { values: [encoding], details: [message], cause: error });
}

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

interface PayloadName {
  /** 0 in files, whose names are enough. */
  readonly projectId: number;
  readonly name: string;
}

function refuseDamaged(name: string, cause?: unknown): never {
  throw new ServiceError('payload_damaged', { values: [name], cause });
}

const viewOf = ({ buffer, byteOffset, byteLength }: Buffer) =>
  new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);

export function createPayloadFiles(folder: string): PayloadFiles {
  const pathOf = (name: string) => join(folder, name);
  const begin = (name: string) => createPayloadWriter(name, () => openFile(folder, name));
  return {
    open: (_projectId, name) => begin(name),
    write: (_projectId, name, bytes) => begin(name).finish(bytes),
    async read(_projectId, name) {
      const stored = await orRefuse(() => readFile(pathOf(name))).catch((error: { code?: string }) => {
        if (error.code === 'ENOENT') refuseDamaged(name);
        throw error;
      });
      return viewOf(readStored(name, stored));
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
  return isMarked ? refuseDamaged(name) : stored;
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
interface PieceTarget {
  write(piece: Uint8Array): Promise<void>;
  /** Makes it durable. */
  close(): Promise<void>;
  /** Removes what was written. */
  drop(): Promise<void>;
}

/** Smaller bodies are written at once when they are there: an open file or a packer costs more than it saves. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** Writes piece by piece, one after another; `open` is called for the first. */
function createPayloadWriter(name: string, open: () => Promise<PieceTarget>): PayloadWriter {
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

const decompress = promisify(zstdDecompress);

/** One value of PostgreSQL; a part is read and written as one message. */
const PART_BYTES = 4 * 1024 * 1024;
/** What the packer hands over at a time. */
const PACKED_BYTES = 256 * 1024;

/**
 * Bodies as rows, so that any process can run the task that they belong to. They are compressed: JSON becomes a tenth,
 * which the network, the write-ahead log and the replicas carry instead.
 */
export function createPayloadRows(postgres: Postgres): PayloadFiles {
  const begin = (projectId: number, name: string) =>
    createPayloadWriter(name, async () =>
      packRows((packed) => insertParts(postgres, { projectId, name }, packed)),
    );
  return {
    open: begin,
    write: (projectId, name, bytes) => begin(projectId, name).finish(bytes),
    async read(projectId, name) {
      const parts = await postgres.rows<{ bytes: Buffer }>(
        'select bytes from payload where project_id = $1 and name = $2 order by part',
        [projectId, name],
      );
      const packed = Buffer.concat(parts.map((part) => part.bytes));
      // Also of none, when its rows are not there.
      return viewOf(await decompress(packed).catch((cause: unknown) => refuseDamaged(name, cause)));
    },
    async remove(projectId, name) {
      await postgres.run('delete from payload where project_id = $1 and name = $2', [projectId, name]);
    },
    async listOlderThan(ms) {
      return postgres.rows(
        `select distinct project_id as "projectId", name from payload
         where created_at < extract(epoch from clock_timestamp()) * 1000 - $1::bigint`,
        [ms],
      );
    },
  };
}

/** Packs while the rest is received; the rows are written when all of it is there: no connection waits for a sender. */
function packRows(insert: (packed: Buffer) => Promise<void>): PieceTarget {
  const packer = createZstdCompress({
    chunkSize: PACKED_BYTES,
    params: { [constants.ZSTD_c_checksumFlag]: 1 },
  });
  const packed: Buffer[] = [];
  packer.on('data', (chunk: Buffer) => packed.push(chunk));
  // The writer gets the error.
  packer.on('error', () => {});
  return {
    write: (piece) =>
      new Promise((resolve, reject) =>
        packer.write(piece, (error) => (error == null ? resolve() : reject(error))),
      ),
    async close() {
      packer.end();
      await finished(packer);
      await insert(Buffer.concat(packed));
    },
    drop: async () => void packer.destroy(),
  };
}

async function insertParts(postgres: Postgres, of: PayloadName, packed: Buffer): Promise<void> {
  await postgres.transaction(async (tx) => {
    for (let part = 0; part * PART_BYTES < packed.length; part += 1) {
      await tx.run(
        `insert into payload (project_id, name, part, bytes, created_at)
         values ($1, $2, $3, $4, extract(epoch from clock_timestamp()) * 1000)`,
        [of.projectId, of.name, part, packed.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)],
      );
    }
  });
}
