import { Type } from 'typebox';
import { ServiceError } from '../../kernel/errors.ts';

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
    throw new ServiceError('query_invalid', {
      details: ['/cursor must be the nextCursor of the page before'],
    });
  const after = cursor === undefined ? -1 : Number(cursor);
  const rest = all
    .map((element, at) => ({ element, place: placeOf(element, at) }))
    .filter(({ place }) => place > after);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = rest.length > page.length && last !== undefined ? String(last.place) : null;
  return { page: page.map(({ element }) => element), nextCursor };
}
