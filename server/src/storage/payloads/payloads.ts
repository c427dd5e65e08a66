/** The door of payloads: accepted bodies, stored as files or as rows until their tasks have ended. */

import { fstatSync, readSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { ServiceError } from '../../kernel/errors.ts';
import { Turns } from '../../kernel/turns.ts';
import { syncFolder } from '../folder/folder.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { translateSqliteError } from '../sqlite-errors.ts';

const MIB = 1024 * 1024;
// A window of 8 MiB, the largest that RFC 9659 allows. Node would accept one of 128 MiB.
const ZSTD = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } };

/** With `flush`, a truncated body yields the bytes that can be unpacked. */
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

/** The encoding with which the sender packed a body. */
export type BodyEncoding = keyof typeof UNPACKERS;

const OTHER_NAMES = new Map([
  ['', 'identity'],
  ['x-gzip', 'gzip'],
]);

/** @throws body_encoding */
export function readEncoding(header: string | undefined): BodyEncoding {
  const name = header?.trim().toLowerCase() ?? '';
  const encoding = OTHER_NAMES.get(name) ?? name;
  if (Object.hasOwn(UNPACKERS, encoding)) return encoding as BodyEncoding;
  throw new ServiceError('body_encoding', `Content-Encoding ${name} is not known`);
}

/**
 * Unpacks on the calling thread. It stops at the limit, so that a small body cannot fill memory.
 * @throws body_not_unpacked, body_too_large
 */
export function unpackNow(bytes: Buffer, encoding: BodyEncoding, maxMib: number): Buffer {
  try {
    return UNPACKERS[encoding]?.now(bytes, { maxOutputLength: maxMib * MIB }) ?? bytes;
  } catch (error) {
    throw refuseUnpacking(error, encoding, maxMib);
  }
}

/** The most bytes that are unpacked from the beginning of a body, on the calling thread. */
const BEGINNING_BYTES = 64 * 1024;

/** @returns the readable part of the beginning of a body; undefined if there is none */
export function unpackBeginning(bytes: Uint8Array, encoding: BodyEncoding): Uint8Array | undefined {
  const unpacker = UNPACKERS[encoding];
  try {
    return unpacker?.now(bytes, { maxOutputLength: BEGINNING_BYTES, finishFlush: unpacker.flush }) ?? bytes;
  } catch {
    // The list of kept requests (§14.9) does not show a body that cannot be unpacked.
    return undefined;
  }
}

/**
 * Unpacks the parts of a body as they arrive, and keeps at most one part in memory.
 * @throws body_not_unpacked, body_too_large
 */
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

function refuseUnpacking(error: unknown, encoding: BodyEncoding, maxMib: number): unknown {
  if (error instanceof ServiceError) return error;
  const { code, message } = error as Error & { code?: string };
  if (code === 'ERR_BUFFER_TOO_LARGE') return new ServiceError('body_too_large', { values: [maxMib] });
  return new ServiceError('body_not_unpacked', message, { values: [encoding], cause: error });
}

/**
 * Bodies of accepted requests, stored until their tasks have ended. The service generates the names, never from input.
 */
export interface PayloadFiles {
  /** Begins a payload while its body is still being received. */
  open(projectId: number, name: string): PayloadWriter;
  /** Durable when it returns. @throws storage_full */
  write(projectId: number, name: string, bytes: Uint8Array): Promise<void>;
  /** @throws payload_damaged when the bytes are not those that were written */
  read(projectId: number, name: string): Promise<Uint8Array<ArrayBuffer>>;
  remove(projectId: number, name: string): Promise<void>;
  /**
   * @returns orphaned payloads that are too old to belong to an upload in progress; for files the project is 0, because
   * their names suffice
   */
  listOlderThan(ms: number): Promise<readonly { readonly projectId: number; readonly name: string }[]>;
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
    // No other process writes here, so at the start every file without an owner is orphaned.
    listOlderThan: async () => (await readdir(folder)).map((name) => ({ projectId: 0, name })),
    remove: (_projectId, name) => changes.take(() => rm(pathOf(name), { force: true })),
  };
}

/** The header of a file: this mark, then the number of bytes and their CRC-32. */
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
  if (header.equals(headerOf(bytes.length, zlib.crc32(bytes)))) return bytes;
  // A file that was truncated within its mark counts as marked, even an empty file, because no payload is empty.
  const isMarked = MARK.subarray(0, stored.length).equals(stored.subarray(0, MARK.length));
  return isMarked ? refuseDamaged(name) : stored;
}

/**
 * @param file a descriptor
 * @returns whether a payload is complete, because its header is written last
 */
export function isWholePayload(file: number): boolean {
  const header = Buffer.alloc(HEADER_BYTES);
  const read = readSync(file, header, 0, HEADER_BYTES, 0);
  if (read < HEADER_BYTES || header.every((byte) => byte === 0)) return false;
  const isMarked = header.subarray(0, MARK.length).equals(MARK);
  return !isMarked || Number(header.readBigUInt64LE(MARK.length)) === fstatSync(file).size - HEADER_BYTES;
}

/** The checksum of this many bytes takes 0.3 ms of the serving thread. */
const SUMMED_BYTES = 1024 * 1024;

