const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** @returns whether requests to the URL are safe from interception: https, or http within this machine */
export function isProtectedUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname));
}
