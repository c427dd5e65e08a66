import { isIP } from 'node:net';
import { Type } from 'typebox';
import { GLOB_LENGTH, globProblem } from './glob.ts';
import { outboundOf } from './remote-files.ts';
import { openSftpSource } from './sftp-source.ts';
import { defineSource } from './source-record.ts';
import { MASK } from './source-secrets.ts';

const KEPT = 'Answers show *** in its place; ***, sent back, keeps it as long as host and port stay';

export const sftp = defineSource({
  type: 'sftp',
  title: 'SftpSource',
  label: 'A server, by SFTP',
  description: 'Files of a server, read by SFTP. The key of the server is pinned',
  options: {
    host: Type.String({
      minLength: 1,
      maxLength: 253,
      'x-label': 'Server',
      description: 'a host name or an IP address',
    }),
    port: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 65_535, 'x-label': 'Port', description: '22 if it is left out' }),
    ),
    user: Type.String({ minLength: 1, maxLength: 255, 'x-label': 'User' }),
    password: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_024,
        'x-label': 'Password',
        'x-secret': 'line',
        description: KEPT,
      }),
    ),
    privateKey: Type.Optional(
      Type.String({
        ...{ minLength: 1, maxLength: 16_384, 'x-label': 'Private key', 'x-secret': 'text' },
        description: `in place of a password, in the form of PEM or OpenSSH. ${KEPT}`,
      }),
    ),
    passphrase: Type.Optional(
      Type.String({
        ...{ minLength: 1, maxLength: 1_024, 'x-label': 'Passphrase of the private key', 'x-secret': 'line' },
        description: KEPT,
      }),
    ),
    hostKey: Type.String({
      ...{ minLength: 1, maxLength: 60, 'x-label': 'Host key' },
      description:
        'fingerprint of the key of the server, SHA256:…, as ssh-keyscan HOST | ssh-keygen -lf - shows it. A server with another key gets nothing',
    }),
    path: Type.String({
      ...{ minLength: 1, maxLength: GLOB_LENGTH, 'x-label': 'Files' },
      description:
        'a path with *, ? and ** for folders, as in export/*.csv; it begins with / or in the folder where the server lets the user in',
    }),
    take: Type.Optional(
      Type.Enum(['all', 'newest'], {
        description: 'all matching files in the order of their names (default), or the newest one alone',
      }),
    ),
  },
  check: ({ host, password, privateKey, passphrase, hostKey, path }) => ({
    host: isHost(host) ? undefined : 'is no host name and no IP address',
    password: password === undefined && privateKey === undefined ? 'is needed, or privateKey' : undefined,
    privateKey: privateKey === undefined ? undefined : checkPrivateKey(privateKey),
    passphrase:
      passphrase !== undefined && privateKey === undefined ? 'is of no use without privateKey' : undefined,
    hostKey: /^SHA256:[A-Za-z0-9+/]{43}=?$/.test(hostKey)
      ? undefined
      : 'is no fingerprint: it is written SHA256: and 43 characters, as ssh-keygen -lf shows it',
    path: globProblem(path.replace(/^\//, '')),
  }),
  open: (source, run, settings) =>
    openSftpSource(
      source,
      { maxBytes: settings.maxPackedBytes, last: run.last, where: addressOf(source) },
      outboundOf(settings, run),
    ),
  describe: (source) => `files that match ${addressOf(source)}`,
  secrets: {
    members: ['password', 'privateKey', 'passphrase'],
    sentTo: ({ host, port = 22 }) => `${host.toLowerCase()}:${port}`,
  },
});

const isHost = (host: string) => isIP(host) !== 0 || /^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(host);

/** Whether it can be read is seen by a run: the formats are many. */
function checkPrivateKey(key: string): string | undefined {
  const isKey = key === MASK || /^\s*-----BEGIN [A-Z ]*PRIVATE KEY-----\s/.test(key);
  return isKey ? undefined : 'is no private key: it begins with -----BEGIN … PRIVATE KEY-----';
}

function addressOf({ host, port, path }: { host: string; port?: number; path: string }): string {
  const server = host.includes(':') ? `[${host}]` : host;
  return `sftp://${server}${port === undefined ? '' : `:${port}`}/${path.replace(/^\//, '')}`;
}
