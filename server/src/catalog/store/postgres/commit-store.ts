import { performOn } from '../../../storage/storage.ts';
import type { ChangeCounts, ChangeOrder, CommitOrder, CommitResult } from '../../port.ts';
import { isGuarded, isUnseen } from '../../updates/updates.ts';
import { insertAttributes } from '../ontology-store.ts';
import { planForWholeTables } from './planning-store.ts';
import { listStagedBatches } from './reader-store.ts';
import { CHANGED_BY_STAGED, dropUndoBeyond, openUndo, STAGED_PRESENT } from './undo-store.ts';
import { applyTask, type CatalogChange, type PostgresWriter } from './writer-store.ts';

type Order = ChangeOrder & CommitOrder;

/** The set-based difference of staged and present products, in one transaction. Source: docs/interface.md §4.4. */
export function commit(writer: PostgresWriter, projectId: number, order: Order): Promise<CommitResult> {
  return applyTask<CommitResult>(writer, { projectId, ...order }, async (change) => {
    if (!(await isPrepared(change, order))) return { result: { kind: 'stale' }, isDone: false };
    await planForWholeTables(change.tx);
    await adoptReplaced(change, order.fullUpdateId);
    const difference = await compareCounts(change, order.fullUpdateId);
    const { present, deleted } = difference;
    if (isGuarded(order, present, deleted)) {
      return { result: { kind: 'guarded', present, deleted }, isDone: false };
    }
    await adoptIds(change, order.fullUpdateId);
    await performOn(change.tx, projectId, insertAttributes(order.newAttributes));
    const counts = await commitRows(change, order, difference);
    const needsExtraction = (await outdateUnseen(change, order)) || (await hasOutdated(change, order));
    return { result: { kind: 'done', counts, needsExtraction }, isDone: true };
  });
}

/** Whether facts follow the ontology as it is, and every batch is staged: a missing one would delete its products. */
async function isPrepared({ tx, projectId, row }: CatalogChange, order: CommitOrder): Promise<boolean> {
  const staged = await listStagedBatches(tx, projectId, order.fullUpdateId);
  return (
    row.ontologyRevision === order.revision &&
    row.ontologyMode === order.mode &&
    staged.length === order.batches
  );
}

/**
 * Products that were staged as unchanged and are another by now get a document of their own: the old one belongs to
 * the undo log or is garbage, and a document with two owners would be removed by one of them.
 */
async function adoptReplaced(change: CatalogChange, fullUpdateId: number): Promise<void> {
  const { tx, projectId, row, derivation } = change;
  const replaced = await tx.rows<{ identifier: string; document: number; productId: number }>(
    `select s.identifier, s.document_id as document, s.product_id as "productId"
     from staged_product s left join product p on p.project_id = $1 and p.identifier = s.identifier
     where s.project_id = $1 and s.full_update_id = $2 and s.is_fresh = 0 and p.hash is distinct from s.hash`,
    [projectId, fullUpdateId],
  );
  if (replaced.length === 0) return;
  const documents = replaced.map(({ document }) => document);
  const copies = replaced.map(() => row.nextDocumentId++);
  const copied = await tx.run(
    `insert into document (project_id, id, product_id, answer, raw)
     select $1, c.copy, d.product_id, d.answer, d.raw from unnest($2::bigint[], $3::bigint[]) c (document, copy)
     cross join lateral (select * from document where project_id = $1 and id = c.document limit 1) d`,
    [projectId, documents, copies],
  );
  if (copied !== replaced.length) throw new Error('a staged document is gone');
  await tx.run(
    `update staged_product s set document_id = c.copy, is_fresh = 1
     from unnest($3::text[], $4::bigint[]) c (identifier, copy)
     where s.project_id = $1 and s.full_update_id = $2 and s.identifier = c.identifier`,
    [projectId, fullUpdateId, replaced.map(({ identifier }) => identifier), copies],
  );
  await derivation.copy(
    tx,
    projectId,
    replaced.map(({ document: from, productId }, at) => ({
      from,
      to: { id: copies[at] as number, productId },
    })),
  );
}

/**
 * A product got its id when it was staged. Since then it may have come another way, with another id, or one that was
 * there may have gone: an id is never given twice, so it comes back under a new one.
 */
async function adoptIds(change: CatalogChange, fullUpdateId: number): Promise<void> {
  const { tx, projectId, row, derivation } = change;
  const differing = await tx.rows<{ identifier: string; document: number; id: number | null }>(
    `select s.identifier, s.document_id as document, p.id
     from staged_product s left join product p on p.project_id = $1 and p.identifier = s.identifier
     where s.project_id = $1 and s.full_update_id = $2 and s.is_fresh = 1
       and (p.id <> s.product_id or (p.id is null and s.is_reserved = 0))`,
    [projectId, fullUpdateId],
  );
  if (differing.length === 0) return;
  const moved = differing.map(({ identifier, document, id }) => ({
    identifier,
    id: document,
    productId: id ?? row.nextProductId++,
  }));
  await tx.run(
    `update staged_product s set product_id = m.product_id, is_reserved = 1
     from unnest($3::text[], $4::bigint[]) m (identifier, product_id)
     where s.project_id = $1 and s.full_update_id = $2 and s.identifier = m.identifier`,
    [
      projectId,
      fullUpdateId,
      moved.map(({ identifier }) => identifier),
      moved.map(({ productId }) => productId),
    ],
  );
  await tx.run(
    `insert into document (project_id, id, product_id, answer, raw)
     select $1, d.id, m.product_id, d.answer, d.raw from unnest($2::bigint[], $3::bigint[]) m (id, product_id)
     cross join lateral (select * from document where project_id = $1 and id = m.id limit 1) d
     on conflict (project_id, id) do update set product_id = excluded.product_id`,
    [projectId, moved.map(({ id }) => id), moved.map(({ productId }) => productId)],
  );
  await derivation.move(tx, projectId, moved);
}

