import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { namesTag } from '../../kernel/entity-tag.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ExpectedStates } from '../../storage/storage.ts';

/** For the documentation of a route that looks at it; `readIfMatch` reads it. Source: docs/interface.md §7.6. */
export const IfMatch = Type.Object({
  'if-match': Type.Optional(
    Type.String({ description: 'the ETag of the state to be replaced; 412 when it is another one by now' }),
  ),
});

/** An entity tag without its quotes, and the comma behind it. Source: RFC 9110 §8.8.3. */
const TAG = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)/;

/**
 * @returns what a change expects to replace. A weak tag names no state: it fits nothing.
 * @throws query_invalid for a header that is no list of entity tags
 */
export function readIfMatch(request: FastifyRequest): ExpectedStates {
  const header = request.headers['if-match']?.trim();
  if (header === undefined || header === '' || header === '*') return undefined;
  const marks: string[] = [];
  for (let rest = header; rest !== ''; ) {
    const found = TAG.exec(rest);
    if (found === null) {
      throw new ServiceError('query_invalid', { details: ['If-Match must be * or ETags, such as "abc"'] });
    }
    if (found[1] === undefined) marks.push(found[2] ?? '');
    rest = rest.slice(found[0].length);
  }
  return marks;
}

/** Whether the caller of a GET has what would be answered. Source: docs/interface.md §7.6 rule 6. */
export function hasAlready(request: FastifyRequest, reply: FastifyReply): boolean {
  const header = request.headers['if-none-match']?.trim();
  const mark = reply.getHeader('etag');
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (!isRead || !header || mark === undefined || reply.statusCode !== 200) return false;
  return namesTag(header, mark);
}

/** Names the state that is answered. */
export function sendMark(reply: FastifyReply, mark: string): void {
  reply.header('etag', `"${mark}"`);
}
