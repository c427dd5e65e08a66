import type { CatalogFile } from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import type { ChangeOrder, CommitOrder, CommitResult } from '../../port.ts';
import { type CommitBulk, commit as commitStaged } from '../commit-store.ts';
import { applying } from './writer-store.ts';

type Order = ChangeOrder & CommitOrder;

export const commit = (file: CatalogFile, order: Order, derivation: Derivation): CommitResult =>
  applying<Order, CommitResult>((state, input) =>
    commitStaged(state, input, bulkIn(file, order.fullUpdateId, derivation)),
  )(file, order);

const bulkIn = (file: CatalogFile, fullUpdateId: number, derivation: Derivation): CommitBulk => ({
  plan() {},
  copyDocuments(replaced) {
    for (const { identifier, document, productId } of replaced) {
      const copy = file
        .prepare(
          "insert into document (product_id, former_answer, raw) select product_id, x'', raw from document where id = ?",
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
  },
  moveDocuments(moved) {
    for (const { identifier, document, productId } of moved) {
      file
        .prepare(
          'update staged_product set product_id = ?, is_reserved = 1 where full_update_id = ? and identifier = ?',
        )
        .run(productId, fullUpdateId, identifier);
      file.prepare('update document set product_id = ? where id = ?').run(productId, document);
      derivation.move(file, { id: document, productId });
    }
  },
});
