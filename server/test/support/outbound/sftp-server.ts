import { createHash, timingSafeEqual } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rename, rm, stat } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import ssh2, { type Algorithms, type AuthContext, type Connection, type SFTPWrapper } from 'ssh2';

const { Server, utils } = ssh2;
const { STATUS_CODE } = utils.sftp;

/** An SFTP server for the files in a folder, over SSH on loopback. */
export interface SftpTestServer {
  readonly port: number;
  readonly hostKey: string;
  /** The names of the received calls, in order. */
  readonly calls: string[];
  /** Paths that the rename of SFTP does not replace. */
  readonly stuck: Set<string>;
  /** The number of logins. */
  readonly signedIn: () => number;
  close(): Promise<void>;
}

export interface SftpTestUser {
  readonly user: string;
  readonly password?: string;
  /** A pair from `makeKeys`. */
  readonly publicKey?: string;
  /** The algorithms that the server offers. Default: all. */
  readonly algorithms?: Algorithms;
}

/** An Ed25519 pair. One in 300 pairs made by ssh2 lacks a leading zero, and no program can read it. */
export function makeKeys(passphrase?: string): { readonly private: string; readonly public: string } {
  for (;;) {
    const keys =
      passphrase === undefined
        ? utils.generateKeyPairSync('ed25519')
        : utils.generateKeyPairSync('ed25519', { passphrase, cipher: 'aes256-ctr', rounds: 1 });
    const isReadable = [utils.parseKey(keys.private, passphrase), utils.parseKey(keys.public)].every(
      (key) => !(key instanceof Error),
    );
    if (isReadable) return keys;
  }
}

/** The response to OpenSSH's rename, which replaces an existing file. `unknown`: the server does not announce it. */
export type PosixRename = 'unknown' | 'unsupported' | 'refused' | 'done';

