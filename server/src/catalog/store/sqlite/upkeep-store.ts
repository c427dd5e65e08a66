import type { CatalogFile } from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import type { ChangeOrder, RestoreResult } from '../../port.ts';
import { dropUndoBeyond, openUndo, playBack } from './undo-store.ts';
import { applyTask } from './writer-store.ts';

/** Deleting, restoring and removing what nothing points to; each function one transaction. */

export function deleteProducts(
  file: CatalogFile,
  change: ChangeOrder & { identifiers: readonly string[]; keptCommits: number },
): { deleted: number; unknown: readonly string[] } {
  return applyTask(file, change, () => {
    const list = JSON.stringify(change.identifiers);
    const unknown = file
      .prepare(
        `select distinct j.value as identifier from json_each(?) j
         where not exists (select 1 from product p where p.identifier = j.value)`,
      )
      .all(list)
      .map(({ identifier }) => identifier as string);
    if (unknown.length < new Set(change.identifiers).size) {
      openUndo(file, change).recordDeleted(change.identifiers);
      dropUndoBeyond(file, change.keptCommits);
    }
    const { changes } = file
      .prepare('delete from product where identifier in (select value from json_each(?))')
      .run(list);
    return { result: { deleted: Number(changes), unknown }, isDone: true };
  });
}

/** @returns undefined when nothing is left to restore */
export function restore(file: CatalogFile, change: ChangeOrder): RestoreResult | undefined {
  const { result } = applyTask<{ result: RestoreResult | null }>(file, change, () => ({
    result: { result: playBack(file) ?? null },
    isDone: true,
  }));
  return result ?? undefined;
}

/** Rows a step: short enough that an update of the same project hardly waits for it. */
const STEP = 2_000;

/**
 * Removes one bounded part of what nothing points to: rows of full updates that are over, undo entries that are not
 * kept, documents that were replaced. @returns whether there may be more
 */
export function collectGarbage(
  file: CatalogFile,
  { live }: { live: readonly number[] },
  derivation: Derivation,
): boolean {
  return file.transaction(
    () => dropStaged(file, live) || dropUndo(file) || dropDocuments(file, live, derivation),
  );
}

function dropStaged(file: CatalogFile, live: readonly number[]): boolean {
  const over = file
    .prepare(
      `select full_update_id as id from staged_batch where full_update_id not in (select value from json_each(?)) limit 1`,
    )
    .get(JSON.stringify(live))?.id;
  if (over === undefined) return false;
  const id = Number(over);
  const last = file
    .prepare(
      'select identifier from staged_product where full_update_id = ? order by identifier limit 1 offset ?',
    )
    .get(id, STEP - 1)?.identifier;
  const range = 'full_update_id = ? and (? is null or identifier <= ?)';
  const bounds = [id, (last ?? null) as string | null, (last ?? null) as string | null] as const;
  if (file.prepare("select 1 from meta where name = 'committed:' || ?").get(id) === undefined) {
    file
      .prepare(
        `insert or ignore into garbage_document select document_id, identifier from staged_product
         where ${range} and is_fresh = 1`,
      )
      .run(...bounds);
  }
  file.prepare(`delete from staged_product where ${range}`).run(...bounds);
  if (last !== undefined) return true;
  file.prepare('delete from staged_batch where full_update_id = ?').run(id);
  file.prepare("delete from meta where name = 'committed:' || ?").run(id);
  return true;
}

function dropUndo(file: CatalogFile): boolean {
  const over = file
    .prepare('select undo_id as id from undo_change where undo_id not in (select id from undo_log) limit 1')
    .get()?.id;
  if (over === undefined) return false;
  const part = `select product_id from undo_change where undo_id = ? order by product_id limit ${STEP}`;
  file
    .prepare(
      `insert or ignore into garbage_document select document_before, identifier from undo_change
       where undo_id = ? and product_id in (${part}) and document_before is not null`,
    )
    .run(over, over);
  file.prepare(`delete from undo_change where undo_id = ? and product_id in (${part})`).run(over, over);
  return true;
}

/** A document that an open full update staged as unchanged stays until that one is over. */
function dropDocuments(file: CatalogFile, live: readonly number[], derivation: Derivation): boolean {
  const isStaged = `exists (select 1 from json_each(?) l join staged_product s on s.full_update_id = l.value
    where s.identifier = g.identifier and s.document_id = g.document_id)`;
  const ids = file
    .prepare(`select g.document_id as id from garbage_document g where not ${isStaged} limit ${STEP}`)
    .all(JSON.stringify(live));
  if (ids.length === 0) return false;
  const list = JSON.stringify(ids.map(({ id }) => id));
  const removed = file
    .prepare(
      `delete from document where id in (select value from json_each(?)) and not exists
         (select 1 from garbage_document g join product p on p.identifier = g.identifier
          where g.document_id = document.id and p.document_id = document.id) returning id`,
    )
    .all(list);
  derivation.remove(
    file,
    removed.map(({ id }) => Number(id)),
  );
  file
    .prepare('delete from garbage_document where document_id in (select value from json_each(?))')
    .run(list);
  return true;
}
