import type { CatalogFile } from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import type { ChangeCounts, ChangeOrder, CommitOrder, CommitResult } from '../../port.ts';
import { isGuarded, isUnseen } from '../../updates/updates.ts';
import { insertAttributes } from '../ontology-store.ts';
import { countProducts, listStagedBatches, readMeta } from './reader-store.ts';
import { CHANGED_BY_STAGED, dropUndoBeyond, openUndo } from './undo-store.ts';
import { applyTask, writeMeta } from './writer-store.ts';

/** The set-based difference of staged and present products, in one transaction. Source: docs/interface.md §4.4. */
export function commit(
  file: CatalogFile,
  order: ChangeOrder & CommitOrder,
  derivation: Derivation,
): CommitResult {
  return applyTask<CommitResult>(file, order, () => {
    if (!isPrepared(file, order)) return { result: { kind: 'stale' }, isDone: false };
    adoptReplaced(file, order.fullUpdateId, derivation);
    const difference = compareStagedCounts(file, order.fullUpdateId);
    const { present, deleted } = difference;
    if (isGuarded(order, present, deleted))
      return { result: { kind: 'guarded', present, deleted }, isDone: false };
    adoptIds(file, order.fullUpdateId, derivation);
    file.perform(insertAttributes(order.newAttributes));
    const counts = commitRows(file, order, difference);
    const needsExtraction = outdateUnseen(file, order) || hasOutdated(file, order);
    return { result: { kind: 'done', counts, needsExtraction }, isDone: true };
  });
}

/** Whether facts follow the ontology as it is, and every batch is staged: a missing one would delete its products. */
function isPrepared(file: CatalogFile, order: CommitOrder): boolean {
  const staged = file
    .prepare('select count(*) as count from staged_batch where full_update_id = ?')
    .get(order.fullUpdateId)?.count;
  return (
    Number(readMeta(file, 'ontology_revision')) === order.revision &&
    readMeta(file, 'ontology_mode') === order.mode &&
    staged === order.batches
  );
}

/**
 * Products that were staged as unchanged and are another by now get a document of their own: the old one belongs to
 * the undo log or is garbage, and a document with two owners would be removed by one of them.
 */
function adoptReplaced(file: CatalogFile, fullUpdateId: number, derivation: Derivation): void {
  const replaced = file
    .prepare(
      `select s.identifier, s.document_id as document, s.product_id as productId
       from staged_product s left join product p on p.identifier = s.identifier
       where s.full_update_id = ? and s.is_fresh = 0 and p.hash is not s.hash`,
    )
    .all(fullUpdateId) as unknown as { identifier: string; document: number; productId: number }[];
  for (const { identifier, document, productId } of replaced) {
    const copy = file
      .prepare(
        'insert into document (product_id, answer, raw) select product_id, answer, raw from document where id = ?',
      )
      .run(document);
    if (copy.changes === 0) throw new Error(`the staged document ${document} of ${identifier} is gone`);
    file
      .prepare(
        'update staged_product set document_id = ?, is_fresh = 1 where full_update_id = ? and identifier = ?',
      )
      .run(copy.lastInsertRowid, fullUpdateId, identifier);
    derivation.copy(file, document, { id: Number(copy.lastInsertRowid), productId });
  }
}

/**
 * A product got its id when it was staged. Since then it may have come another way, with another id, or one that was
 * there may have gone: an id is never given twice, so it comes back under a new one.
 */
function adoptIds(file: CatalogFile, fullUpdateId: number, derivation: Derivation): void {
  const differing = file
    .prepare(
      `select s.identifier, s.document_id as document, p.id
       from staged_product s left join product p on p.identifier = s.identifier
       where s.full_update_id = ? and s.is_fresh = 1 and (p.id <> s.product_id or (p.id is null and s.is_reserved = 0))`,
    )
    .all(fullUpdateId) as unknown as { identifier: string; document: number; id: number | null }[];
  for (const { identifier, document, id } of differing) {
    const productId = id ?? Number(readMeta(file, 'next_product_id'));
    if (id === null) writeMeta(file, 'next_product_id', productId + 1);
    file
      .prepare(
        'update staged_product set product_id = ?, is_reserved = 1 where full_update_id = ? and identifier = ?',
      )
      .run(productId, fullUpdateId, identifier);
    file.prepare('update document set product_id = ? where id = ?').run(productId, document);
    derivation.move(file, { id: document, productId });
  }
}