/**
 * A payload file, complete once it is closed. A file that a crash leaves incomplete belongs to no task, and the next
 * start removes it.
 */
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
      const offset = HEADER_BYTES + length;
      length += piece.length;
      await change(() => writeAt(file, piece, offset));
      for (let from = 0; from < piece.length; from += SUMMED_BYTES) {
        if (from > 0) await setImmediate();
        sum = zlib.crc32(piece.subarray(from, from + SUMMED_BYTES), sum);
      }
    },
    async close() {
      await change(() => writeAt(file, headerOf(length, sum), 0));
      await Promise.all([change(() => file.datasync()), change(() => syncFolder(folder))]);
      await file.close();
    },
    async drop() {
      // A failed disk may have closed the file already. It must be removed in any case.
      await file.close().catch(() => {});
      await changes.take(() => rm(path, { force: true }));
    },
  };
}

async function writeAt(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, offset + written);
    written += bytesWritten;
  }
}

/**
 * Limits concurrent changes of files. On a stalled disk they would otherwise block all four threads that also pack
 * answers and hash passwords.
 */
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

/** Writes a payload while its body is received. */
export type PayloadWriter = ReturnType<typeof createPayloadWriter>;

/** The destination of the pieces of one payload. */
interface PieceTarget {
  write(piece: Uint8Array): Promise<void>;
  close(): Promise<void>;
  /** Removes the written pieces. */
  drop(): Promise<void>;
}

/**
 * Smaller bodies are written only when they are complete, because an open file or a packer would cost more than it
 * saves.
 */
const PIECE_BYTES = 4 * 1024 * 1024;

/** Writes the pieces one after another. `open` is called for the first piece. */
function createPayloadWriter(name: string, open: () => Promise<PieceTarget>) {
  let target: PieceTarget | undefined;
  /** How many bytes are written, or will be when `writing` resolves. */
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
    // `finish` reports the error. Without this handler, an error before the call of `finish` would be unhandled.
    writing.catch(() => {});
  }

  async function drop(): Promise<void> {
    // `finish` has thrown the error. A file that remains is removed at the next start.
    await writing.catch(() => {});
    await target?.drop().catch(() => {});
    target = undefined;
  }

  return {
    name,
    /** Receives all bytes that have arrived so far, beginning with the first. */
    received(bytes: Uint8Array): void {
      if (bytes.length - issued >= PIECE_BYTES) write(bytes);
    },
    /**
     * Writes all bytes. They are durable when it returns, and none remain if it fails.
     * @throws storage_full
     */
    async finish(bytes: Uint8Array): Promise<void> {
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
    /** Removes the written pieces. Does nothing after `finish`; a later `finish` writes all bytes. Never rejects. */
    async abandon(): Promise<void> {
      if (isFinished) return;
      writing = drop();
      issued = 0;
      await writing;
    },
  };
}

const decompress = promisify(zlib.zstdDecompress);

/** The size of one value in PostgreSQL. A part is read and written as one message. */
const PART_BYTES = 4 * 1024 * 1024;
/** The size of the packer's output chunks. */
const PACKED_BYTES = 256 * 1024;

/**
 * Bodies as rows, so that any process can run their task. They are compressed: JSON shrinks to a tenth, which saves
 * network, write-ahead log and replication.
 */
export function createPayloadRows(postgres: Postgres): PayloadFiles {
  const insert = (projectId: number, name: string, packed: Buffer) =>
    postgres.transaction(async (tx) => {
      for (let part = 0; part * PART_BYTES < packed.length; part += 1) {
        await tx.run(
          `insert into payload (project_id, name, part, bytes, created_at)
           values ($1, $2, $3, $4, extract(epoch from clock_timestamp()) * 1000)`,
          [projectId, name, part, packed.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)],
        );
      }
    });
  const begin = (projectId: number, name: string) =>
    createPayloadWriter(name, async () => packRows((packed) => insert(projectId, name, packed)));
  return {
    open: begin,
    write: (projectId, name, bytes) => begin(projectId, name).finish(bytes),
    async read(projectId, name) {
      const parts = await postgres.rows<{ bytes: Buffer }>(
        'select bytes from payload where project_id = $1 and name = $2 order by part',
        [projectId, name],
      );
      const packed = Buffer.concat(parts.map((part) => part.bytes));
      // Unpacking also fails when rows are missing.
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

/**
 * Packs the body while the rest is received. The rows are written once all of it has arrived, so no connection waits
 * for a sender.
 */
function packRows(insert: (packed: Buffer) => Promise<void>): PieceTarget {
  const packer = zlib.createZstdCompress({
    chunkSize: PACKED_BYTES,
    params: { [zlib.constants.ZSTD_c_checksumFlag]: 1 },
  });
  const packed: Buffer[] = [];
  packer.on('data', (chunk: Buffer) => packed.push(chunk));
  // The callback of `write`, or `finished`, reports the error.
  packer.on('error', () => {});
  return {
    write: promisify((piece: Uint8Array, done: (error?: Error | null) => void) => packer.write(piece, done)),
    async close() {
      packer.end();
      await finished(packer);
      await insert(Buffer.concat(packed));
    },
    drop: async () => void packer.destroy(),
  };
}