export async function startSftpServer(
  root: string,
  user: SftpTestUser,
  posixRename: PosixRename = 'unknown',
): Promise<SftpTestServer> {
  const hostKeys = makeKeys();
  const calls: string[] = [];
  const stuck = new Set<string>();
  const connections = new Set<Connection>();
  let signedIn = 0;
  const server = new Server(
    { hostKeys: [hostKeys.private], algorithms: user.algorithms ?? {} },
    (connection) => {
      connections.add(connection);
      connection
        .on('error', () => {})
        .on('close', () => connections.delete(connection))
        .on('authentication', (context) => (isKnown(context, user) ? context.accept() : context.reject()))
        .on('ready', () => {
          signedIn += 1;
          connection.on('session', (accept) =>
            accept().on(
              'sftp',
              (acceptSftp) => new ServedFiles(acceptSftp(), { root, calls, stuck, posixRename }),
            ),
          );
        });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const publicKey = utils.parseKey(hostKeys.public);
  if (publicKey instanceof Error) throw publicKey;
  const digest = createHash('sha256').update(publicKey.getPublicSSH()).digest('base64');
  return {
    port: (server.address() as AddressInfo).port,
    hostKey: `SHA256:${digest.replace(/=$/, '')}`,
    calls,
    stuck,
    signedIn: () => signedIn,
    async close() {
      for (const connection of connections) connection.end();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function isKnown(context: AuthContext, { user, password, publicKey }: SftpTestUser): boolean {
  if (context.username !== user) return false;
  if (context.method === 'password') return password !== undefined && context.password === password;
  if (context.method !== 'publickey' || publicKey === undefined) return false;
  const key = utils.parseKey(publicKey);
  if (key instanceof Error) throw key;
  const [sent, expected] = [context.key.data, key.getPublicSSH()];
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return false;
  if (context.signature === undefined || context.blob === undefined) return true;
  return key.verify(context.blob, context.signature, context.hashAlgo) === true;
}

interface Served {
  readonly root: string;
  readonly calls: string[];
  readonly stuck: ReadonlySet<string>;
  readonly posixRename: PosixRename;
}

/** Serves the files of one session. */
class ServedFiles {
  readonly #sftp: SFTPWrapper;
  readonly #served: Served;
  readonly #handles = new Map<number, FileHandle | string[]>();

  constructor(sftp: SFTPWrapper, served: Served) {
    this.#sftp = sftp;
    this.#served = served;
    if (served.posixRename !== 'unknown') announcePosixRename(sftp);
    this.#serveFiles();
    this.#serveFolders();
    this.#serveNames();
  }

  #serveFiles(): void {
    const sftp = this.#sftp;
    sftp.on('OPEN', (id, path, flags) =>
      this.#answer('open', id, async () => {
        const isWritten = (flags & utils.sftp.OPEN_MODE.WRITE) !== 0;
        const mode = isWritten
          ? constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC
          : constants.O_RDONLY;
        this.#add(id, await open(this.#pathOf(path), mode));
      }),
    );
    sftp.on('READ', (...[id, handle, offset, length]) =>
      this.#answer('read', id, async () => {
        // Fewer bytes than requested, which servers are allowed to send.
        const piece = Buffer.alloc(Math.min(length, 20_000));
        const { bytesRead } = await this.#fileOf(handle).read(piece, 0, piece.length, offset);
        if (bytesRead === 0) sftp.status(id, STATUS_CODE.EOF);
        else sftp.data(id, piece.subarray(0, bytesRead));
      }),
    );
    sftp.on('WRITE', (...[id, handle, offset, data]) =>
      this.#answer('write', id, async () => {
        await this.#fileOf(handle).write(data, 0, data.length, offset);
        sftp.status(id, STATUS_CODE.OK);
      }),
    );
    sftp.on('FSTAT', (id, handle) =>
      this.#answer('fstat', id, async () => sftp.attrs(id, toAttributes(await this.#fileOf(handle).stat()))),
    );
    sftp.on('CLOSE', (id, handle) =>
      this.#answer('close', id, async () => {
        const opened = this.#handles.get(handle.readUInt32BE());
        this.#handles.delete(handle.readUInt32BE());
        if (opened !== undefined && 'fd' in opened) await opened.close();
        sftp.status(id, STATUS_CODE.OK);
      }),
    );
  }

  #serveFolders(): void {
    const sftp = this.#sftp;
    sftp.on('OPENDIR', (id, path) =>
      this.#answer('opendir', id, async () => {
        const folder = this.#pathOf(path);
        const names = await readdir(folder);
        this.#add(
          id,
          ['.', '..', ...names].map((name) => `${folder}/${name}`),
        );
      }),
    );
    sftp.on('READDIR', (id, handle) =>
      this.#answer('readdir', id, async () => {
        // Two names per page.
        const page = (this.#handles.get(handle.readUInt32BE()) as string[]).splice(0, 2);
        if (page.length === 0) return sftp.status(id, STATUS_CODE.EOF);
        const names = page.map(async (path) => ({
          filename: path.slice(path.lastIndexOf('/') + 1),
          longname: path,
          attrs: toAttributes(await lstat(path)),
        }));
        return sftp.name(id, await Promise.all(names));
      }),
    );
  }

  #serveNames(): void {
    const sftp = this.#sftp;
    sftp.on('STAT', (id, path) =>
      this.#answer('stat', id, async () => sftp.attrs(id, toAttributes(await stat(this.#pathOf(path))))),
    );
    sftp.on('RENAME', (id, from, to) => this.#answer('rename', id, () => this.#rename(id, from, to)));
    sftp.on('EXTENDED', (id, _, paths) =>
      this.#answer('posix-rename', id, async () => {
        const { posixRename } = this.#served;
        if (posixRename !== 'done')
          return sftp.status(id, STATUS_CODE[posixRename === 'refused' ? 'FAILURE' : 'OP_UNSUPPORTED']);
        const length = paths.readUInt32BE();
        const [from, to] = [paths.subarray(4, 4 + length), paths.subarray(8 + length)];
        await rename(this.#pathOf(String(from)), this.#pathOf(String(to)));
        return sftp.status(id, STATUS_CODE.OK);
      }),
    );
    sftp.on('REMOVE', (id, path) =>
      this.#answer('remove', id, async () => {
        await rm(this.#pathOf(path));
        sftp.status(id, STATUS_CODE.OK);
      }),
    );
  }

  async #rename(id: number, from: string, to: string): Promise<void> {
    // SFTP 3 does not rename over existing files.
    const isTaken = await stat(this.#pathOf(to)).then(
      () => true,
      () => false,
    );
    if (isTaken || this.#served.stuck.has(from)) return this.#sftp.status(id, STATUS_CODE.FAILURE);
    await rename(this.#pathOf(from), this.#pathOf(to));
    return this.#sftp.status(id, STATUS_CODE.OK);
  }

  /** Records the call, and answers a failure with its status. */
  #answer(name: string, id: number, work: () => Promise<void>): void {
    this.#served.calls.push(name);
    work().catch((error: NodeJS.ErrnoException) => {
      const isMissing = error.code === 'ENOENT' || error.code === 'ENOTDIR';
      const status = isMissing ? STATUS_CODE.NO_SUCH_FILE : STATUS_CODE.FAILURE;
      this.#sftp.status(id, status, 'words of the server');
    });
  }

  #add(id: number, opened: FileHandle | string[]): void {
    const handle = Buffer.alloc(4);
    handle.writeUInt32BE(id);
    this.#handles.set(id, opened);
    this.#sftp.handle(id, handle);
  }

  #fileOf(handle: Buffer): FileHandle {
    return this.#handles.get(handle.readUInt32BE()) as FileHandle;
  }

  #pathOf(path: string): string {
    return join(this.#served.root, normalize(`/${path}`));
  }
}

interface Sender {
  channelData(id: number, bytes: Buffer): unknown;
}

/** ssh2 announces no extensions, so its first message, the version, is replaced. */
function announcePosixRename(sftp: SFTPWrapper): void {
  const sender = (sftp as SFTPWrapper & { _protocol: Sender })._protocol;
  const send = sender.channelData.bind(sender);
  const packed = (text: string) => Buffer.concat([Buffer.from([0, 0, 0, text.length]), Buffer.from(text)]);
  const version = Buffer.from([2, 0, 0, 0, 3]);
  const body = Buffer.concat([version, packed('posix-rename@openssh.com'), packed('1')]);
  sender.channelData = (id) => {
    sender.channelData = send;
    return send(id, Buffer.concat([Buffer.from([0, 0, 0, body.length]), body]));
  };
}

const toAttributes = ({ mode, size, mtimeMs }: { mode: number; size: number; mtimeMs: number }) => ({
  mode,
  size,
  uid: 0,
  gid: 0,
  atime: 0,
  mtime: Math.floor(mtimeMs / 1_000),
});
