import { createHash } from 'node:crypto';
import type { Client, SFTPWrapper } from 'ssh2';
import { OutboundProblem } from '../outbound-problem.ts';
import type { Outbound } from '../pinned-addresses.ts';
import { connectPinned } from '../pinned-socket.ts';

/** A server of files over SSH, with the right to use it. */
export interface SftpServer {
  readonly host: string;
  /** Default: 22. */
  readonly port?: number | undefined;
  readonly user: string;
  readonly password?: string | undefined;
  /** In the form of PEM or OpenSSH. */
  readonly privateKey?: string | undefined;
  readonly passphrase?: string | undefined;
  /** `SHA256:…`, as `ssh-keygen -lf` shows it: nothing is sent to a server with another key. */
  readonly hostKey: string;
}

export interface SftpSession {
  readonly sftp: SFTPWrapper;
  end(): void;
}

const DEFAULT_PORT = 22;

/** Connects, checks the key of the host and signs in. @throws OutboundProblem address, connection, timeout, refused */
export async function openSession(server: SftpServer, via: Outbound): Promise<SftpSession> {
  // Loaded when it is needed: most processes never speak SSH.
  const { default: ssh2 } = await import('ssh2');
  const { host, port = DEFAULT_PORT } = server;
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
    // A timeout may come first; then nothing takes the error of the connection that it closes.
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
      // The timeouts here are the service's own.
      readyTimeout: 0,
    });
    await via.timeouts.wait('connect', ready);
    const opened = new Promise<SFTPWrapper>((resolve, reject) => {
      client.sftp((error, sftp) => (error ? reject(error) : resolve(sftp)));
    });
    // As with `ready`: the answer may time out first.
    opened.catch(() => {});
    return { sftp: await via.timeouts.wait('answer', opened), end };
  } catch (error) {
    end();
    via.signal?.throwIfAborted();
    throw describeSession(error, server, seen);
  }
}

/** Some servers ask for the password by prompts only. */
function answerPrompts(client: Client, password: string | undefined): void {
  if (password === undefined) return;
  client.on('keyboard-interactive', (...asked) => {
    const [prompts, finish] = asked.slice(3) as [readonly unknown[], (answers: string[]) => void];
    finish(prompts.map(() => password));
  });
}

const fingerprintOf = (key: Buffer) =>
  `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;

/** Errors of ssh2 are not passed on as they are: they may come from the server. */
function describeSession(error: unknown, server: SftpServer, seen: string): unknown {
  const { host } = server;
  if (error instanceof OutboundProblem) return error;
  if (seen !== '' && seen !== server.hostKey.replace(/=$/, ''))
    return new OutboundProblem(
      'refused',
      `${host} has the host key ${seen}, not the one of the definition: nothing was sent. Ask its operator which one is right`,
    );
  const { level, code, message = '' } = error as { level?: string; code?: unknown; message?: string };
  if (level === 'client-authentication')
    return new OutboundProblem(
      'refused',
      `${host} does not accept the user, the password or the private key`,
    );
  if (message.startsWith('Cannot parse privateKey'))
    return new OutboundProblem(
      'refused',
      'The private key cannot be read: it is damaged, or the passphrase is wrong',
    );
  const why = typeof code === 'string' && /^E[A-Z]{2,20}$/.test(code) ? ` (${code})` : '';
  return new OutboundProblem('connection', `${host} could not be connected to by SFTP${why}`, {
    cause: error,
  });
}
