import type { CatalogFile } from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import type { AppliedProducts, ChangeCounts, ChangeOrder, RefreshedFacts, Stale } from '../../port.ts';
import { answerOf, hashOf, type KeyedRow, sortedRows } from '../../products/products.ts';
import { readMeta } from './reader-store.ts';
import { applyTask, insertDocument, raiseVersion, writeMeta } from './writer-store.ts';

/** Changes of present products outside a full update; each function one transaction. */

/** Writes what an incremental or partial update changed. */
export function applyProducts(
  file: CatalogFile,
  change: ChangeOrder & AppliedProducts,
  derivation: Derivation,
): ChangeCounts | Stale {
  return applyTask<ChangeCounts | Stale>(file, change, () => {
    const isStale =
      Number(readMeta(file, 'ontology_revision')) !== change.revision ||
      Number(readMeta(file, 'derivation_revision')) !== change.derivationRevision;
    if (isStale) {
      return { result: { stale: true }, isDone: false };
    }
    let nextId = Number(readMeta(file, 'next_product_id'));
    const counts = { created: 0, changed: 0, unchanged: 0, deleted: 0 };
    for (const { row, identifier } of sortedRows(change.packed)) {
      const kind = applyRow(file, change, { row, identifier, nextId, derivation });
      counts[kind] += 1;
      if (kind === 'created') nextId += 1;
    }
    writeMeta(file, 'next_product_id', nextId);
    return { result: counts, isDone: true };
  });
}

function applyRow(
  file: CatalogFile,
  { packed, at, taskNumber }: ChangeOrder & AppliedProducts,
  { row, identifier, nextId, derivation }: KeyedRow & { nextId: number; derivation: Derivation },
): 'created' | 'changed' | 'unchanged' {
  if ((packed.documents[row] ?? 0) !== 0) return 'unchanged';
  const present = file
    .prepare('select id, document_id as document from product where identifier = ?')
    .get(identifier) as { id: number; document: number } | undefined;
  const productId = present?.id ?? nextId;
  const document = insertDocument(file, { packed, row, productId }, derivation);
  const values = [document, hashOf(packed, row), packed.revisions[row] ?? 0, at, taskNumber] as const;
  if (present === undefined) {
    file
      .prepare(
        `insert into product (document_id, hash, ontology_revision, updated_at, updated_by, identifier, id)
         values (?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(...values, identifier, productId);
    return 'created';
  }
  file
    .prepare('insert or ignore into garbage_document (document_id, identifier) values (?, ?)')
    .run(present.document, identifier);
  file
    .prepare(
      `update product set document_id = ?, hash = ?, ontology_revision = ?, updated_at = ?, updated_by = ? where id = ?`,
    )
    .run(...values, productId);
  return 'changed';
}

/** Replaces facts of products that are still what they were when their facts were made. */
export function refreshFacts(file: CatalogFile, refreshed: RefreshedFacts): void {
  const { products, documents, packed, at, taskNumber } = refreshed;
  file.transaction(() => {
    for (const [row, id] of products.entries()) {
      const document = documents[row] ?? 0;
      const answer = answerOf(packed, row);
      const revision = packed.revisions[row] ?? 0;
      const { changes } = file
        .prepare(
          'update product set ontology_revision = ? where id = ? and document_id = ? and ontology_revision < ?',
        )
        .run(revision, id, document, revision);
      if (changes === 0) continue;
      const written = file
        .prepare('update document set answer = ? where id = ? and answer <> ?')
        .run(answer, document, answer);
      if (written.changes === 0) continue;
      file.prepare('update product set updated_at = ?, updated_by = ? where id = ?').run(at, taskNumber, id);
    }
    raiseVersion(file);
  });
}
