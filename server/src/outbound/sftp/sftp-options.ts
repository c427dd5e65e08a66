import { isIP } from 'node:net';
import { type Static, type TObject, Type } from 'typebox';
import { optional } from '../../kernel/optional.ts';
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

/** A file server over SSH, with the credentials to use it. Nothing is sent to a server with another key. */
export type SftpServer = Readonly<Static<TObject<typeof sftpOptions>>>;

/** @returns the mistakes in a definition of a server, by option */
export const checkSftpServer = ({ host, password, privateKey, passphrase, hostKey }: SftpServer) => ({
  host: isHost(host) ? undefined : 'must be a host name or an IP address',
  password:
    password === undefined && privateKey === undefined ? 'is required unless privateKey is sent' : undefined,
  privateKey:
    privateKey === undefined || isPrivateKey(privateKey)
      ? undefined
      : 'must be a private key, which begins with -----BEGIN … PRIVATE KEY-----',
  passphrase:
    passphrase !== undefined && privateKey === undefined ? 'is only used with privateKey' : undefined,
  hostKey: /^SHA256:[A-Za-z0-9+/]{43}=?$/.test(hostKey)
    ? undefined
    : 'must be a fingerprint in the form of ssh-keygen -lf: SHA256: and 43 characters',
});

const isHost = (host: string) => isIP(host) !== 0 || /^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(host);
/** There are many formats of keys, so a malformed key is noticed only when it is used. */
const isPrivateKey = (key: string) => key === MASK || /^\s*-----BEGIN [A-Z ]*PRIVATE KEY-----\s/.test(key);

export const sftpSecrets: SecretMembers<Pick<SftpServer, 'host' | 'port'>> = {
  members: ['password', 'privateKey', 'passphrase'],
  sentTo: ({ host, port = 22 }) => `${host.toLowerCase()}:${port}`,
};

/** @returns the address as people read it, without secrets */
export function sftpAddressOf({ host, port }: Pick<SftpServer, 'host' | 'port'>, path: string): string {
  const server = host.includes(':') ? `[${host}]` : host;
  return `sftp://${server}${port === undefined ? '' : `:${port}`}/${path.replace(/^\//, '')}`;
}
