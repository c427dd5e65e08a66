import type { CustomFetch } from 'openid-client';
import { isProtectedUrl } from '../../kernel/protected-url.ts';

/** Far more than the keys and claims of a provider take; a group claim of 10,000 names has some 400 KiB. */
const MAX_BYTES = 1024 * 1024;

/** The operator gave the address, so it may be private, but secrets go there protected. Follows no redirect and reads no more than an answer can need; the signal of the caller bounds the time. */
export const fetchBounded: CustomFetch = async (address, options) => {
  const url = new URL(address);
  if (!isProtectedUrl(url)) throw new Error(`${url.origin} is neither https nor on this machine`);
  const { method, headers, body, signal } = options;
  const response = await fetch(url, {
    method,
    headers,
    ...(body !== undefined && body !== null && { body }),
    redirect: 'manual',
    ...(signal && { signal }),
  });
  const bytes = await readBounded(response, url);
  const isEmpty = bytes.length === 0 || [204, 205, 304].includes(response.status);
  const { status, statusText, headers: answered } = response;
  return new Response(isEmpty ? null : bytes, { status, statusText, headers: answered });
};

async function readBounded(response: Response, url: URL): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of response.body ?? []) {
    total += part.length;
    if (total > MAX_BYTES) throw new Error(`${url.origin} answered more than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
