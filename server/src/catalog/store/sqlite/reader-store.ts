import { createPayloadFiles } from '../../../storage/payloads/payloads.ts';
import type { CatalogFile, CatalogFiles } from '../../../storage/sqlite/sqlite.ts';
import type { Derivation } from '../../derivation.ts';
import type { CatalogSnapshot, CatalogSnapshots, PresentProduct } from '../../port.ts';
import { createSnapshotReads } from '../operations.ts';
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

/** @throws catalog_damaged for a product whose document is gone */
function hasDocument<Found extends { raw: unknown }>(
  file: CatalogFile,
  found: Found | undefined,
): found is Found & { raw: NonNullable<Found['raw']> } {
  if (found?.raw === null) throw file.refuseDamaged();
  return found !== undefined;
}

const HASH_DIGITS = 32;

/** One row of lists: a row for each product takes five times as long. */
function findPresent(
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

/** Read for each path of each product that an answer is made of: a program costs more than the read. */
export function findCategoryId(file: CatalogFile, path: string): number | undefined {
  return file.prepare('select id from category where path = ?').get(path)?.id as number | undefined;
}

/** Catalogs as the parsing threads read them. */
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
  };
}
