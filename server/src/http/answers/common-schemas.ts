import type { FastifyReply, FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { namesTag } from '../../kernel/entity-tag.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ExpectedStates } from '../../storage/storage.ts';
import { REASONS, type Reason } from './error-mapper.ts';

/** What there may be none of; the description says what null means. */
export const orNull = <Schema extends TSchema>(schema: Schema, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** One of a closed list of words. */
export const oneOf = <const Words extends readonly string[]>(words: Words, description?: string) =>
  Type.Unsafe<Words[number]>({
    type: 'string',
    enum: words,
    ...(description !== undefined && { description }),
  });

/** Source: docs/interface.md §7.3. */
const ProductViolation = Type.Object(
  {
    product: orNull(
      Type.Object({ identifier: orNull(Type.String()), index: Type.Integer() }),
      'null: the body as a whole, or how many more products are bad',
    ),
    schemaErrors: Type.Array(Type.String()),
    errors: Type.Array(Type.String()),
  },
  { title: 'ProductViolation' },
);

/** Source: docs/interface.md §7.1. */
export const ErrorAnswer = Type.Object(
  {
    status: Type.Literal('failure'),
    code: Type.Integer({ description: 'the HTTP status' }),
    reason: Type.Unsafe<Reason>({
      type: 'string',
      enum: REASONS,
      description: 'one word for programs; the list is closed',
    }),
    message: Type.String(),
    requestId: Type.Optional(Type.String()),
    details: Type.Optional(Type.Array(Type.String())),
    validation: Type.Optional(Type.Array(ProductViolation, { description: 'one element per bad product' })),
  },
  { title: 'Error' },
);

/** Beyond it, numbers are not exact, and far beyond it a database takes none. */
const maximum = Number.MAX_SAFE_INTEGER;

export const Id = Type.Integer({ minimum: 1, maximum });

/** Of a query; 0 is refused as a project that does not exist. */
export const projectIdOf = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum, description }));

/** Source: docs/interface.md §4.10. */
export const ProjectQuery = Type.Object({
  projectId: projectIdOf('the project; not needed by a key that reaches exactly one'),
});

/** Of the paths below a project. */
export const ProjectParams = Type.Object({ id: Id });

/** Every list is paged. Source: docs/interface.md §8. */
export const ListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
  cursor: Type.Optional(Type.String({ maxLength: 2048, description: 'nextCursor of the page before' })),
});

/** Only the member that `type` names is checked, so that mistakes are reported for that one alone. */
export function byType<Value>({ anyOf }: { readonly anyOf: readonly TSchema[] }, title: string) {
  const discriminator = { propertyName: 'type' };
  return Type.Unsafe<Value>({ type: 'object', title, required: ['type'], discriminator, oneOf: anyOf });
}

/** The answer of a request that has nothing to say but that it is done. */
export const done = { status: 'success' } as const;
export const DoneAnswer = Type.Object({ status: Type.Literal(done.status) });

/** Of a list that is answered as a whole where no page is asked for. */
export const PageQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: 'elements of a page; default: all of them' }),
  ),
  cursor: Type.Optional(Type.String({ maxLength: 2048, description: 'nextCursor of the page before' })),
});

/** @returns a page of what is in the order of `placeOf` @throws query_invalid for a cursor that no list gave out */
export function cutPage<Element>(
  all: readonly Element[],
  { limit = all.length, cursor }: { limit?: number; cursor?: string },
  placeOf: (element: Element, at: number) => number,
): { page: Element[]; nextCursor: string | null } {
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor))
    throw new ServiceError('query_invalid', '/cursor must be the nextCursor of the page before');
  const after = cursor === undefined ? -1 : Number(cursor);
  const rest = all
    .map((element, at) => ({ element, place: placeOf(element, at) }))
    .filter(({ place }) => place > after);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = rest.length > page.length && last !== undefined ? String(last.place) : null;
  return { page: page.map(({ element }) => element), nextCursor };
}

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
      throw new ServiceError('query_invalid', 'If-Match must be * or ETags, such as "abc"');
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

export const Instant = Type.Integer({ description: 'epoch milliseconds' });

/** Of what people define; a database takes no NUL. */
export const Name = Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' });

const NextCursor = orNull(Type.String(), 'null when nothing follows');

/** A page of a list. */
export const pageOf = <Element extends TSchema>(element: Element, description?: string) =>
  Type.Object({
    items: Type.Array(element, description === undefined ? {} : { description }),
    nextCursor: NextCursor,
  });
