import type { FileEntryWithStats, Stats } from 'ssh2';
import { OutboundProblem } from '../outbound-problem.ts';
import { isEnd, type SftpCalls, type SftpFile, type SftpName, toName } from './sftp-calls.ts';

/** How much is asked for ahead: 32 KiB is what every server answers, and 32 of them make 10 MB/s at 100 ms of distance. */
const PIECE_BYTES = 32 * 1024;
const PIECES_AHEAD = 32;

/** Follows links. @throws OutboundProblem no_file */
export async function statPath(calls: SftpCalls, path: string): Promise<SftpName> {
  return toName(path, await calls.ask<Stats>(path, (done) => calls.sftp.stat(path, done)));
}

/** Names of a folder a page at a time, links not followed, in no order. */
export async function* listFolder(calls: SftpCalls, folder: string): AsyncGenerator<SftpName, undefined> {
  const { sftp } = calls;
  const handle = await calls.ask<Buffer>(folder, (done) => sftp.opendir(folder, done));
  try {
    for (;;) {
      const page = await calls
        .ask<FileEntryWithStats[]>(folder, (done) => sftp.readdir(handle as unknown as string, done))
        .catch(orNothing);
      if (page === undefined) return;
      for (const { filename, attrs } of page) yield toName(filename, attrs as Stats);
    }
  } finally {
    calls.close(handle);
  }
}

/** @throws OutboundProblem changed, when the file is not the one that was listed, also while it is read */
export async function* readPath(
  calls: SftpCalls,
  path: string,
  known: SftpFile,
): AsyncGenerator<Uint8Array, undefined> {
  const { sftp } = calls;
  const handle = await calls.ask<Buffer>(path, (done) => sftp.open(path, 'r', done));
  const check = async () => {
    const stats = await calls.ask<Stats>(path, (done) => sftp.fstat(handle, done));
    if (stats.size !== known.sizeBytes || stats.mtime !== known.modifiedAt) throw changed(path);
  };
  try {
    await check();
    yield* readAhead(calls, { handle, path, sizeBytes: known.sizeBytes });
    await check();
  } finally {
    calls.close(handle);
  }
}

interface Opened {
  readonly handle: Buffer;
  readonly path: string;
  readonly sizeBytes: number;
}

async function* readAhead(calls: SftpCalls, { handle, path, sizeBytes }: Opened): AsyncGenerator<Uint8Array> {
  const ahead: Promise<Uint8Array>[] = [];
  let asked = 0;
  let total = 0;
  while (ahead.length > 0 || asked < sizeBytes) {
    for (; ahead.length < PIECES_AHEAD && asked < sizeBytes; asked += PIECE_BYTES) {
      const piece = readAt(calls, handle, asked);
      // It is awaited in its turn; an earlier piece may end the file before.
      piece.catch(() => {});
      ahead.push(piece);
    }
    const piece = await calls.wait(path, ahead.shift() as Promise<Uint8Array>);
    total += piece.length;
    if (piece.length > 0) yield piece;
  }
  if (total !== sizeBytes) throw changed(path);
}

/** A server may answer with less than was asked for. @returns fewer bytes only at the end of the file */
async function readAt(calls: SftpCalls, handle: Buffer, at: number): Promise<Uint8Array> {
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  let have = 0;
  while (have < PIECE_BYTES) {
    const read = await calls
      .send<number>((done) => calls.sftp.read(handle, piece, have, PIECE_BYTES - have, at + have, done))
      .catch(orNothing);
    if (!read) break;
    have += read;
  }
  return piece.subarray(0, have);
}

function orNothing(error: unknown): undefined {
  if (!isEnd(error)) throw error;
}

const changed = (path: string) =>
  new OutboundProblem(
    'changed',
    `${path} changed while it was read; write under another name and rename at the end`,
  );
