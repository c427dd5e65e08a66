/**
 * Accepts 32 bytes in base64, such as the output of `openssl rand -base64 32`, or 64 hex digits.
 * @returns the bytes of the key; undefined if it is invalid
 */
export function readSecretKey(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  return /^[A-Za-z0-9+/]{43}=$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}
