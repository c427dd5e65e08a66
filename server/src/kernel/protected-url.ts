const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** @returns whether traffic to it cannot be intercepted: https, or http that does not leave this machine */
export function isProtectedUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname));
}
