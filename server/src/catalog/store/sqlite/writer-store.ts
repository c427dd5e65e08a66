import { ask, type CatalogFile, type Program } from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import type { ChangeOrder } from '../../port.ts';
import { derivedOf, type PackedProducts, rawOf } from '../../products/products.ts';
import {
  applyFromOutside,
  applyOnce,
  type CatalogState,
  type CatalogWork,
  changeFromOutside,
} from '../state-store.ts';

/** What the statements that change a catalog file share; run by the thread that writes. */

export function writeMeta(file: CatalogFile, name: string, value: number | string): void {
  file.prepare('update meta set value = ? where name = ?').run(value, name);
}

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

/** Writes the document of a row, with what was derived for it. @returns its id */
export function insertDocument(
  file: CatalogFile,
  { packed, row, productId }: { packed: PackedProducts; row: number; productId: number },
  derivation: Derivation,
): number {
  const { lastInsertRowid } = file
    .prepare("insert into document (product_id, former_answer, raw) values (?, x'', ?)")
    .run(productId, rawOf(packed, row));
  const id = Number(lastInsertRowid);
  const derived = derivedOf(packed, row);
  if (derived !== '') derivation.place(file, { id, productId }, derived);
  return id;
}
