const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** @returns whether what goes there cannot be read on the way: https, or http that does not leave this machine */
export function isProtectedUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname));
}
