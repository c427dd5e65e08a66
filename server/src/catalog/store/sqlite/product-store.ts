import { type CatalogFile, refuseOtherBytes } from '../../../storage/storage.ts';
import { type Derivation, listDerived } from '../../derivation.ts';
import type { AppliedProducts, ChangeCounts, ChangeOrder, FollowedProducts, Stale } from '../../port.ts';
import { hashOf, type KeyedRow, sortedRows } from '../../products/products.ts';
import { announceFollowed, announceProducts, type ChangedProduct } from '../change-events-store.ts';
import { reserveCategories } from '../ontology-store.ts';
import { arePresentAsFound } from '../product-list-store.ts';
import type { PlannedDocument } from '../staged-store.ts';
import { applyTask, insertDocument, raiseVersion } from './writer-store.ts';

/** Changes of present products outside a full update; each function one transaction. */

/** Writes what an incremental or partial update changed. */
export function applyProducts(
  file: CatalogFile,
  change: ChangeOrder & AppliedProducts,
  derivation: Derivation,
): ChangeCounts | Stale {
  return applyTask<ChangeCounts | Stale>(file, change, (state) => {
    const isStale =
      state.ontologyRevision !== change.revision ||
      state.derivationRevision !== change.derivationRevision ||
      !file.perform(arePresentAsFound(state, change.packed));
    if (isStale) {
      return { result: { stale: true }, isDone: false };
    }
    file.perform(reserveCategories(state, change.packed.paths));
    const counts = { created: 0, changed: 0, unchanged: 0, deleted: 0 };
    const told: ChangedProduct[] = [];
    const written: PlannedDocument[] = [];
    for (const { row, identifier } of sortedRows(change.packed)) {
      const kind = applyRow(file, change, { row, identifier, nextId: state.nextProductId, written });
      counts[kind] += 1;
      told.push({ identifier, kind });
      if (kind === 'created') state.nextProductId += 1;
    }
    derivation.place(file, listDerived(change.packed, written));
    refuseOtherBytes(change.packed.bytes, change.packed.sample);
    file.perform(announceProducts(change, told));
    return { result: counts, isDone: true };
  });
}

function applyRow(
  file: CatalogFile,
  { packed, revision, at, taskNumber }: ChangeOrder & AppliedProducts,
  { row, identifier, nextId, written }: KeyedRow & { nextId: number; written: PlannedDocument[] },
): 'created' | 'changed' | 'unchanged' {
  if ((packed.documents[row] ?? 0) !== 0) return 'unchanged';
  const present = file
    .prepare('select id, document_id as document from product where identifier = ?')
    .get(identifier) as { id: number; document: number } | undefined;
  const productId = present?.id ?? nextId;
  const document = insertDocument(file, packed, { row, productId });
  written.push({ row, id: document, productId });
  const values = [document, hashOf(packed, row), revision, at, taskNumber] as const;
  if (present === undefined) {
    file
      .prepare(
        `insert into product (document_id, hash, ontology_revision, updated_at, updated_by, identifier, id)
         values (?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(...values, identifier, productId);
    return 'created';
  }
  file.prepare('insert or ignore into garbage_document (document_id) values (?)').run(present.document);
  file
    .prepare(
      `update product set document_id = ?, hash = ?, ontology_revision = ?, updated_at = ?, updated_by = ? where id = ?`,
    )
    .run(...values, productId);
  return 'changed';
}

/** Notes which ontology products follow that are still what they were when they were looked at. */
export function followOntology(file: CatalogFile, followed: ChangeOrder & FollowedProducts): void {
  const { revision, products, documents, changed, at, taskNumber } = followed;
  file.transaction(() => {
    for (const [row, id] of products.entries()) {
      const [document, isChanged] = [documents[row] ?? 0, Number(changed[row] ?? false)];
      file
        .prepare(
          `update product set ontology_revision = ?1, updated_at = iif(?2, ?3, updated_at),
             updated_by = iif(?2, ?4, updated_by)
           where id = ?5 and document_id = ?6 and ontology_revision < ?1`,
        )
        .run(revision, isChanged, at, taskNumber, id, document);
    }
    file.perform(
      announceFollowed(
        followed,
        products.filter((_, row) => changed[row]),
      ),
    );
    raiseVersion(file);
  });
}
