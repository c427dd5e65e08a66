/** The door of sftp: reading, listing and writing files on a server whose key is pinned, over a pinned connection. */

import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Client, FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2';
import { type Static, type TObject, Type } from 'typebox';
import { optional } from '../../kernel/optional.ts';
import { OutboundProblem } from '../outbound-problem.ts';
import { connectPinned, type Outbound } from '../pinned-addresses.ts';
import { MASK, type SecretMembers } from '../secret-members.ts';

const RETAINED = 'Answers show *** in its place; ***, sent back, keeps it as long as host and port stay';

const secret = (
  kind: 'line' | 'text',
  { maxLength, label, description }: { maxLength: number; label: string; description: string },
) => optional.text({ minLength: 1, maxLength, 'x-label': label, 'x-secret': kind, description });

/** Source: docs/interface §13.1. */
export const sftpOptions = {
  host: Type.String({
    minLength: 1,
    maxLength: 253,
    'x-label': 'Server',
    description: 'a host name or an IP address',
  }),
  port: optional.integer({
    minimum: 1,
    maximum: 65_535,
    'x-label': 'Port',
    description: '22 if it is left out',
  }),
  user: Type.String({ minLength: 1, maxLength: 255, 'x-label': 'User' }),
  password: secret('line', { maxLength: 1_024, label: 'Password', description: RETAINED }),
  privateKey: secret('text', {
    maxLength: 16_384,
    label: 'Private key',
    description: `in place of a password, in the form of PEM or OpenSSH. ${RETAINED}`,
  }),
  passphrase: secret('line', {
    maxLength: 1_024,
    label: 'Passphrase of the private key',
    description: RETAINED,
  }),
  hostKey: Type.String({
    minLength: 1,
    maxLength: 60,
    'x-label': 'Host key',
    description:
      'fingerprint of the key of the server, SHA256:…, as ssh-keyscan HOST | ssh-keygen -lf - shows it. A server with another key gets nothing',
  }),
};

/** A file server over SSH, with the credentials to use it; nothing is sent to a server with another key. */
export type SftpServer = Readonly<Static<TObject<typeof sftpOptions>>>;

/** Checks the key and signs in; the caller closes it. @throws OutboundProblem address, connection, timeout, refused */
export async function openSftp(server: SftpServer, via: Outbound) {
  // Loaded on demand: most processes never use SSH.
  const { default: ssh2 } = await import('ssh2');
  const { host, port = 22 } = server;
  const socket = await connectPinned(host, port, via);
  const client: Client = new ssh2.Client();
  const end = () => {
    client.end();
    socket.destroy();
  };
  via.signal?.addEventListener('abort', end, { once: true });
  let seen = '';
  try {
    const ready = new Promise<void>((resolve, reject) => {
      client.once('ready', resolve).on('error', reject);
      client.once('close', () => reject(new OutboundProblem('connection', `${host} ended the connection`)));
    });
    // After a timeout, nothing awaits the error of the connection that it closes.
    ready.catch(() => {});
    answerPrompts(client, server.password);
    client.connect({
      sock: socket,
      username: server.user,
      ...(server.password !== undefined && { password: server.password, tryKeyboard: true }),
      ...(server.privateKey !== undefined && { privateKey: server.privateKey }),
      ...(server.passphrase !== undefined && { passphrase: server.passphrase }),
      hostVerifier: (key: Buffer) => {
        seen = fingerprintOf(key);
        return seen === server.hostKey.replace(/=$/, '');
      },
      // The timeouts are the service's own.
      readyTimeout: 0,
    });
    await via.timeouts.wait('connect', ready);
    const opened = send<SFTPWrapper>((done) => void client.sftp(done));
    const session = createSession(await via.timeouts.wait('answer', opened), host, via);
    /** Ends the session. */
    return { ...session, close: end };
  } catch (error) {
    end();
    via.signal?.throwIfAborted();
    throw describeSession(error, server, seen);
  }
}

/** Some servers ask for the password only by prompts. */
function answerPrompts(client: Client, password: string | undefined): void {
  if (password === undefined) return;
  client.on('keyboard-interactive', (...requested) => {
    const [prompts, finish] = requested.slice(3) as [readonly unknown[], (answers: string[]) => void];
    finish(prompts.map(() => password));
  });
}

