import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../kernel/errors.ts';

/** The cookie of a console session, and which requests it may come with. Source: docs/interface.md §5.6. */
export type SessionCookie = ReturnType<typeof createSessionCookie>;

const SESSION = 'relata_session';
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * @param publicUrl  where browsers find the service; undefined: at whatever `Host` they name
 * @param plainName  of another cookie that is kept as carefully
 */
export function createSessionCookie(publicUrl: string | undefined, plainName = SESSION) {
  const own = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  const isSecure = own?.startsWith('https:') ?? false;
  // With this prefix browsers take the cookie from this host alone, so that a neighbour under the same domain cannot
  // put a session of its own in its place.
  const name = isSecure ? `__Host-${plainName}` : plainName;
  const pattern = new RegExp(`(?:^|;)\\s*${name}=([^;\\s]*)`);
  const attributes = isSecure ? `${ATTRIBUTES}; Secure` : ATTRIBUTES;
  const set = (reply: FastifyReply, value: string, maxAgeSeconds: number) =>
    void reply.header('set-cookie', `${name}=${value}; ${attributes}; Max-Age=${maxAgeSeconds}`);

  return {
    /** @returns the value of the session that the request brings, good or not */
    read: ({ headers }: FastifyRequest) => pattern.exec(headers.cookie ?? '')?.[1],
    write: set,
    clear: (reply: FastifyReply) => set(reply, '', 0),
    /** A browser says where a request comes from. @throws origin_refused when that is not here */
    refuseForeign(request: FastifyRequest): void {
      const { origin } = request.headers;
      if (origin === undefined) return;
      const isOwn = own === undefined ? URL.parse(origin)?.host === request.host : origin === own;
      if (isOwn) return;
      const expected = own ?? `of this host, ${request.host}`;
      throw new ServiceError(
        'origin_refused',
        `Origin must be ${expected}; behind a proxy RELATA_PUBLIC_URL says which it is`,
      );
    },
  };
}

/**
 * The token belongs to one session and follows from its value, which scripts cannot read: nothing more has to be stored,
 * and what is stored does not suffice to make it.
 */
export function csrfTokenOf(sessionValue: string): string {
  return createHmac('sha256', sessionValue).update('relata csrf token').digest('base64url');
}

export function changesSomething({ method }: FastifyRequest): boolean {
  return !READS.has(method);
}

/** @throws csrf_refused for a request that changes something without the token of its session */
export function refuseForged(request: FastifyRequest, sessionValue: string): void {
  if (!changesSomething(request)) return;
  const given = Buffer.from(String(request.headers['x-csrf-token'] ?? ''));
  const expected = Buffer.from(csrfTokenOf(sessionValue));
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new ServiceError('csrf_refused');
  }
}
