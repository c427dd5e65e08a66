import { performOn } from '../../../storage/storage.ts';
import type { ChangeOrder, CommitOrder, CommitResult } from '../../port.ts';
import {
  type CommitBulk,
  commit as commitStaged,
  type MovedProduct,
  type ReplacedProduct,
} from '../commit-store.ts';
import { planForWholeTables } from '../planning-store.ts';
import { applyTask, type CatalogChange, type PostgresWriter } from './writer-store.ts';

type Order = ChangeOrder & CommitOrder;

export const commit = (writer: PostgresWriter, projectId: number, order: Order): Promise<CommitResult> =>
  applyTask<CommitResult>(writer, { projectId, ...order }, (change) =>
    performOn(change.tx, projectId, commitStaged(change.row, order, bulkIn(change, order.fullUpdateId))),
  );

const bulkIn = (change: CatalogChange, fullUpdateId: number): CommitBulk => ({
  plan: () => performOn(change.tx, change.projectId, planForWholeTables()),
  copyDocuments: (replaced) => copyDocuments(change, fullUpdateId, replaced),
  moveDocuments: (moved) => moveDocuments(change, fullUpdateId, moved),
});

async function copyDocuments(
  { tx, projectId, row, derivation }: CatalogChange,
  fullUpdateId: number,
  replaced: readonly ReplacedProduct[],
): Promise<void> {
  const documents = replaced.map(({ document }) => document);
  const copies = replaced.map(() => row.nextDocumentId++);
  const copied = await tx.run(
    `insert into document (project_id, id, product_id, raw)
     select $1, c.copy, d.product_id, d.raw from unnest($2::bigint[], $3::bigint[]) c (document, copy)
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

async function moveDocuments(
  { tx, projectId, derivation }: CatalogChange,
  fullUpdateId: number,
  moved: readonly MovedProduct[],
): Promise<void> {
  const productIds = moved.map(({ productId }) => productId);
  await tx.run(
    `update staged_product s set product_id = m.product_id, is_reserved = 1
     from unnest($3::text[], $4::bigint[]) m (identifier, product_id)
     where s.project_id = $1 and s.full_update_id = $2 and s.identifier = m.identifier`,
    [projectId, fullUpdateId, moved.map(({ identifier }) => identifier), productIds],
  );
  await tx.run(
    `insert into document (project_id, id, product_id, raw)
     select $1, d.id, m.product_id, d.raw from unnest($2::bigint[], $3::bigint[]) m (id, product_id)
     cross join lateral (select * from document where project_id = $1 and id = m.id limit 1) d
     on conflict (project_id, id) do update set product_id = excluded.product_id`,
    [projectId, moved.map(({ document }) => document), productIds],
  );
  await derivation.move(
    tx,
    projectId,
    moved.map(({ document: id, productId }) => ({ id, productId })),
  );
}
