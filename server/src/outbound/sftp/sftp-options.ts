/** What a definition says of an SFTP server, and what a schema cannot say is wrong with it. Source: docs/interface.md §13.1. */
import { isIP } from 'node:net';
import { Type } from 'typebox';
import { MASK, type SecretMembers } from '../secret-members.ts';
import type { SftpServer } from './sftp-session.ts';

const KEPT = 'Answers show *** in its place; ***, sent back, keeps it as long as host and port stay';

export const sftpOptions = {
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
};

/** @returns what is wrong with a server, by the option it is wrong with */
export const checkSftpServer = ({ host, password, privateKey, passphrase, hostKey }: SftpServer) => ({
  host: isHost(host) ? undefined : 'is no host name and no IP address',
  password: password === undefined && privateKey === undefined ? 'is needed, or privateKey' : undefined,
  privateKey: privateKey === undefined ? undefined : checkPrivateKey(privateKey),
  passphrase:
    passphrase !== undefined && privateKey === undefined ? 'is of no use without privateKey' : undefined,
  hostKey: /^SHA256:[A-Za-z0-9+/]{43}=?$/.test(hostKey)
    ? undefined
    : 'is no fingerprint: it is written SHA256: and 43 characters, as ssh-keygen -lf shows it',
});

const isHost = (host: string) => isIP(host) !== 0 || /^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(host);

/** Whether it can be read is seen when it is used: the formats are many. */
function checkPrivateKey(key: string): string | undefined {
  const isKey = key === MASK || /^\s*-----BEGIN [A-Z ]*PRIVATE KEY-----\s/.test(key);
  return isKey ? undefined : 'is no private key: it begins with -----BEGIN … PRIVATE KEY-----';
}

export const sftpSecrets: SecretMembers<Pick<SftpServer, 'host' | 'port'>> = {
  members: ['password', 'privateKey', 'passphrase'],
  sentTo: ({ host, port = 22 }) => `${host.toLowerCase()}:${port}`,
};

/** @returns an address for people, without anything that is secret */
export function sftpAddressOf({ host, port }: Pick<SftpServer, 'host' | 'port'>, path: string): string {
  const server = host.includes(':') ? `[${host}]` : host;
  return `sftp://${server}${port === undefined ? '' : `:${port}`}/${path.replace(/^\//, '')}`;
}
