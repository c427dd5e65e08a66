import type { SFTPWrapper, Stats } from 'ssh2';
import { OutboundProblem } from '../outbound-problem.ts';
import type { Outbound } from '../pinned-addresses.ts';

/** Of SFTP 3, the version that every server speaks (draft-ietf-secsh-filexfer-02, section 7). */
const STATUS = { endOfFile: 1, noSuchFile: 2, permissionDenied: 3 } as const;

export interface SftpFile {
  readonly sizeBytes: number;
  /** In seconds: SFTP knows no finer ones. */
  readonly modifiedAt: number;
}

export interface SftpName extends SftpFile {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
}

/** As ssh2 calls back; a status alone has no result. */
type Done<Result> = (error?: Error | null, result?: Result) => void;

/** The calls of one session, with waiting limited and failures in words. */
export class SftpCalls {
  readonly sftp: SFTPWrapper;
  private readonly host: string;
  private readonly via: Outbound;

  constructor(sftp: SFTPWrapper, host: string, via: Outbound) {
    this.sftp = sftp;
    this.host = host;
    this.via = via;
  }

  /** Sends a call without waiting for its answer. */
  send<Result>(call: (done: Done<Result>) => void): Promise<Result> {
    const answered = new Promise<Result>((resolve, reject) => {
      call((error, result) => (error ? reject(error) : resolve(result as Result)));
    });
    // Of a call that nobody waits for any more.
    answered.catch(() => {});
    return answered;
  }

  /** Waiting is timed only while the service waits: a slow reader is not the fault of the server. @throws OutboundProblem */
  async wait<Result>(path: string, answered: Promise<Result>): Promise<Result> {
    const { signal, timeouts } = this.via;
    try {
      signal?.throwIfAborted();
      return await timeouts.wait('piece', answered);
    } catch (error) {
      signal?.throwIfAborted();
      throw describeFile(error, this.host, path);
    }
  }

  /** Sends a call and waits for its answer. @throws OutboundProblem */
  ask<Result>(path: string, call: (done: Done<Result>) => void): Promise<Result> {
    return this.wait(path, this.send(call));
  }

  close(handle: Buffer): void {
    this.sftp.close(handle, () => {});
  }
}

export const toName = (name: string, stats: Stats): SftpName => ({
  name,
  kind: kindOf(stats),
  sizeBytes: stats.size,
  modifiedAt: stats.mtime,
});

function kindOf(stats: Stats): SftpName['kind'] {
  if (stats.isSymbolicLink()) return 'link';
  if (stats.isDirectory()) return 'folder';
  return stats.isFile() ? 'file' : 'other';
}

/** The status that a server answered with, also within a problem. */
function statusOf(error: unknown): unknown {
  return (
    error instanceof OutboundProblem ? (error.cause as { code?: unknown }) : (error as { code?: unknown })
  )?.code;
}

export const isEnd = (error: unknown) => statusOf(error) === STATUS.endOfFile;
export const isMissing = (error: unknown) => statusOf(error) === STATUS.noSuchFile;
/** Whether the server said no, and the call was not just broken off. */
export const isAnswer = (error: unknown) =>
  error instanceof OutboundProblem && typeof statusOf(error) === 'number';

/** The server's own words are not passed on. */
function describeFile(error: unknown, host: string, path: string): unknown {
  if (error instanceof OutboundProblem) return error;
  const cause = { cause: error };
  if (isMissing(error)) return new OutboundProblem('no_file', `${host} has no ${path}`, cause);
  if (statusOf(error) === STATUS.permissionDenied)
    return new OutboundProblem('refused', `${host} does not allow the user to use ${path}`, cause);
  return new OutboundProblem('broken_off', `${host} broke the transfer of ${path} off`, cause);
}
