import { ask, type CatalogFile, type Program } from '../../../storage/storage.ts';
import { type Derivation, listDerived } from '../../derivation.ts';
import type { ChangeOrder, StagedProducts } from '../../port.ts';
import { type PackedProducts, rawOf } from '../../products/products.ts';
import { type PlannedDocument, stageBatch as stage } from '../staged-store.ts';
import {
  applyFromOutside,
  applyOnce,
  type CatalogState,
  type CatalogWork,
  change,
  changeFromOutside,
} from '../state-store.ts';

/** What the statements that change a catalog file share; run by the thread that writes. */

/** A change that readers see raises the version, so that nothing kept in memory outlives it. */
export function raiseVersion(file: CatalogFile): void {
  file.prepare("update meta set value = value + 1 where name = 'catalog_version'").run();
}

/** A change by another room. */
export const changeSqliteCatalog = <Result>(file: CatalogFile, work: CatalogWork<Result>): Result =>
  file.transaction(() => file.perform(changeFromOutside(work)));

/** The same for the work of an ordered task. */
export const applySqliteChange = <Result extends object>(
  file: CatalogFile,
  order: ChangeOrder,
  work: CatalogWork<{ result: Result; isDone: boolean }>,
): Result => file.transaction(() => file.perform(applyFromOutside(order, work)));

/** The same for a program that does the work of an ordered task. */
export const applying =
  <Input extends ChangeOrder, Result extends object>(
    work: (state: CatalogState, input: Input) => Program<{ result: Result; isDone: boolean }>,
  ) =>
  (file: CatalogFile, input: Input): Result =>
    file.transaction(() => file.perform(applyOnce(input, (state) => work(state, input))));

export const applyTask = <Result extends object>(
  file: CatalogFile,
  order: ChangeOrder,
  work: (state: CatalogState) => { result: Result; isDone: boolean },
): Result => applying((state) => ask(() => work(state)))(file, order);

/** Writes the document of a row. @returns its id: the planned one, or a new one */
export function insertDocument(
  file: CatalogFile,
  packed: PackedProducts,
  { row, id, productId }: Omit<PlannedDocument, 'id'> & { readonly id?: number },
): number {
  const { lastInsertRowid } = file
    .prepare("insert into document (id, product_id, former_answer, raw) values (?, ?, x'', ?)")
    .run(id ?? null, productId, rawOf(packed, row));
  return Number(lastInsertRowid);
}

/** A batch of an open full update, in one transaction; the commit stages again what is missing. */
export const stageBatch = (file: CatalogFile, staged: StagedProducts, derivation: Derivation): boolean =>
  file.repeatable(() =>
    file.perform(
      change((state) =>
        stage(state, staged, (planned) => {
          for (const one of planned) insertDocument(file, staged.packed, one);
          derivation.place(file, listDerived(staged.packed, planned));
        }),
      ),
    ),
  );
