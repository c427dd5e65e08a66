import { createHash, randomBytes } from 'node:crypto';

/** @returns undefined for what is no key: 32 bytes in base64, as `openssl rand -base64 32` makes them, or as 64 hex digits */
export function readSecretKey(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  return /^[A-Za-z0-9+/]{43}=$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}

/** SHA-256 of a secret, hex. A secret has 256 random bits, so a slow hash would add nothing. */
export type SecretHash = string;

/** The value of a key or a session, the token of a link: 32 random bytes are 43 characters. */
export const makeSecret = (): string => randomBytes(32).toString('base64url');

export const hashSecret = (secret: string): SecretHash => createHash('sha256').update(secret).digest('hex');
