/** @returns undefined for an invalid key; valid are 32 bytes in base64, as from `openssl rand -base64 32`, and 64 hex digits */
export function readSecretKey(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  return /^[A-Za-z0-9+/]{43}=$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}
