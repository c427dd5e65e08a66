import type { StatementSync } from 'node:sqlite';
import type { Derivation, PlacedDocument } from '../../../catalog/catalog.ts';
import type { CatalogFile } from '../../../storage/sqlite/sqlite.ts';
import { ask } from '../../../storage/storage.ts';
import {
  COMPARED_COLUMNS,
  type GroupedDocument,
  listMembers,
  type MemberRow,
  packMemberships,
  placeMembers,
  splitDerived,
} from '../../memberships/memberships.ts';
import { type ExtendIndex, findMemberships, type OpenedBuilds, openBuilds } from '../membership-store.ts';

/** The join index in the catalog's file, written beside the documents that it is derived from. */

const KEY = 'build_id, side, match_key, rank, product_id, document_id';

/** What the catalog's threads derive for relations. */
export function relationDerivation(): Derivation {
  const opened = new WeakMap<CatalogFile, OpenedBuilds>();

  return {
    open(file) {
      const builds = file.perform(openBuilds(opened.get(file)));
      opened.set(file, builds);
      return builds.derive;
    },
    place(file, { documents: placed, columns }) {
      const documents: GroupedDocument[] = [];
      for (const { row, id, productId, derived } of placed) {
        const { group, packed } = splitDerived(derived);
        writeDocument(file, { id, productId }, { group, packed });
        documents[row] = { id, productId, group };
      }
      if (columns !== undefined) writeMembers(file, placeMembers(columns, documents));
    },
    remove: removeMemberships,
  };
}

/** @returns how programs extend the join index of a file */
export const extendIn =
  (file: CatalogFile): ExtendIndex =>
  (extended) =>
    ask(() => {
      for (const { document, placed } of extended) {
        const packed = packMemberships(placed.memberships);
        writeDocument(file, document, { group: placed.group, packed });
      }
      writeMembers(file, listMembers(extended.map((one) => ({ ...one.document, ...one.added }))));
    });

/** `or replace` would copy a page of 16 KiB for each row, to be able to take the row back: 8 in place of 2 µs. */
function writeDocument(
  file: CatalogFile,
  { id, productId }: PlacedDocument,
  { group, packed }: { readonly group: string; readonly packed: string },
): void {
  file
    .prepare(
      `insert into relation_document (document_id, product_id, group_identifier, memberships) values (?, ?, ?, ?)
       on conflict (document_id) do update set memberships = excluded.memberships`,
    )
    .run(id, productId, group, packed);
}

function writeMembers(file: CatalogFile, members: Iterable<MemberRow>): void {
  const inserts: StatementSync[] = [];
  for (const { build, side, key, rank, productId, document, group, compared } of members) {
    inserts[compared.length] ??= prepareInsert(file, compared.length);
    inserts[compared.length]?.run(build, side, key, rank, productId, document, group, ...compared);
  }
}

/** Each value that is bound costs, and most rows have none to compare. */
function prepareInsert(file: CatalogFile, compared: number): StatementSync {
  const columns = [KEY, 'group_identifier', ...COMPARED_COLUMNS.slice(0, compared)];
  const values = `?, ?, ?, ?, ?, ?, ?${', ?'.repeat(compared)}`;
  return file.prepare(`insert into relation_member (${columns.join(', ')}) values (${values})`);
}

function removeMemberships(file: CatalogFile, documents: readonly number[]): void {
  const dropMember = file.prepare(
    `delete from relation_member where build_id = ? and side = ? and match_key = ? and rank = ? and product_id = ?
       and document_id = ?`,
  );
  const dropDocument = file.prepare('delete from relation_document where document_id = ?');
  const found = [...file.perform(findMemberships(documents)).values()];
  for (const { build, side, key, rank, productId, document } of listMembers(found)) {
    dropMember.run(build, side, key, rank, productId, document);
  }
  for (const { id } of found) dropDocument.run(id);
}
