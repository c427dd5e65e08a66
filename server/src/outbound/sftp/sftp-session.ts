import type { FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2';
import { OutboundProblem } from '../outbound-problem.ts';
import type { Outbound } from '../pinned-addresses.ts';
import { describeFile, ignoreMissing, isMissing, isRefusal, orNothing } from './sftp-status.ts';

interface SftpFile {
  readonly sizeBytes: number;
  /** In seconds, which is the precision of SFTP. */
  readonly modifiedAt: number;
}

export interface SftpName extends SftpFile {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
}

/**
 * The number of reads that are requested ahead. Every server returns 32 KiB per read, and 32 reads make 10 MB/s at a
 * latency of 100 ms.
 */
const PIECE_BYTES = 32 * 1024;
const PIECES_AHEAD = 32;
/** The number of writes that are sent before the first is answered. */
const WRITES_AHEAD = 16;

/** The callback of ssh2. An answer that is only a status has no result. */
type Done<Result> = (error?: Error | null, result?: Result) => void;

interface SessionParts {
  readonly sftp: SFTPWrapper;
  /** The host that failures name. */
  readonly host: string;
  readonly via: Outbound;
  /** Ends the connection. */
  readonly close: () => void;
}

/** The files of a server on which the session has signed in. */
export class SftpSession {
  readonly #sftp: SFTPWrapper;
  readonly #host: string;
  readonly #via: Outbound;
  /** Ends the session. */
  readonly close: () => void;

  constructor({ sftp, host, via, close }: SessionParts) {
    this.#sftp = sftp;
    this.#host = host;
    this.#via = via;
    this.close = close;
  }

  /**
   * Follows symbolic links.
   * @throws OutboundProblem no_file
   */
  async stat(path: string): Promise<SftpName> {
    return toName(path, await this.#ask<Stats>(path, (done) => this.#sftp.stat(path, done)));
  }

  /** Lists the names in a folder page by page, in no particular order. Symbolic links are not followed. */
  async *list(folder: string): AsyncGenerator<SftpName, undefined> {
    const handle = await this.#ask<Buffer>(folder, (done) => this.#sftp.opendir(folder, done));
    try {
      for (;;) {
        const page = await this.#ask<FileEntryWithStats[]>(folder, (done) =>
          this.#sftp.readdir(handle, done),
        ).catch(orNothing);
        if (page === undefined) return;
        for (const { filename, attrs } of page) yield toName(filename, attrs as Stats);
      }
    } finally {
      this.#sftp.close(handle, () => {});
    }
  }

  /** @throws OutboundProblem changed, when the file differs from the listed one or changes while it is read */
  async *read(path: string, listed: SftpFile): AsyncGenerator<Uint8Array, undefined> {
    const handle = await this.#ask<Buffer>(path, (done) => this.#sftp.open(path, 'r', done));
    const check = async () => {
      const stats = await this.#ask<Stats>(path, (done) => this.#sftp.fstat(handle, done));
      if (stats.size !== listed.sizeBytes || stats.mtime !== listed.modifiedAt) throw describeChanged(path);
    };
    try {
      await check();
      yield* this.#readAhead(handle, path, listed.sizeBytes);
      await check();
    } finally {
      this.#sftp.close(handle, () => {});
    }
  }

  async *#readAhead(handle: Buffer, path: string, sizeBytes: number): AsyncGenerator<Uint8Array> {
    const ahead: Promise<Uint8Array>[] = [];
    let requested = 0;
    let total = 0;
    const fill = () => {
      for (; ahead.length < PIECES_AHEAD && requested < sizeBytes; requested += PIECE_BYTES) {
        const piece = this.#readPiece(handle, requested);
        // Reads are awaited in order, so this one is never awaited if an earlier one fails.
        piece.catch(() => {});
        ahead.push(piece);
      }
    };
    for (fill(); ahead.length > 0; fill()) {
      const piece = await this.#wait(path, ahead.shift() as Promise<Uint8Array>);
      total += piece.length;
      if (piece.length > 0) yield piece;
    }
    if (total !== sizeBytes) throw describeChanged(path);
  }

  /**
   * A server may return fewer bytes than were requested.
   * @returns fewer bytes only at the end of the file
   */
  async #readPiece(handle: Buffer, start: number): Promise<Uint8Array> {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    let filled = 0;
    while (filled < PIECE_BYTES) {
      const read = await send<number>((done) =>
        this.#sftp.read(handle, piece, filled, PIECE_BYTES - filled, start + filled, done),
      ).catch(orNothing);
      if (!read) break;
      filled += read;
    }
    return piece.subarray(0, filled);
  }

  /**
   * Writes under a hidden name and renames at the end, so that a reader sees the old file or the new one, never a part.
   * If the server does not support OpenSSH's rename, the file is missing for a moment.
   * @returns the size of the file
   */
  async write(path: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
    const draft = `${hide(path)}.part`;
    const handle = await this.#ask<Buffer>(draft, (done) => this.#sftp.open(draft, 'w', done));
    try {
      const total = await this.#writeAhead(handle, draft, bytes);
      await this.#ask<void>(draft, (done) => this.#sftp.close(handle, done));
      await this.#replace(draft, path);
      return total;
    } catch (error) {
      this.#sftp.close(handle, () => {});
      this.#sftp.unlink(draft, () => {});
      throw error;
    }
  }

  async #writeAhead(handle: Buffer, draft: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
    const ahead: Promise<void>[] = [];
    let total = 0;
    for await (const piece of bytes) {
      if (piece.length === 0) continue;
      const start = total;
      // Copied, because the writer may reuse its buffer before the server has answered.
      ahead.push(send((done) => this.#sftp.write(handle, Buffer.from(piece), 0, piece.length, start, done)));
      total += piece.length;
      if (ahead.length >= WRITES_AHEAD) await this.#wait(draft, ahead.shift() as Promise<void>);
    }
    for (const written of ahead) await this.#wait(draft, written);
    return total;
  }

  /**
   * Replaces the file in one step if the server supports OpenSSH's extension. Plain SFTP 3 does not rename over an
   * existing file.
   */
  async #replace(draft: string, path: string): Promise<void> {
    if (await this.#renameOver(draft, path)) return;
    const aside = `${hide(path)}.old`;
    // If the file is missing, the copy that an interrupted delivery moved aside is the only one. It remains until the
    // new file is there.
    await this.stat(path).then(async () => {
      await this.remove(aside);
      await this.#rename(path, path, aside);
    }, ignoreMissing);
    try {
      await this.#rename(path, draft, path);
    } catch (error) {
      // This also restores a copy that an interrupted delivery moved aside.
      const isLost = await this.#rename(path, aside, path).then(
        () => false,
        (failed) => !isMissing(failed),
      );
      if (!isLost || !(error instanceof OutboundProblem)) throw error;
      const message = `${error.message}, the file that was there is ${aside} now`;
      throw new OutboundProblem(error.reason, message, { cause: error.cause });
    }
    // The new file is complete, whatever happens to the old one.
    await this.remove(aside).catch(() => {});
  }

  /**
   * @returns false if the server cannot replace the file or refuses to
   * @throws OutboundProblem if it did not answer
   */
  async #renameOver(draft: string, path: string): Promise<boolean> {
    let isSent = false;
    try {
      await this.#ask<void>(path, (done) => {
        this.#sftp.ext_openssh_rename(draft, path, done);
        isSent = true;
      });
      return true;
    } catch (error) {
      // Nothing is sent to a server that did not announce the extension. Some servers announce it but do not replace
      // files.
      if (!isSent || isRefusal(error)) return false;
      throw error;
    }
  }

  /** @param path the path that a failure names */
  #rename(path: string, from: string, to: string): Promise<void> {
    return this.#ask<void>(path, (done) => this.#sftp.rename(from, to, done));
  }

  /** A missing file counts as removed. */
  async remove(path: string): Promise<void> {
    await this.#ask<void>(path, (done) => this.#sftp.unlink(path, done)).catch(ignoreMissing);
  }

  /** Sends a call and waits for its answer. @throws OutboundProblem */
  #ask<Result>(path: string, call: (done: Done<Result>) => void): Promise<Result> {
    return this.#wait(path, send(call));
  }

  /**
   * Only the service's own waiting is timed, because a slow reader is not the fault of the server.
   * @throws OutboundProblem
   */
  async #wait<Result>(path: string, answered: Promise<Result>): Promise<Result> {
    const { signal, timeouts } = this.#via;
    try {
      signal?.throwIfAborted();
      return await timeouts.wait('piece', answered);
    } catch (error) {
      signal?.throwIfAborted();
      throw describeFile(error, this.#host, path);
    }
  }
}

/** Sends a call without waiting for its answer. */
export function send<Result>(call: (done: Done<Result>) => void): Promise<Result> {
  const answered = new Promise<Result>((resolve, reject) => {
    call((error, result) => (error ? reject(error) : resolve(result as Result)));
  });
  // There may be no caller that awaits the call.
  answered.catch(() => {});
  return answered;
}

function toName(name: string, stats: Stats): SftpName {
  const file = { name, sizeBytes: stats.size, modifiedAt: stats.mtime };
  if (stats.isSymbolicLink()) return { ...file, kind: 'link' };
  if (stats.isDirectory()) return { ...file, kind: 'folder' };
  return { ...file, kind: stats.isFile() ? 'file' : 'other' };
}

function describeChanged(path: string): OutboundProblem {
  const text = `${path} changed while it was read; write under another name and rename at the end`;
  return new OutboundProblem('changed', text);
}

function hide(path: string): string {
  const nameStart = path.lastIndexOf('/') + 1;
  return `${path.slice(0, nameStart)}.${path.slice(nameStart)}`;
}