/**
 * A batch that was staged while nothing was to be created holds products as unchanged that gain facts all the same.
 * @returns whether there are any
 */
async function outdateUnseen(
  { tx, projectId }: CatalogChange,
  { fullUpdateId, newAttributes }: CommitOrder,
): Promise<boolean> {
  const staged = await listStagedBatches(tx, projectId, fullUpdateId);
  const unseen = staged.filter((batch) => isUnseen(batch, newAttributes)).map(({ batch }) => batch);
  if (unseen.length === 0) return false;
  const changed = await tx.run(
    `update product p set ontology_revision = 0 from staged_product s
     where p.project_id = $1 and s.project_id = $1 and s.full_update_id = $2 and s.identifier = p.identifier
       and s.batch = any($3) and s.is_fresh = 0`,
    [projectId, fullUpdateId, unseen],
  );
  return changed > 0;
}

/** Products staged as unchanged keep their facts, which may follow an older ontology. */
async function hasOutdated({ tx, projectId }: CatalogChange, order: Order): Promise<boolean> {
  const found = await tx.rows(
    `select 1 from ${STAGED_PRESENT} and abs(s.ontology_revision) < $3 and p.updated_by = $4 limit 1`,
    [projectId, order.fullUpdateId, order.revision, order.taskNumber],
  );
  return found.length > 0;
}

interface Counts {
  readonly present: number;
  readonly deleted: number;
  readonly staged: number;
  readonly created: number;
}

async function compareCounts({ tx, projectId }: CatalogChange, fullUpdateId: number): Promise<Counts> {
  const [row] = await tx.rows<{ present: number; kept: number; staged: number }>(
    `select (select count(*) from product where project_id = $1) as present,
       (select count(*) from staged_product where project_id = $1 and full_update_id = $2) as staged,
       (select count(*) from ${STAGED_PRESENT}) as kept`,
    [projectId, fullUpdateId],
  );
  const { present = 0, kept = 0, staged = 0 } = row ?? {};
  return { present, deleted: present - kept, staged, created: staged - kept };
}

/** What is not there to be done is left out: each statement reads both tables. */
async function commitRows(
  change: CatalogChange,
  order: Order,
  { staged, deleted, created }: Counts,
): Promise<ChangeCounts> {
  const { tx, projectId } = change;
  const { fullUpdateId, taskNumber, at } = order;
  const values = [projectId, fullUpdateId];
  const undo = await openUndo(change, order);
  await undo.recordChanged(fullUpdateId);
  if (deleted > 0) {
    await undo.recordAbsent(fullUpdateId);
    await tx.run(
      `delete from product p where p.project_id = $1 and not exists (select 1 from staged_product s
       where s.project_id = $1 and s.full_update_id = $2 and s.identifier = p.identifier)`,
      values,
    );
  }
  // Staged documents that nobody will point to: the catalog got the same product another way meanwhile.
  await tx.run(
    `insert into garbage_document (project_id, document_id, identifier)
     select $1, s.document_id, s.identifier from ${STAGED_PRESENT} and s.is_fresh = 1 and not ${CHANGED_BY_STAGED}
     on conflict do nothing`,
    values,
  );
  const changed = await tx.run(
    `update product p set document_id = s.document_id, hash = s.hash,
       ontology_revision = abs(s.ontology_revision), updated_at = $3, updated_by = $4
     from staged_product s
     where p.project_id = $1 and s.project_id = $1 and s.full_update_id = $2 and s.identifier = p.identifier
       and ${CHANGED_BY_STAGED}`,
    [...values, at, taskNumber],
  );
  if (created > 0) {
    await undo.recordCreated(fullUpdateId);
    await insertCreated(change, order);
  }
  await dropUndoBeyond(tx, projectId, order.keptCommits);
  await tx.run(
    'insert into committed_full_update (project_id, full_update_id) values ($1, $2) on conflict do nothing',
    values,
  );
  const unchanged = staged - created - changed;
  return { created, changed, unchanged, deleted };
}

/** Sorted keys make the index grow page by page instead of all over. */
async function insertCreated(
  { tx, projectId }: CatalogChange,
  { fullUpdateId, taskNumber, at }: Order,
): Promise<void> {
  await tx.run(
    `insert into product (project_id, id, identifier, document_id, hash, ontology_revision, updated_at, updated_by)
     select $1, s.product_id, s.identifier, s.document_id, s.hash, abs(s.ontology_revision), $3::bigint, $4::bigint
     from staged_product s left join product p on p.project_id = $1 and p.identifier = s.identifier
     where s.project_id = $1 and s.full_update_id = $2 and p.id is null order by s.identifier`,
    [projectId, fullUpdateId, at, taskNumber],
  );
}
