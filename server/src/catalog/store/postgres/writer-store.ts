import {
  CopyRows,
  copyInto,
  type Postgres,
  refuseOtherState,
  type SqlTransaction,
} from '../../../storage/storage.ts';
import type { BatchDerivation } from '../../derivation.ts';
import type { Attribute, Ontology } from '../../ontology/ontology.ts';
import { identifyAttributes, isSameOntology, markOfOntology } from '../../ontology/ontology.ts';
import type { ChangeOrder, WantedOntology } from '../../port.ts';
import { answerOf, derivedOf, type PackedProducts, rawOf } from '../../products/products.ts';
import { type CatalogRow, lockCatalog, readPostgresOntology, updateCatalog } from './catalog-row-store.ts';

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
  /** As the last change left it. */
  readonly row: CatalogRow;
  readonly derivation: BatchDerivation;
}

/** Runs `work` in a transaction that no other change of the catalog runs beside. */
export function changeCatalog<Result>(
  { postgres, derivation }: PostgresWriter,
  projectId: number,
  work: (change: CatalogChange) => Promise<Result>,
): Promise<Result> {
  return postgres.transaction(async (tx) =>
    work({ tx, projectId, row: await lockCatalog(tx, projectId), derivation }),
  );
}

/**
 * Does the work of an ordered task once: its number and result are written in the same transaction, so that a task
 * that runs again after a crash finds what it did.
 */
export function applyOnce<Result extends object>(
  writer: PostgresWriter,
  { projectId, taskNumber }: ChangeOrder & { projectId: number },
  work: (
    change: CatalogChange,
  ) => Promise<{ result: Result; isDone: boolean; counters?: Partial<CatalogRow> }>,
): Promise<Result> {
  return changeCatalog(writer, projectId, async (change) => {
    const { tx, row } = change;
    if (row.lastTask >= taskNumber) return JSON.parse(row.lastTaskResult) as Result;
    const { result, isDone, counters } = await work(change);
    const done = isDone && {
      lastTask: taskNumber,
      lastTaskResult: JSON.stringify(result),
      catalogVersion: row.catalogVersion + 1,
    };
    if (isDone || counters) await updateCatalog(tx, projectId, { ...counters, ...done });
    return result;
  });
}

export function reserveIds(
  writer: PostgresWriter,
  projectId: number,
  { names, paths }: { names: readonly string[]; paths: readonly string[] },
): Promise<ReadonlyMap<string, number>> {
  return changeCatalog(writer, projectId, async ({ tx, row }) => {
    const known = await tx.rows<{ path: string }>(
      `select w.path from unnest($2::text[]) w (path) cross join lateral (select from category
         where project_id = $1 and md5(path) = md5(w.path) and path = w.path limit 1) c`,
      [projectId, paths],
    );
    const there = new Set(known.map(({ path }) => path));
    const missing = [...new Set(paths)].filter((path) => !there.has(path));
    await tx.run(
      `insert into category (project_id, id, path)
       select $1, $2::bigint + place - 1, path from unnest($3::text[]) with ordinality w (path, place)`,
      [projectId, row.nextCategoryId, missing],
    );
    const { ids, nextId } = await nameAttributes(tx, projectId, { names, nextId: row.nextAttributeId });
    await updateCatalog(tx, projectId, {
      nextCategoryId: row.nextCategoryId + missing.length,
      nextAttributeId: nextId,
    });
    return ids;
  });
}

/** @returns the id that each name has for ever */
async function nameAttributes(
  tx: SqlTransaction,
  projectId: number,
  { names, nextId }: { names: readonly string[]; nextId: number },
): Promise<{ ids: ReadonlyMap<string, number>; nextId: number }> {
  const ids = new Map(await findAttributeIds(tx, projectId, names));
  const missing = [...new Set(names)].filter((name) => !ids.has(name));
  missing.forEach((name, at) => {
    ids.set(name, nextId + at);
  });
  await saveAttributeIds(
    tx,
    projectId,
    missing.map((name) => [name, ids.get(name) as number]),
  );
  return { ids, nextId: nextId + missing.length };
}

async function findAttributeIds(
  tx: SqlTransaction,
  projectId: number,
  names: readonly string[],
): Promise<[string, number][]> {
  const rows = await tx.rows<{ name: string; id: number }>(
    'select name, id from attribute_id where project_id = $1 and name = any($2)',
    [projectId, names],
  );
  return rows.map(({ name, id }) => [name, id]);
}

async function saveAttributeIds(
  tx: SqlTransaction,
  projectId: number,
  named: readonly (readonly [name: string, id: number])[],
): Promise<void> {
  if (named.length === 0) return;
  await tx.run(
    `insert into attribute_id (project_id, name, id) select $1, name, id from unnest($2::text[], $3::bigint[]) n (name, id)
     on conflict (project_id, name) do update set id = excluded.id`,
    [projectId, named.map(([name]) => name), named.map(([, id]) => id)],
  );
}

export async function insertAttributes(
  tx: SqlTransaction,
  projectId: number,
  attributes: readonly Attribute[],
): Promise<void> {
  if (attributes.length === 0) return;
  await tx.run(
    `insert into attribute (project_id, id, name, type, unit_name, decimal, synonyms)
     select $1, a.* from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) a`,
    [
      projectId,
      attributes.map(({ id }) => id),
      attributes.map(({ name }) => name),
      attributes.map(({ type }) => type),
      attributes.map(({ unitName }) => unitName ?? null),
      attributes.map(({ decimal }) => decimal ?? null),
      attributes.map(({ synonyms }) => JSON.stringify(synonyms ?? [])),
    ],
  );
}

/** Takes the whole list; what is missing is removed. @returns whether anything differs @throws changed_meanwhile */
export function replaceOntology(
  writer: PostgresWriter,
  projectId: number,
  wanted: WantedOntology,
): Promise<{ ontology: Ontology; changed: boolean }> {
  return changeCatalog(writer, projectId, async ({ tx, row }) => {
    const present = await readPostgresOntology(tx, projectId);
    refuseOtherState(wanted.expected, markOfOntology(present));
    const known = await findAttributeIds(
      tx,
      projectId,
      wanted.attributes.map(({ name }) => name),
    );
    const plan = identifyAttributes(present.attributes, wanted.attributes, {
      known: new Map(known),
      nextId: row.nextAttributeId,
    });
    if (isSameOntology(present, { mode: wanted.mode, attributes: plan.attributes }))
      return { ontology: present, changed: false };
    await tx.run('delete from attribute_id where project_id = $1 and name = any($2)', [
      projectId,
      plan.forgotten,
    ]);
    await saveAttributeIds(tx, projectId, plan.named);
    await tx.run('delete from attribute where project_id = $1', [projectId]);
    await insertAttributes(tx, projectId, plan.attributes);
    await updateCatalog(tx, projectId, {
      ontologyMode: wanted.mode,
      ontologyRevision: present.revision + 1,
      nextAttributeId: plan.nextId,
      catalogVersion: row.catalogVersion + 1,
    });
    return { ontology: await readPostgresOntology(tx, projectId), changed: true };
  });
}

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
