import { type EventDraft, insertEvents, listSubscribed } from '../../events/events.ts';
import {
  among,
  column,
  own,
  type Program,
  pairs,
  rows,
  type Sql,
  sql,
  text,
} from '../../storage/programs/programs.ts';
import type { ChangeCounts, ChangeOrder } from '../port.ts';
import { planForParts } from './state-store.ts';

/** Events of a catalog, recorded in the transaction of the change. Source: docs/interface §6.2. */

export interface ChangedProduct {
  readonly identifier: string;
  readonly kind: 'created' | 'changed' | 'unchanged' | 'deleted';
}

/** Limits of one event. A page ends at the limit that it reaches first. */
const PAGE = 1_000;
const PAGE_CHARACTERS = 64 * 1024;

export const describeCommit = ({ taskNumber, at }: ChangeOrder, counts: ChangeCounts): EventDraft => ({
  type: 'catalog.committed',
  taskNumber,
  at,
  data: counts,
});

/** Records the products that a change names, if an endpoint subscribes to them. */
export function* announceProducts(order: ChangeOrder, products: readonly ChangedProduct[]): Program<void> {
  const changed = products.filter(({ kind }) => kind !== 'unchanged');
  if (changed.length === 0 || !(yield* listSubscribed()).has('products.changed')) return;
  const pages = openPages(order);
  yield* pages.add(changed);
  yield* pages.end();
}

/**
 * Records the products of an entry of the undo log, page by page, because the whole catalog may have changed.
 * `isReversed` means that the entry is about to be reverted.
 */
export function* announceEntry(order: ChangeOrder, undoId: number, isReversed = false): Program<void> {
  yield* planForParts();
  const pages = openPages(order);
  const ofEntry = sql`${own()} and undo_id = ${undoId}`;
  const limit = text(`limit ${PAGE}`);
  function* addAll(from: number, select: (after: number) => Sql): Program<void> {
    for (let after: number | undefined = from; after !== undefined; ) {
      const changes: LoggedChange[] = yield* rows<LoggedChange>(select(after));
      yield* pages.add(changes.map((row) => toChanged(row, isReversed)));
      after = changes.at(-1)?.productId;
    }
  }
  const listLogged = (after: number) => sql`select ${LOGGED} from undo_change where ${ofEntry}
    and product_id > ${after} order by product_id ${limit}`;
  yield* addAll(0, listLogged);
  const created = yield* pairs<number, number>`select first_product, first_product + created from undo_created
    where ${ofEntry} order by first_product`;
  for (const [first, end] of created) {
    const listCreated = (after: number) => sql`select id as "productId", identifier, null as "before",
      document_id as "after" from product where ${own()} and id > ${after} and id < ${end} order by id ${limit}`;
    yield* addAll(first - 1, listCreated);
  }
  yield* pages.end();
}

/** Records products in pages. It delays each page until the next one, because the last page is marked as the last. */
function openPages(order: ChangeOrder) {
  let pending: ChangedProduct[] = [];
  let recorded = 0;
  function* record(pages: readonly ChangedProduct[][], hasMore: boolean): Program<void> {
    yield* insertEvents(
      pages.map((page, index) => describePage(order, page, { number: recorded + index + 1, hasMore })),
    );
    recorded += pages.length;
  }
  return {
    *add(products: readonly ChangedProduct[]): Program<void> {
      const pages = cutPages([...pending, ...products]);
      pending = pages.pop() ?? [];
      yield* record(pages, true);
    },
    *end(): Program<void> {
      if (pending.length > 0) yield* record([pending], false);
    },
  };
}

/** Records products whose facts follow another ontology, except products that this task did not change. */
export function* announceFollowed(order: ChangeOrder, products: readonly number[]): Program<void> {
  if (products.length === 0 || !(yield* listSubscribed()).has('products.changed')) return;
  const identifiers =
    yield* column<string>`select identifier from product where ${own()} and id ${among(products)}
    and updated_by = ${order.taskNumber} order by id`;
  yield* announceProducts(
    order,
    identifiers.map((identifier) => ({ identifier, kind: 'changed' })),
  );
}

/** A row of the undo log, with the documents of its product before and after the change. */
export interface LoggedChange {
  readonly productId: number;
  readonly identifier: string;
  readonly before: number | null;
  readonly after: number | null;
}

export const LOGGED = text(
  'product_id as "productId", identifier, document_before as "before", document_after as "after"',
);

function toChanged({ identifier, before, after }: LoggedChange, isReversed: boolean): ChangedProduct {
  const [from, to] = isReversed ? [after, before] : [before, after];
  return { identifier, kind: from === null ? 'created' : to === null ? 'deleted' : 'changed' };
}

function cutPages(products: readonly ChangedProduct[]): ChangedProduct[][] {
  const pages: ChangedProduct[][] = [];
  let characters = Number.POSITIVE_INFINITY;
  for (const product of products) {
    characters += product.identifier.length;
    const page = pages.at(-1);
    if (page !== undefined && page.length < PAGE && characters <= PAGE_CHARACTERS) page.push(product);
    else {
      pages.push([product]);
      characters = product.identifier.length;
    }
  }
  return pages;
}

function describePage(
  { taskNumber, at }: ChangeOrder,
  page: readonly ChangedProduct[],
  { number, hasMore }: { readonly number: number; readonly hasMore: boolean },
): EventDraft {
  const listOf = (kind: ChangedProduct['kind']) =>
    page.filter((product) => product.kind === kind).map(({ identifier }) => identifier);
  const identifiers = page.map(({ identifier }) => identifier);
  const data = { page: number, hasMore, identifiers, created: listOf('created'), deleted: listOf('deleted') };
  return { type: 'products.changed', taskNumber, at, data };
}
