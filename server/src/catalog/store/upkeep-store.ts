import { isStorableText } from '../../kernel/storable-text.ts';
import { among, ask, byEngine, own, type Program, row, rows, run, sql, text } from '../../storage/storage.ts';
import type { ChangeOrder, UndoOrder } from '../port.ts';
import { announceProducts } from './change-events-store.ts';
import { productsOf } from './product-list-store.ts';
import { type DocumentWriter, dropBatch, findOver } from './staged-store.ts';
import { type CatalogState, planForParts } from './state-store.ts';
import { discard, dropUndoBefore, openUndo } from './undo-store.ts';

/** Deletes and garbage; call these in a transaction that holds the catalog's lock. */

export function* deleteProducts(
  state: CatalogState,
  change: ChangeOrder & UndoOrder & { identifiers: readonly string[] },
): Program<{ result: { deleted: number; unknown: readonly string[] }; isDone: boolean }> {
  const requested = [...new Set(change.identifiers)];
  yield* planForParts();
  const present = yield* rows<{ identifier: string }>(
    sql`select p.identifier from ${productsOf(requested.filter(isStorableText))}`,
  );
  const known = present.map(({ identifier }) => identifier);
  const isKnown = new Set(known);
  const unknown = requested.filter((identifier) => !isKnown.has(identifier));
  if (known.length === 0) return { result: { deleted: 0, unknown }, isDone: true };
  const undo = openUndo(state, change);
  yield* undo.recordDeleted(productsOf(known));
  const deleted = yield* run(sql`delete from product where ${own()} and identifier ${among(known)}`);
  yield* undo.close('delete', { created: 0, changed: 0, deleted });
  yield* announceProducts(
    change,
    known.map((identifier) => ({ identifier, kind: 'deleted' as const })),
  );
  return { result: { deleted, unknown }, isDone: true };
}

/** Rows for each call: few, because updates of the same project wait for it. */
const STEP = 2_000;

/**
 * Removes a bounded part of the garbage: rows of full updates that have ended, dropped undo entries, replaced documents.
 * @returns whether there may be more
 */
export function* collectGarbage(
  _: CatalogState,
  { live, undoSince }: { readonly live: readonly number[] } & Pick<UndoOrder, 'undoSince'>,
  documents: DocumentWriter,
): Program<boolean> {
  yield* planForParts();
  yield* dropUndoBefore(undoSince);
  const opened = yield* rows<{ id: number }>(OPENED);
  return (
    (yield* dropStaged([...live, ...opened.map(({ id }) => id)])) ||
    (yield* dropUndo()) ||
    (yield* dropDocuments(documents)) ||
    (yield* ask(() => documents.tidyDerived()))
  );
}

/** Another process may have begun a full update since the caller listed them. */
const OPENED = byEngine({
  sqlite: sql`select 0 as id where false`,
  postgres: sql`select id from full_update where ${own()} and state in ('open', 'committing')`,
});

function* dropStaged(live: readonly number[]): Program<boolean> {
  const over = yield* findOver(live);
  if (over !== undefined) yield* dropBatch(over.fullUpdateId, over);
  return over !== undefined;
}

function* dropUndo(): Program<boolean> {
  // The newest entries are kept.
  const oldest = yield* row<{ id: number | null; kept: number | null }>(
    sql`select (select min(undo_id) from undo_change where ${own()}) as id,
      (select min(id) from undo_log where ${own()}) as kept`,
  );
  const over = oldest?.id ?? Number.POSITIVE_INFINITY;
  if (over >= (oldest?.kept ?? Number.POSITIVE_INFINITY)) return false;
  const ofEntry = sql`${own()} and undo_id = ${over}`;
  const last = yield* row<{ id: number }>(
    sql`select product_id as id from undo_change where ${ofEntry}
      order by product_id limit 1 offset ${text(String(STEP - 1))}`,
  );
  const part = last === undefined ? ofEntry : sql`${ofEntry} and product_id <= ${last.id}`;
  yield* discard(sql`document_before from undo_change where ${part} and document_before is not null`);
  yield* run(sql`delete from undo_change where ${part}`);
  return true;
}

function* dropDocuments({ removeDerived }: DocumentWriter): Program<boolean> {
  const garbage = yield* rows<{ id: number; isUsed: boolean | 0 | 1 }>(GARBAGE);
  if (garbage.length === 0) return false;
  const ids = garbage.map(({ id }) => id);
  const unused = garbage.flatMap(({ id, isUsed }) => (isUsed ? [] : id));
  yield* run(
    sql`delete from garbage_document where ${own()} and document_id between ${ids[0] ?? 0} and ${ids.at(-1) ?? 0}
      and document_id ${among(ids)}`,
  );
  yield* run(sql`delete from document where ${own()} and id ${among(unused)}`);
  yield* ask(() => removeDerived(unused));
  return true;
}

/**
 * A document is used by its product, or by an entry of the undo log: a product that only gained facts has the same one before
 * and after its commit. In PostgreSQL row by row: comparing tables would read them as a whole.
 */
const GARBAGE = byEngine({
  sqlite: sql`select g.document_id as id, exists (select 1 from document d join product p on p.id = d.product_id
      where d.id = g.document_id and p.document_id = d.id)
      or exists (select 1 from document d cross join undo_log l cross join undo_change u
      where d.id = g.document_id and u.undo_id = l.id and u.product_id = d.product_id
        and u.document_before = d.id) as "isUsed"
    from garbage_document g order by g.document_id limit ${STEP}`,
  postgres: sql`select g.document_id as id, coalesce(p.is_found, u.is_found, false) as "isUsed" from garbage_document g
    left join lateral (select product_id from document where ${own()} and id = g.document_id limit 1) d on true
    left join lateral (select true as is_found from product where ${own()}
      and id = d.product_id and document_id = g.document_id limit 1) p on true
    left join lateral (select true as is_found from undo_log l, lateral (select 1 from undo_change where ${own()}
      and undo_id = l.id and product_id = d.product_id and document_before = g.document_id limit 1) c
      where ${own('l')} limit 1) u on true
    where ${own('g')} order by g.document_id limit ${text(String(STEP))}`,
});
