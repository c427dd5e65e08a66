import { type CatalogFile, type CatalogFiles, createPayloadFiles } from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import type { StoredProduct } from '../../port.ts';
import type {
  CatalogSnapshot,
  CatalogSnapshots,
  OutdatedProduct,
  PatchedProduct,
  PresentProduct,
} from '../../snapshot.ts';
import { createSnapshotReads } from '../catalog-reads.ts';
import { readDerivationRevision } from '../state-store.ts';

/** Statements that only read a catalog file; used by the thread that serves and by those that parse. */

export function readMeta(file: CatalogFile, name: string): number | string | undefined {
  const row = file.prepare('select value from meta where name = ?').get(name);
  return row?.value as number | string | undefined;
}

/** Raised by every change that a reader can see. */
export function readCatalogVersion(file: CatalogFile): number {
  return Number(readMeta(file, 'catalog_version'));
}

/** What no commit leaves behind: a damaged file does, and such a product would look absent. */
export const PRODUCTS_WITHOUT_DOCUMENT = `select identifier as "without document" from product p
  where not exists (select 1 from document d where d.id = p.document_id) limit 10`;

/**
 * What the lookup serves of one product, `long` for an upload of more than `most` bytes. Relies on the unique index of identifier.
 * @throws catalog_damaged
 */
export function findServed(file: CatalogFile, identifier: string, most: number) {
  const found = file
    .prepare(
      `select p.id, p.updated_at as updatedAt, iif(length(d.raw) > ?, 'long', d.raw) as raw from product p
       left join document d on d.id = p.document_id where p.identifier = ?`,
    )
    .get(most, identifier) as { id: number; updatedAt: number; raw: Uint8Array | 'long' | null } | undefined;
  return hasDocument(file, found) ? found : undefined;
}

const STORED = `select p.id, p.identifier, p.updated_at as updatedAt, p.updated_by as updatedBy,
    cast(d.raw as text) as raw
  from product p left join document d on d.id = p.document_id`;

/** @throws catalog_damaged */
export function findStored(file: CatalogFile, identifier: string): StoredProduct | undefined {
  const found = file.prepare(`${STORED} where p.identifier = ?`).get(identifier) as StoredProduct | undefined;
  return hasDocument(file, found) ? found : undefined;
}

/** @throws catalog_damaged for a product whose document is gone */
function hasDocument<Found extends { raw: unknown }>(
  file: CatalogFile,
  found: Found | undefined,
): found is Found & { raw: NonNullable<Found['raw']> } {
  if (found?.raw === null) throw file.refuseDamaged();
  return found !== undefined;
}

export function listStored(file: CatalogFile, after: string, limit: number): StoredProduct[] {
  const statement = file.prepare(`${STORED} where p.identifier > ? order by p.identifier limit ?`);
  const found = statement.all(after, limit) as unknown as StoredProduct[];
  return found.filter((one) => hasDocument(file, one));
}

const PRESENT = 'p.id, lower(hex(p.hash)) as hash, p.document_id as document';
const HASH_DIGITS = 32;

/** One row of lists: a row for each product takes five times as long. */
export function findPresent(
  file: CatalogFile,
  identifiers: readonly string[],
): readonly (PresentProduct | undefined)[] {
  const found = file
    .prepare(
      `select json_group_array(w.key) as places, json_group_array(p.id) as ids,
         json_group_array(p.document_id) as documents, lower(group_concat(hex(p.hash), '')) as hashes
       from json_each(iif(exists (select 1 from product), ?, '[]')) w
         cross join product p on p.identifier = w.value`,
    )
    .get(JSON.stringify(identifiers)) as Record<'places' | 'ids' | 'documents' | 'hashes', string>;
  const [ids, documents] = [JSON.parse(found.ids) as number[], JSON.parse(found.documents) as number[]];
  const present: (PresentProduct | undefined)[] = new Array(identifiers.length).fill(undefined);
  for (const [at, place] of (JSON.parse(found.places) as number[]).entries()) {
    const hash = found.hashes.slice(at * HASH_DIGITS, (at + 1) * HASH_DIGITS);
    present[place] = { id: ids[at] as number, document: documents[at] as number, hash };
  }
  return present;
}

export function findPatched(file: CatalogFile, identifier: string): PatchedProduct | undefined {
  return file
    .prepare(
      `select ${PRESENT}, cast(d.raw as text) as raw
       from product p join document d on d.id = p.document_id where p.identifier = ?`,
    )
    .get(identifier) as PatchedProduct | undefined;
}

/** Asked for each path of each product that an answer is made of: a program costs more than the read. */
export function findCategoryId(file: CatalogFile, path: string): number | undefined {
  return file.prepare('select id from category where path = ?').get(path)?.id as number | undefined;
}

export function listOutdated(
  file: CatalogFile,
  wanted: { revision: number; after: number; limit: number },
): OutdatedProduct[] {
  return file
    .prepare(
      `select p.id, p.document_id as document, p.ontology_revision as revision, cast(d.raw as text) as raw
       from product p join document d on d.id = p.document_id
       where p.id > ? and p.ontology_revision < ? order by p.id limit ?`,
    )
    .all(wanted.after, wanted.revision, wanted.limit) as unknown as OutdatedProduct[];
}

/** Catalogs as the parsing threads read them: rows are read one by one when they are asked for, which costs nothing here. */
export function createSqliteSnapshots(parts: {
  files: CatalogFiles;
  payloads: string;
  derivation: Derivation;
}): CatalogSnapshots {
  const { files, payloads, derivation } = parts;
  return {
    readPayload: createPayloadFiles(payloads).read,
    read(projectId, work) {
      const file = files.open(projectId);
      return file.snapshot(() => work(snapshotOf(file, derivation)));
    },
  };
}

function snapshotOf(file: CatalogFile, derivation: Derivation): CatalogSnapshot {
  return {
    ...createSnapshotReads(async (program) => file.perform(program)),
    openDerivation: async () => ({
      revision: file.perform(readDerivationRevision()),
      derive: derivation.open(file),
    }),
    findPresent: async (identifiers) => findPresent(file, identifiers),
    findStored: async (identifier) => findStored(file, identifier),
    findPatched: async () => (identifier) => findPatched(file, identifier),
    listOutdated: async (wanted) => listOutdated(file, wanted),
  };
}
