import {
  ask,
  CopyRows,
  copyInto,
  type Postgres,
  type Program,
  performOn,
  type SqlTransaction,
} from '../../../storage/storage.ts';
import type { BatchDerivation } from '../../derivation.ts';
import type { ChangeOrder } from '../../port.ts';
import { answerOf, derivedOf, type PackedProducts, rawOf } from '../../products/products.ts';
import {
  applyOnce,
  type CatalogState,
  type ChangedCatalog,
  change,
  changeFromOutside,
} from '../state-store.ts';

/** What the statements that change a catalog in PostgreSQL share. */

/** What a writing thread changes catalogs with. */
export interface PostgresWriter {
  readonly postgres: Postgres;
  readonly derivation: BatchDerivation;
}

/** A change of one catalog under way: its transaction has the catalog's lock. */
export interface CatalogChange {
  readonly tx: SqlTransaction;
  readonly projectId: number;
  /** As the last change left it, and as this one leaves it. */
  readonly row: CatalogState;
  readonly derivation: BatchDerivation;
}

/** Runs `work` in a transaction that no other change of the catalog runs beside; what it sets in the row is written. */
export const changeCatalog = <Result>(
  { postgres, derivation }: PostgresWriter,
  projectId: number,
  work: (change: CatalogChange) => Promise<Result>,
): Promise<Result> =>
  postgres.transaction((tx) =>
    performOn(
      tx,
      projectId,
      change((row) => ask(() => work({ tx, projectId, row, derivation }))),
    ),
  );

/** The same for another room. */
export const changePostgresCatalog = <Result>(
  postgres: Postgres,
  projectId: number,
  work: (catalog: ChangedCatalog, tx: SqlTransaction) => Program<Result>,
): Promise<Result> =>
  postgres.transaction((tx) =>
    performOn(
      tx,
      projectId,
      changeFromOutside((catalog) => work(catalog, tx)),
    ),
  );

/** The same for the work of an ordered task. */
export const applyTask = <Result extends object>(
  { postgres, derivation }: PostgresWriter,
  { projectId, ...order }: ChangeOrder & { projectId: number },
  work: (change: CatalogChange) => Promise<{ result: Result; isDone: boolean }>,
): Promise<Result> =>
  postgres.transaction((tx) =>
    performOn(
      tx,
      projectId,
      applyOnce(order, (row) => ask(() => work({ tx, projectId, row, derivation }))),
    ),
  );

/** A document to be written: the row of packed products that it comes from, and who it is. */
export interface PlannedDocument {
  readonly row: number;
  readonly id: number;
  readonly productId: number;
}

const DOCUMENT = copyInto('document', ['project_id', 'id', 'product_id', 'answer', 'raw']);
/** Of a row beside its texts. */
const ROW_BYTES = 64;

/** Writes documents with what was derived for them. */
export async function copyDocuments(
  { tx, projectId, derivation }: CatalogChange,
  packed: PackedProducts,
  planned: readonly PlannedDocument[],
): Promise<void> {
  if (planned.length === 0) return;
  const rows = new CopyRows(5, packed.bytes.length + planned.length * ROW_BYTES);
  for (const { row, id, productId } of planned) {
    rows.begin().integer(projectId).integer(id).integer(productId);
    rows.bytes(answerOf(packed, row)).bytes(rawOf(packed, row));
  }
  await tx.copyIn(DOCUMENT, rows.finish());
  const placed = planned.flatMap(({ row, id, productId }) => {
    const derived = derivedOf(packed, row);
    return derived === '' ? [] : [{ id, productId, derived }];
  });
  if (placed.length > 0) await derivation.place(tx, projectId, placed);
}

/** Writes answers of documents that are there. */
export async function replaceAnswers(
  tx: SqlTransaction,
  projectId: number,
  answers: readonly { readonly id: number; readonly answer: string }[],
): Promise<void> {
  await tx.run(
    `insert into document (project_id, id, product_id, answer, raw)
     select $1, d.id, d.product_id, w.answer, d.raw from unnest($2::bigint[], $3::text[]) w (id, answer)
     cross join lateral (select * from document where project_id = $1 and id = w.id limit 1) d
     where d.answer <> w.answer
     on conflict (project_id, id) do update set answer = excluded.answer`,
    [projectId, answers.map(({ id }) => id), answers.map(({ answer }) => answer)],
  );
}
