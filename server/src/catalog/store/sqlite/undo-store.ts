import type { CatalogFile } from '../../../storage/storage.ts';
import type { ChangeOrder, RestoreResult } from '../../port.ts';
import { readMeta } from './reader-store.ts';

/**
 * What a commit or delete replaced, as large as the change and not as the catalog: documents stay where they are, the
 * log points to them. Source: docs/interface.md §4.5.
 */

const BEFORE = 'p.document_id, p.hash, p.ontology_revision, p.updated_at, p.updated_by';
const COLUMNS = `(undo_id, product_id, identifier, document_after,
  document_before, hash_before, revision_before, updated_at_before, updated_by_before)`;

/**
 * Whether a staged product `s` changes the present product `p`: the upload differs; or it does not, and the facts were
 * made anew all the same, because the full update creates an attribute that the product holds (staged with a negative
 * revision) or because the same upload came another way meanwhile.
 */
export const CHANGED_BY_STAGED = `(s.hash <> p.hash or s.ontology_revision < 0
  or (s.is_fresh = 1 and (select answer from document where id = s.document_id)
    <> (select answer from document where id = p.document_id)))`;

export interface Undo {
  /** Before the commit's rows change: what it changes and deletes. */
  recordStaged(fullUpdateId: number): void;
  /** Before the commit creates products: those that it will create. */
  recordCreated(fullUpdateId: number): void;
  /** Before products are deleted. */
  recordDeleted(identifiers: readonly string[]): void;
}

/** Opens the entry of a task; nothing is kept where no commit is. */
export function openUndo(file: CatalogFile, order: ChangeOrder & { keptCommits: number }): Undo {
  const isKept = order.keptCommits > 0;
  const undoId = isKept ? addEntry(file, order) : 0;
  /** Without an entry the replaced documents are garbage at once. */
  const keep = (after: string, from: string, ...values: (number | string)[]) =>
    isKept
      ? file
          .prepare(
            `insert into undo_change ${COLUMNS} select ?, p.id, p.identifier, ${after}, ${BEFORE} ${from}`,
          )
          .run(undoId, ...values)
      : file
          .prepare(`insert or ignore into garbage_document select p.document_id, p.identifier ${from}`)
          .run(...values);

  return {
    recordStaged(fullUpdateId) {
      keep(
        's.document_id',
        `from staged_product s join product p on p.identifier = s.identifier
         where s.full_update_id = ? and ${CHANGED_BY_STAGED}`,
        fullUpdateId,
      );
      keep(
        'null',
        `from product p where not exists
         (select 1 from staged_product s where s.full_update_id = ? and s.identifier = p.identifier)`,
        fullUpdateId,
      );
    },
    recordCreated(fullUpdateId) {
      if (!isKept) return;
      file
        .prepare(
          `insert into undo_change (undo_id, product_id, identifier, document_after)
           select ?, s.product_id, s.identifier, s.document_id
           from staged_product s left join product p on p.identifier = s.identifier
           where s.full_update_id = ? and p.id is null`,
        )
        .run(undoId, fullUpdateId);
    },
    recordDeleted(identifiers) {
      keep(
        'null',
        'from json_each(?) j join product p on p.identifier = j.value',
        JSON.stringify([...new Set(identifiers)]),
      );
    },
  };
}

/** Its number was never used before: changes of an entry that is not kept any more may still wait for their removal. */
function addEntry(file: CatalogFile, { taskNumber, at }: ChangeOrder): number {
  const { lastInsertRowid } = file
    .prepare(
      `insert into undo_log (id, task_number, at) select 1 + max(
         coalesce((select max(id) from undo_log), 0), coalesce((select max(undo_id) from undo_change), 0)), ?, ?`,
    )
    .run(taskNumber, at);
  return Number(lastInsertRowid);
}

/** Marks the entries beyond those that are kept; `collectGarbage` takes them apart. */
export function dropUndoBeyond(file: CatalogFile, keptCommits: number): void {
  file
    .prepare('delete from undo_log where id not in (select id from undo_log order by id desc limit ?)')
    .run(keptCommits);
}

export function canRestore(file: CatalogFile): boolean {
  return file.prepare('select 1 from undo_log limit 1').get() !== undefined;
}

const REPORTED = 100_000;

/** Plays the last entry back. @returns undefined when there is none */
export function playBack(file: CatalogFile): RestoreResult | undefined {
  const undoId = file.prepare('select max(id) as id from undo_log').get()?.id;
  if (undoId === null || undoId === undefined) return undefined;
  const overwritten = file
    .prepare(
      `select u.identifier from undo_change u left join product p on p.identifier = u.identifier
       where u.undo_id = ? and p.document_id is not u.document_after order by u.identifier limit ${REPORTED}`,
    )
    .all(undoId)
    .map(({ identifier }) => identifier as string);
  file
    .prepare(
      `insert or ignore into garbage_document select p.document_id, p.identifier
       from undo_change u join product p on p.identifier = u.identifier
       where u.undo_id = ? and p.document_id is not u.document_before`,
    )
    .run(undoId);
  file
    .prepare('delete from product where identifier in (select identifier from undo_change where undo_id = ?)')
    .run(undoId);
  const restored = file
    .prepare(
      `insert into product (id, identifier, document_id, hash, ontology_revision, updated_at, updated_by)
       select product_id, identifier, document_before, hash_before, revision_before, updated_at_before, updated_by_before
       from undo_change where undo_id = ? and document_before is not null`,
    )
    .run(undoId).changes;
  const outdated = file
    .prepare('select 1 from undo_change where undo_id = ? and revision_before < ? limit 1')
    .get(undoId, Number(readMeta(file, 'ontology_revision')));
  file.prepare('delete from undo_change where undo_id = ?').run(undoId);
  file.prepare('delete from undo_log where id = ?').run(undoId);
  return { restored: Number(restored), overwritten, needsExtraction: outdated !== undefined };
}
