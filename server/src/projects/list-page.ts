import { ServiceError } from '../kernel/errors.ts';

/** What a caller asks of a list. Source: docs/interface.md §4 rule 3. */
export interface PageRequest {
  readonly limit?: number;
  readonly cursor?: string;
}

export interface ListPage<Element> {
  readonly items: readonly Element[];
  readonly nextCursor: string | null;
}

/** A place in a list ordered by id: the id of the last element of the page before. */
export interface PagePlace {
  readonly after: number | undefined;
  /** One more than the page shows, so that it is known whether another page follows. */
  readonly count: number;
}

/** @throws query_invalid for a cursor that no list gave out */
export function readPlace({ limit = 100, cursor }: PageRequest): PagePlace {
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
    throw new ServiceError('query_invalid', '/cursor must be the nextCursor of the page before');
  }
  return { after: cursor === undefined ? undefined : Number(cursor), count: limit + 1 };
}

export function toPage<Element extends { readonly id: number }>(
  found: readonly Element[],
  place: PagePlace,
): ListPage<Element> {
  const items = found.slice(0, place.count - 1);
  const last = items.at(-1);
  return { items, nextCursor: found.length === place.count && last !== undefined ? String(last.id) : null };
}
