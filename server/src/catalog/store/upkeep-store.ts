import { listWanted } from '../../events/events.ts';
import { isStorableText } from '../../kernel/storable-text.ts';
import { among, ask, byEngine, own, type Program, row, rows, run, sql, text } from '../../storage/storage.ts';
import type { ChangeOrder, RestoreResult } from '../port.ts';
import { announceEntry, announceProducts } from './change-events-store.ts';
import { planForParts, planForWholeTables } from './planning-store.ts';
import type { CatalogState } from './state-store.ts';
import { discard, dropUndoBeyond, openUndo, playBack, wantedProducts } from './undo-store.ts';

/** Delete, restore and garbage; call these in a transaction that holds the catalog's lock. */

export function* deleteProducts(
  state: CatalogState,
  change: ChangeOrder & { identifiers: readonly string[]; keptCommits: number },
): Program<{ result: { deleted: number; unknown: readonly string[] }; isDone: boolean }> {
  const asked = [...new Set(change.identifiers)];
  yield* planForParts();
  const present = yield* rows<{ identifier: string }>(
    sql`select p.identifier from ${wantedProducts(asked.filter(isStorableText))}`,
  );
  const known = present.map(({ identifier }) => identifier);
  const isKnown = new Set(known);
  const unknown = asked.filter((identifier) => !isKnown.has(identifier));
  if (known.length === 0) return { result: { deleted: 0, unknown }, isDone: true };
  const undo = yield* openUndo(state, change);
  yield* undo.recordDeleted(known);
  yield* dropUndoBeyond(change.keptCommits);
  const deleted = yield* run(sql`delete from product where ${own()} and identifier ${among(known)}`);
  yield* announceProducts(
    change,
    known.map((identifier) => ({ identifier, kind: 'deleted' as const })),
  );
  return { result: { deleted, unknown }, isDone: true };
}

/** @returns null when nothing is left to restore */
export function* restore(
  state: CatalogState,
  order: ChangeOrder,
): Program<{ result: { result: RestoreResult | null }; isDone: boolean }> {
  yield* planForWholeTables();
  const isTold = (yield* listWanted()).has('products.changed');
  const restored = yield* playBack(state, function* (undoId) {
    if (isTold) yield* announceEntry(order, undoId, true);
  });
  return { result: { result: restored ?? null }, isDone: true };
}

/** Rows for each call: few, because updates of the same project wait for it. */
const STEP = 2_000;

/**
 * Removes a bounded part of the garbage: rows of full updates that have ended, dropped undo entries, replaced documents.
 * `removeDerived` removes what was derived for documents.
 * @returns whether there may be more
 */
export function* dropGarbage(
  live: readonly number[],
  removeDerived: (documents: readonly number[]) => void | Promise<void>,
): Program<boolean> {
  yield* planForParts();
  const opened = yield* rows<{ id: number }>(OPENED);
  const needed = [...live, ...opened.map(({ id }) => id)];
  return (yield* dropStaged(needed)) || (yield* dropUndo()) || (yield* dropDocuments(needed, removeDerived));
}

/** Another process may have begun a full update since the caller listed them. */
const OPENED = byEngine({
  sqlite: sql`select 0 as id where false`,
  postgres: sql`select id from full_update where ${own()} and state in ('open', 'committing')`,
});

function* dropStaged(live: readonly number[]): Program<boolean> {
  const over = yield* row<{ id: number }>(
    sql`select full_update_id as id from staged_batch
      where ${own()} and not (full_update_id ${among(live)}) limit 1`,
  );
  if (over === undefined) return false;
  const ofUpdate = sql`${own()} and full_update_id = ${over.id}`;
  const last = yield* row<{ identifier: string }>(
    sql`select identifier from staged_product where ${ofUpdate}
      order by identifier limit 1 offset ${text(String(STEP - 1))}`,
  );
  const part = last === undefined ? ofUpdate : sql`${ofUpdate} and identifier <= ${last.identifier}`;
  if (!(yield* isCommitted(over.id)))
    yield* discard(sql`document_id, identifier from staged_product where ${part} and is_fresh = 1`);
  yield* run(sql`delete from staged_product where ${part}`);
  if (last !== undefined) return true;
  yield* run(sql`delete from staged_batch where ${ofUpdate}`);
  yield* run(sql`delete from ${markOfCommit(over.id)}`);
  return true;
}

/** The mark of a committed full update: its documents belong to products. */
const markOfCommit = (fullUpdateId: number) =>
  byEngine({
    sqlite: sql`meta where name = 'committed:' || ${fullUpdateId}`,
    postgres: sql`committed_full_update where ${own()} and full_update_id = ${fullUpdateId}`,
  });

function* isCommitted(fullUpdateId: number): Program<boolean> {
  return (yield* row(sql`select 1 from ${markOfCommit(fullUpdateId)}`)) !== undefined;
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
  yield* discard(
    sql`document_before, identifier from undo_change where ${part} and document_before is not null`,
  );
  yield* run(sql`delete from undo_change where ${part}`);
  return true;
}

/** A document that an open full update staged as unchanged stays until that update has ended. */
function* dropDocuments(
  live: readonly number[],
  removeDerived: (documents: readonly number[]) => void | Promise<void>,
): Program<boolean> {
  const garbage = yield* rows<{ id: number; isUsed: boolean | 0 | 1 }>(listGarbage(live));
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

/** In PostgreSQL row by row: comparing tables would read them as a whole. */
const listGarbage = (live: readonly number[]) =>
  byEngine({
    sqlite: sql`select g.document_id as id, exists (select 1 from product p
        where p.identifier = g.identifier and p.document_id = g.document_id) as "isUsed"
      from garbage_document g where not exists (select 1 from json_each(${JSON.stringify(live)}) l
        join staged_product s on s.full_update_id = l.value
        where s.identifier = g.identifier and s.document_id = g.document_id)
      order by g.document_id limit ${STEP}`,
    postgres: sql`select g.document_id as id, p.is_found is not null as "isUsed" from garbage_document g
      left join lateral (select true as is_found from unnest(${live}::bigint[]) l (id) cross join lateral
        (select from staged_product where ${own()} and full_update_id = l.id and identifier = g.identifier
          and document_id = g.document_id limit 1) s limit 1) s on true
      left join lateral (select true as is_found from product where ${own()}
        and identifier = g.identifier and document_id = g.document_id limit 1) p on true
      where ${own('g')} and s.is_found is null order by g.document_id limit ${text(String(STEP))}`,
  });
