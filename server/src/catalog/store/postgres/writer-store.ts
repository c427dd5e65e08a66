import {
  ask,
  CopyRows,
  copyInto,
  type Postgres,
  type Program,
  performOn,
  type SqlTransaction,
} from '../../../storage/storage.ts';
import { type BatchDerivation, listDerived } from '../../derivation.ts';
import type { ChangeOrder, StagedProducts } from '../../port.ts';
import { type PackedProducts, rawOf } from '../../products/products.ts';
import { type PlannedDocument, stageBatch as stage } from '../staged-store.ts';
import {
  applyFromOutside,
  applyOnce,
  type CatalogState,
  type CatalogWork,
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

/** For changes that can be done again. */
export const repeatable = ({ postgres, derivation }: PostgresWriter): PostgresWriter => ({
  postgres: { ...postgres, transaction: postgres.repeatable },
  derivation,
});

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
export const applyPostgresChange = <Result extends object>(
  postgres: Postgres,
  { projectId, ...order }: ChangeOrder & { projectId: number },
  work: CatalogWork<{ result: Result; isDone: boolean }>,
): Promise<Result> => postgres.transaction((tx) => performOn(tx, projectId, applyFromOutside(order, work)));

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

const DOCUMENT = copyInto('document', ['project_id', 'id', 'product_id', 'raw']);
/** Of a row beside its texts. */
const ROW_BYTES = 64;

/** Writes documents with what was derived for them. */
export async function copyDocuments(
  { tx, projectId, derivation }: CatalogChange,
  packed: PackedProducts,
  planned: readonly PlannedDocument[],
): Promise<void> {
  if (planned.length === 0) return;
  const rows = new CopyRows(4, packed.bytes.length + planned.length * ROW_BYTES);
  for (const { row, id, productId } of planned) {
    rows.begin().integer(projectId).integer(id).integer(productId).bytes(rawOf(packed, row));
  }
  await tx.copyIn(DOCUMENT, rows.finish());
  const placed = listDerived(packed, planned);
  if (placed.length > 0) await derivation.place(tx, projectId, placed);
}

/** A batch of an open full update, in one transaction; the commit stages again what is missing. */
export const stageBatch = (
  writer: PostgresWriter,
  projectId: number,
  staged: StagedProducts,
): Promise<boolean> =>
  changeCatalog(repeatable(writer), projectId, (changed) =>
    performOn(
      changed.tx,
      projectId,
      stage(changed.row, staged, (planned) => copyDocuments(changed, staged.packed, planned)),
    ),
  );