/**
 * A batch that was staged while nothing was to be created holds products as unchanged that gain facts all the same.
 * @returns whether there are any
 */
function outdateUnseen(file: CatalogFile, { fullUpdateId, newAttributes }: CommitOrder): boolean {
  let changes = 0;
  for (const staged of listStagedBatches(file, fullUpdateId)) {
    if (!isUnseen(staged, newAttributes)) continue;
    const outdated = file
      .prepare(
        `update product set ontology_revision = 0 where identifier in
         (select identifier from staged_product where full_update_id = ? and batch = ? and is_fresh = 0)`,
      )
      .run(fullUpdateId, staged.batch);
    changes += Number(outdated.changes);
  }
  return changes > 0;
}

/** Products staged as unchanged keep their facts, which may follow an older ontology. */
function hasOutdated(file: CatalogFile, { fullUpdateId, revision, taskNumber }: ChangeOrder & CommitOrder) {
  const outdated = file
    .prepare(
      `select 1 from staged_product s join product p on p.identifier = s.identifier
       where s.full_update_id = ? and abs(s.ontology_revision) < ? and p.updated_by = ? limit 1`,
    )
    .get(fullUpdateId, revision, taskNumber);
  return outdated !== undefined;
}

function compareStagedCounts(
  file: CatalogFile,
  fullUpdateId: number,
): { present: number; deleted: number; staged: number } {
  const count = (sql: string) => Number(file.prepare(sql).get(fullUpdateId)?.count);
  const staged = count('select count(*) as count from staged_product where full_update_id = ?');
  const kept = count(
    `select count(*) as count from staged_product s join product p on p.identifier = s.identifier
     where s.full_update_id = ?`,
  );
  const present = countProducts(file);
  return { present, deleted: present - kept, staged };
}

function commitRows(
  file: CatalogFile,
  order: ChangeOrder & CommitOrder,
  { staged, deleted }: { staged: number; deleted: number },
): ChangeCounts {
  const { fullUpdateId, taskNumber, at } = order;
  const undo = openUndo(file, order);
  undo.recordStaged(fullUpdateId);
  if (deleted > 0) {
    file
      .prepare(
        `delete from product where not exists
         (select 1 from staged_product s where s.full_update_id = ? and s.identifier = product.identifier)`,
      )
      .run(fullUpdateId);
  }
  // Staged documents that nobody will point to: the catalog got the same product another way meanwhile.
  file
    .prepare(
      `insert or ignore into garbage_document select s.document_id, s.identifier
       from staged_product s join product p on p.identifier = s.identifier
       where s.full_update_id = ? and s.is_fresh = 1 and not ${CHANGED_BY_STAGED}`,
    )
    .run(fullUpdateId);
  const changed = file
    .prepare(
      `update product as p set document_id = s.document_id, hash = s.hash, ontology_revision = abs(s.ontology_revision),
         updated_at = ?, updated_by = ?
       from staged_product s
       where s.full_update_id = ? and s.identifier = p.identifier and ${CHANGED_BY_STAGED}`,
    )
    .run(at, taskNumber, fullUpdateId).changes;
  undo.recordCreated(fullUpdateId);
  const created = file
    .prepare(
      `insert into product (id, identifier, document_id, hash, ontology_revision, updated_at, updated_by)
       select s.product_id, s.identifier, s.document_id, s.hash, abs(s.ontology_revision), ?, ?
       from staged_product s left join product p on p.identifier = s.identifier
       where s.full_update_id = ? and p.id is null`,
    )
    .run(at, taskNumber, fullUpdateId).changes;
  dropUndoBeyond(file, order.keptCommits);
  file.prepare("insert or replace into meta (name, value) values ('committed:' || ?, 1)").run(fullUpdateId);
  const unchanged = staged - Number(created) - Number(changed);
  return { created: Number(created), changed: Number(changed), unchanged, deleted };
}
