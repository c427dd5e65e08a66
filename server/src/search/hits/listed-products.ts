import { type ListedPage, type ListForm, toListItem, writeTableItem } from '../../catalog/browse/browse.ts';
import { FIRST, type HitList } from './hit-list.ts';
import { readPlace, startPart, writePlace } from './search-index.ts';
import type { SearchQuestion } from './search-plan.ts';

/** The limit of the items of one page. */
const LISTED_CHARACTERS = 4 * 1024 * 1024;

/**
 * Lists a page of products: hits in order, without facets and a total. The page ends early at a number of characters,
 * or when its time is used up. Source: docs/interface §14.3 rule 6.
 */
export async function listProducts(
  list: HitList,
  { limit, cursor }: Pick<SearchQuestion, 'limit' | 'cursor'>,
  form: ListForm,
): Promise<ListedPage> {
  const isOver = startPart(list.index);
  const items: string[] = [];
  let last = cursor === undefined ? FIRST : readPlace(cursor);
  let characters = 0;
  const next = () => list.readsOf({ missing: limit + 1 - items.length, isWhole: form !== 'table' });
  for await (const hit of list.listFrom(last, next)) {
    if (items.length === limit || characters > LISTED_CHARACTERS || isOver())
      return { items, nextCursor: writePlace(last) };
    last = hit.position;
    if (!list.holds(hit)) continue;
    const item = form === 'table' ? writeTableItem(hit.row) : toListItem(hit.row);
    items.push(item);
    characters += item.length;
  }
  return { items, nextCursor: null };
}
