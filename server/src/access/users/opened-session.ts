import type { FastifyReply, FastifyRequest } from 'fastify';
import { csrfTokenOf, type SessionCookie } from '../../http/http.ts';
import type { Access } from '../access.ts';
import type { OpenedSession, Visitor } from './console-session.ts';
import { toSignedIn } from './user-schemas.ts';

/** What the routes that sign in have in common. */
interface Parts {
  readonly access: Pick<Access, 'describeUser'>;
  readonly cookie: SessionCookie;
  readonly findBaseUrl: () => string;
}

/** Sets the cookie of the session. */
export async function answerOpened(
  { access, cookie }: Pick<Parts, 'access' | 'cookie'>,
  reply: FastifyReply,
  { value, maxAgeSeconds, caller }: OpenedSession,
) {
  const described = await access.describeUser(caller);
  cookie.write(reply, value, maxAgeSeconds);
  return toSignedIn(described, csrfTokenOf(value));
}

/** Where the page is that calls: as it says, which was checked to be here, or where browsers find the service. */
export const originOf = ({ findBaseUrl }: Pick<Parts, 'findBaseUrl'>, request: FastifyRequest) =>
  request.headers.origin ?? new URL(findBaseUrl()).origin;

export function visitorOf(parts: Omit<Parts, 'access'>, request: FastifyRequest): Visitor {
  return {
    origin: originOf(parts, request),
    address: request.ip,
    userAgent: request.headers['user-agent'],
    sessionValue: parts.cookie.read(request),
  };
}