const fingerprintOf = (key: Buffer) =>
  `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;

/** Errors of ssh2 are not passed on, as they may come from the server. */
function describeSession(error: unknown, server: SftpServer, seen: string): unknown {
  const { host } = server;
  const refuse = (text: string) => new OutboundProblem('refused', text);
  if (error instanceof OutboundProblem) return error;
  if (seen !== '' && seen !== server.hostKey.replace(/=$/, ''))
    return refuse(
      `${host} has the host key ${seen}, not the one of the definition: nothing was sent. Ask its operator which one is right`,
    );
  const { level, code, message = '' } = error as { level?: string; code?: unknown; message?: string };
  if (level === 'client-authentication')
    return refuse(`${host} does not accept the user, the password or the private key`);
  if (message.startsWith('Cannot parse privateKey'))
    return refuse('The private key cannot be read: it is damaged, or the passphrase is wrong');
  const why = typeof code === 'string' && /^E[A-Z]{2,20}$/.test(code) ? ` (${code})` : '';
  const text = `${host} could not be connected to by SFTP${why}`;
  return new OutboundProblem('connection', text, { cause: error });
}

/** Codes of SFTP 3, the version that every server supports (draft-ietf-secsh-filexfer-02, section 7). */
const STATUS = { endOfFile: 1, noSuchFile: 2, permissionDenied: 3 } as const;

interface SftpFile {
  readonly sizeBytes: number;
  /** In seconds, the precision of SFTP. */
  readonly modifiedAt: number;
}

export interface SftpName extends SftpFile {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
}

function toName(name: string, stats: Stats): SftpName {
  const file = { name, sizeBytes: stats.size, modifiedAt: stats.mtime };
  if (stats.isSymbolicLink()) return { ...file, kind: 'link' };
  if (stats.isDirectory()) return { ...file, kind: 'folder' };
  return { ...file, kind: stats.isFile() ? 'file' : 'other' };
}

/** The status that a server answered with, or that a problem contains. */
const statusOf = (error: unknown): unknown =>
  ((error instanceof OutboundProblem ? error.cause : error) as { code?: unknown })?.code;

const isMissing = (error: unknown) => statusOf(error) === STATUS.noSuchFile;
/** Whether the server refused, and the call was not just interrupted. */
const isAnswer = (error: unknown) => error instanceof OutboundProblem && typeof statusOf(error) === 'number';

/** The server's own words are not passed on. */
function describeFile(error: unknown, host: string, path: string): unknown {
  if (error instanceof OutboundProblem) return error;
  const cause = { cause: error };
  if (isMissing(error)) return new OutboundProblem('no_file', `${host} has no ${path}`, cause);
  if (statusOf(error) === STATUS.permissionDenied)
    return new OutboundProblem('refused', `${host} does not allow the user to use ${path}`, cause);
  return new OutboundProblem('broken_off', `${host} broke the transfer of ${path} off`, cause);
}

/** How much is requested ahead: every server answers 32 KiB, and 32 of them make 10 MB/s at a latency of 100 ms. */
const PIECE_BYTES = 32 * 1024;
const PIECES_AHEAD = 32;
/** Sent before the first is answered. */
const WRITES_AHEAD = 16;

/** The callback of ssh2; a status alone has no result. */
type Done<Result> = (error?: Error | null, result?: Result) => void;

/** Sends a call without waiting for its answer. */
function send<Result>(call: (done: Done<Result>) => void): Promise<Result> {
  const answered = new Promise<Result>((resolve, reject) => {
    call((error, result) => (error ? reject(error) : resolve(result as Result)));
  });
  // The call may have no waiting caller.
  answered.catch(() => {});
  return answered;
}

export type Sftp = Awaited<ReturnType<typeof openSftp>>;

function createSession(sftp: SFTPWrapper, host: string, via: Outbound) {
  /** Follows links. @throws OutboundProblem no_file */
  async function stat(path: string): Promise<SftpName> {
    return toName(path, await ask<Stats>(path, (done) => sftp.stat(path, done)));
  }

  /** Names in a folder, page by page, links not followed, in no order. */
  async function* list(folder: string): AsyncGenerator<SftpName, undefined> {
    const handle = await ask<Buffer>(folder, (done) => sftp.opendir(folder, done));
    try {
      for (;;) {
        const page = await ask<FileEntryWithStats[]>(folder, (done) =>
          sftp.readdir(handle as unknown as string, done),
        ).catch(orNothing);
        if (page === undefined) return;
        for (const { filename, attrs } of page) yield toName(filename, attrs as Stats);
      }
    } finally {
      sftp.close(handle, () => {});
    }
  }

  /** @throws OutboundProblem changed, when the file is not the listed one, or changes while it is read */
  async function* read(path: string, known: SftpFile): AsyncGenerator<Uint8Array, undefined> {
    const handle = await ask<Buffer>(path, (done) => sftp.open(path, 'r', done));
    const check = async () => {
      const stats = await ask<Stats>(path, (done) => sftp.fstat(handle, done));
      if (stats.size !== known.sizeBytes || stats.mtime !== known.modifiedAt) throw changed(path);
    };
    try {
      await check();
      yield* readAhead(handle, path, known.sizeBytes);
      await check();
    } finally {
      sftp.close(handle, () => {});
    }
  }

  async function* readAhead(handle: Buffer, path: string, sizeBytes: number): AsyncGenerator<Uint8Array> {
    const ahead: Promise<Uint8Array>[] = [];
    let requested = 0;
    let total = 0;
    const fill = () => {
      for (; ahead.length < PIECES_AHEAD && requested < sizeBytes; requested += PIECE_BYTES) {
        const piece = readAt(handle, requested);
        // It is awaited in its turn; an earlier piece may end the file first.
        piece.catch(() => {});
        ahead.push(piece);
      }
    };
    for (fill(); ahead.length > 0; fill()) {
      const piece = await wait(path, ahead.shift() as Promise<Uint8Array>);
      total += piece.length;
      if (piece.length > 0) yield piece;
    }
    if (total !== sizeBytes) throw changed(path);
  }

  /** A server may return less than was requested. @returns fewer bytes only at the end of the file */
  async function readAt(handle: Buffer, at: number): Promise<Uint8Array> {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    let have = 0;
    while (have < PIECE_BYTES) {
      const read = await send<number>((done) =>
        sftp.read(handle, piece, have, PIECE_BYTES - have, at + have, done),
      ).catch(orNothing);
      if (!read) break;
      have += read;
    }
    return piece.subarray(0, have);
  }

  /**
   * Writes under a hidden name and finally renames: a reader sees the old file or the new one, never a part.
   * If the server does not support OpenSSH's rename, there is no file for a moment.
   * @returns the size of the file
   */
  async function write(path: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
    const draft = `${hide(path)}.part`;
    const handle = await ask<Buffer>(draft, (done) => sftp.open(draft, 'w', done));
    try {
      const total = await writeAhead(handle, draft, bytes);
      await ask<void>(draft, (done) => sftp.close(handle, done));
      await replace(draft, path);
      return total;
    } catch (error) {
      sftp.close(handle, () => {});
      sftp.unlink(draft, () => {});
      throw error;
    }
  }

  async function writeAhead(handle: Buffer, draft: string, bytes: AsyncIterable<Uint8Array>) {
    const ahead: Promise<void>[] = [];
    let total = 0;
    for await (const piece of bytes) {
      if (piece.length === 0) continue;
      const at = total;
      // A copy, as the writer may reuse its buffer before the server has answered.
      ahead.push(send((done) => sftp.write(handle, Buffer.from(piece), 0, piece.length, at, done)));
      total += piece.length;
      if (ahead.length >= WRITES_AHEAD) await wait(draft, ahead.shift() as Promise<void>);
    }
    for (const written of ahead) await wait(draft, written);
    return total;
  }

  /** In one step if the server supports OpenSSH's extension; plain SFTP 3 does not rename over an existing file. */
  async function replace(draft: string, path: string): Promise<void> {
    if (await renameOver(draft, path)) return;
    const aside = `${hide(path)}.old`;
    // If there is no file, one moved aside by an interrupted delivery is the only copy: it stays until the new file is there.
    await stat(path).then(async () => {
      await remove(aside);
      await rename(path, path, aside);
    }, ignoreMissing);
    try {
      await rename(path, draft, path);
    } catch (error) {
      // Including what an interrupted delivery moved aside.
      const isLost = await rename(path, aside, path).then(
        () => false,
        (failed) => !isMissing(failed),
      );
      if (!isLost || !(error instanceof OutboundProblem)) throw error;
      const message = `${error.message}, the file that was there is ${aside} now`;
      throw new OutboundProblem(error.reason, message, { cause: error.cause });
    }
    // The new file is there, whatever happens to the old one.
    await remove(aside).catch(() => {});
  }

  /** @returns false if the server cannot, or refuses. @throws OutboundProblem if it did not answer */
  async function renameOver(draft: string, path: string): Promise<boolean> {
    let isSent = false;
    try {
      await ask<void>(path, (done) => {
        sftp.ext_openssh_rename(draft, path, done);
        isSent = true;
      });
      return true;
    } catch (error) {
      // Nothing is sent to a server that did not announce the extension; some announce it, yet replace no file.
      if (!isSent || isAnswer(error)) return false;
      throw error;
    }
  }

  /** @param path shown in a failure */
  const rename = (path: string, from: string, to: string) =>
    ask<void>(path, (done) => sftp.rename(from, to, done));

  /** A missing file counts as removed. */
  async function remove(path: string): Promise<void> {
    await ask<void>(path, (done) => sftp.unlink(path, done)).catch(ignoreMissing);
  }

  /** Sends a call and waits for its answer. @throws OutboundProblem */
  function ask<Result>(path: string, call: (done: Done<Result>) => void): Promise<Result> {
    return wait(path, send(call));
  }

  /** Only the service's own waiting is timed: a slow reader is not the fault of the server. @throws OutboundProblem */
  async function wait<Result>(path: string, answered: Promise<Result>): Promise<Result> {
    const { signal, timeouts } = via;
    try {
      signal?.throwIfAborted();
      return await timeouts.wait('piece', answered);
    } catch (error) {
      signal?.throwIfAborted();
      throw describeFile(error, host, path);
    }
  }

  return { stat, list, read, write, remove };
}

function orNothing(error: unknown): undefined {
  if (statusOf(error) !== STATUS.endOfFile) throw error;
}

function changed(path: string): OutboundProblem {
  const text = `${path} changed while it was read; write under another name and rename at the end`;
  return new OutboundProblem('changed', text);
}

function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

function hide(path: string): string {
  const at = path.lastIndexOf('/') + 1;
  return `${path.slice(0, at)}.${path.slice(at)}`;
}

/** @returns the problems of a server, by option */
export const checkSftpServer = ({ host, password, privateKey, passphrase, hostKey }: SftpServer) => ({
  host: isHost(host) ? undefined : 'is no host name and no IP address',
  password: password === undefined && privateKey === undefined ? 'is needed, or privateKey' : undefined,
  privateKey:
    privateKey === undefined || isPrivateKey(privateKey)
      ? undefined
      : 'is no private key: it begins with -----BEGIN … PRIVATE KEY-----',
  passphrase:
    passphrase !== undefined && privateKey === undefined ? 'is of no use without privateKey' : undefined,
  hostKey: /^SHA256:[A-Za-z0-9+/]{43}=?$/.test(hostKey)
    ? undefined
    : 'is no fingerprint: it is written SHA256: and 43 characters, as ssh-keygen -lf shows it',
});

const isHost = (host: string) => isIP(host) !== 0 || /^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(host);
/** There are many formats, so whether it can be read shows when it is used. */
const isPrivateKey = (key: string) => key === MASK || /^\s*-----BEGIN [A-Z ]*PRIVATE KEY-----\s/.test(key);

export const sftpSecrets: SecretMembers<Pick<SftpServer, 'host' | 'port'>> = {
  members: ['password', 'privateKey', 'passphrase'],
  sentTo: ({ host, port = 22 }) => `${host.toLowerCase()}:${port}`,
};

/** @returns an address for people, without secrets */
export function sftpAddressOf({ host, port }: Pick<SftpServer, 'host' | 'port'>, path: string): string {
  const server = host.includes(':') ? `[${host}]` : host;
  return `sftp://${server}${port === undefined ? '' : `:${port}`}/${path.replace(/^\//, '')}`;
}
