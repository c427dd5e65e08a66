import type { CatalogFile } from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import type { Attribute } from '../../ontology/ontology.ts';
import type { ChangeOrder } from '../../port.ts';
import { answerOf, derivedOf, type PackedProducts, rawOf } from '../../products/products.ts';
import { findCategoryId, readMeta } from './reader-store.ts';

/** What the statements that change a catalog file share; run by the thread that writes. */

export function writeMeta(file: CatalogFile, name: string, value: number | string): void {
  file.prepare('update meta set value = ? where name = ?').run(value, name);
}

/** A change that readers see raises the version, so that nothing kept in memory outlives it. */
export function raiseVersion(file: CatalogFile): void {
  file.prepare("update meta set value = value + 1 where name = 'catalog_version'").run();
}

/**
 * Does the work of an ordered task once: its number and result are written in the same transaction, so that a task
 * that runs again after a crash finds what it did.
 */
export function applyOnce<Result extends object>(
  file: CatalogFile,
  order: ChangeOrder,
  work: () => { result: Result; isDone: boolean },
): Result {
  return file.transaction(() => {
    if (Number(readMeta(file, 'last_task')) >= order.taskNumber) {
      return JSON.parse(String(readMeta(file, 'last_task_result'))) as Result;
    }
    const { result, isDone } = work();
    if (!isDone) return result;
    writeMeta(file, 'last_task', order.taskNumber);
    writeMeta(file, 'last_task_result', JSON.stringify(result));
    raiseVersion(file);
    return result;
  });
}

export function reserveIds(
  file: CatalogFile,
  { names, paths }: { names: readonly string[]; paths: readonly string[] },
): ReadonlyMap<string, number> {
  return file.transaction(() => {
    for (const path of paths) {
      if (findCategoryId(file, path) !== undefined) continue;
      file
        .prepare('insert into category (id, path) select coalesce(max(id), 1000000000) + 1, ? from category')
        .run(path);
    }
    return new Map(names.map((name) => [name, attributeIdOf(file, name)]));
  });
}

/** @returns the id that this name has for ever. */
function attributeIdOf(file: CatalogFile, name: string): number {
  const known = file.prepare('select id from attribute_id where name = ?').get(name)?.id;
  if (known !== undefined) return Number(known);
  const id = Number(readMeta(file, 'next_attribute_id'));
  writeMeta(file, 'next_attribute_id', id + 1);
  file.prepare('insert into attribute_id (name, id) values (?, ?)').run(name, id);
  return id;
}

export function insertAttribute(file: CatalogFile, attribute: Attribute): void {
  file
    .prepare('insert into attribute (id, name, type, unit_name, decimal, synonyms) values (?, ?, ?, ?, ?, ?)')
    .run(
      attribute.id,
      attribute.name,
      attribute.type,
      attribute.unitName ?? null,
      attribute.decimal ?? null,
      JSON.stringify(attribute.synonyms ?? []),
    );
}

/** Writes the document of a row, with what was derived for it. @returns its id */
export function insertDocument(
  file: CatalogFile,
  { packed, row, productId }: { packed: PackedProducts; row: number; productId: number },
  derivation: Derivation,
): number {
  const { lastInsertRowid } = file
    .prepare('insert into document (product_id, answer, raw) values (?, ?, ?)')
    .run(productId, answerOf(packed, row), rawOf(packed, row));
  const id = Number(lastInsertRowid);
  const derived = derivedOf(packed, row);
  if (derived !== '') derivation.place(file, { id, productId }, derived);
  return id;
}
