import { createHash } from 'node:crypto';
import type { Client, SFTPWrapper } from 'ssh2';
import { OutboundProblem } from '../outbound-problem.ts';
import { connectPinned, type Outbound } from '../pinned-addresses.ts';
import type { SftpServer } from './sftp-options.ts';
import { SftpSession, send } from './sftp-session.ts';

/**
 * Checks the server's key and signs in. The caller closes the connection.
 * @throws OutboundProblem address, connection, timeout, refused
 */
export async function openSftp(server: SftpServer, via: Outbound): Promise<SftpSession> {
  // Loaded on demand, because most processes never use SSH.
  const { default: ssh2 } = await import('ssh2');
  const { host, port = 22 } = server;
  const socket = await connectPinned(host, port, via);
  const client: Client = new ssh2.Client();
  const end = () => {
    client.end();
    socket.destroy();
  };
  via.signal?.addEventListener('abort', end, { once: true });
  let shownKey = '';
  try {
    const ready = new Promise<void>((resolve, reject) => {
      client.once('ready', resolve).on('error', reject);
      client.once('close', () => reject(new OutboundProblem('connection', `${host} ended the connection`)));
    });
    // After a timeout, no code awaits the error of the connection that the timeout closes.
    ready.catch(() => {});
    answerPrompts(client, server.password);
    client.connect({
      sock: socket,
      username: server.user,
      ...(server.password !== undefined && { password: server.password, tryKeyboard: true }),
      ...(server.privateKey !== undefined && { privateKey: server.privateKey }),
      ...(server.passphrase !== undefined && { passphrase: server.passphrase }),
      hostVerifier: (key: Buffer) => {
        shownKey = fingerprintOf(key);
        return shownKey === server.hostKey.replace(/=$/, '');
      },
      // The service's own timeouts apply instead.
      readyTimeout: 0,
    });
    await via.timeouts.wait('connect', ready);
    const opened = send<SFTPWrapper>((done) => void client.sftp(done));
    return new SftpSession({ sftp: await via.timeouts.wait('answer', opened), host, via, close: end });
  } catch (error) {
    end();
    via.signal?.throwIfAborted();
    throw describeConnection(error, server, shownKey);
  }
}

/** Some servers request the password only with prompts. */
function answerPrompts(client: Client, password: string | undefined): void {
  if (password === undefined) return;
  client.on('keyboard-interactive', (...requested) => {
    const [prompts, finish] = requested.slice(3) as [readonly unknown[], (answers: string[]) => void];
    finish(prompts.map(() => password));
  });
}

const fingerprintOf = (key: Buffer) =>
  `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;

/** Messages of ssh2 are not passed on, because they may come from the server. */
function describeConnection(error: unknown, server: SftpServer, shownKey: string): unknown {
  const { host } = server;
  const refuse = (text: string) => new OutboundProblem('refused', text);
  if (error instanceof OutboundProblem) return error;
  if (shownKey !== '' && shownKey !== server.hostKey.replace(/=$/, ''))
    return refuse(
      `${host} has the host key ${shownKey}, not the one of the definition: nothing was sent. Ask its operator which one is right`,
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
