import type { StatementSync } from 'node:sqlite';
import type { Derivation, PlacedDocument } from '../../../catalog/catalog.ts';
import { ask, type CatalogFile } from '../../../storage/storage.ts';
import {
  COMPARED_COLUMNS,
  listMembers,
  type MemberRow,
  type PlacedMemberships,
  type PlacedRow,
  packMemberships,
  unpackDerived,
} from '../../memberships/memberships.ts';
import { findMemberships, type JoinIndex, type OpenedBuilds, openBuilds } from '../membership-store.ts';

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
    place: (file, placed) =>
      placeMemberships(
        file,
        placed.map(({ id, productId, derived }) => ({ id, productId, ...unpackDerived(derived) })),
        KEPT_TABLES,
      ),
    remove: removeMemberships,
  };
}

/** The tables of memberships: those of the catalog, or those of a preview. */
export interface MembershipTables {
  readonly member: string;
  readonly document: string;
  /** The index of `member` by the first comparison. */
  readonly compared: string;
}

export const KEPT_TABLES: MembershipTables = {
  member: 'relation_member',
  document: 'relation_document',
  compared: 'relation_member_compared',
};

/** Temporary tables of the connection. */
const TRIED_TABLES: MembershipTables = {
  member: 'temp.tried_member',
  document: 'temp.tried_document',
  compared: 'tried_member_compared',
};

/** Creates empty tables for a preview, and drops them after it. */
export async function withTriedTables<Result>(
  file: CatalogFile,
  work: (tables: MembershipTables) => Promise<Result>,
): Promise<Result> {
  file.database.exec(`
    create temp table tried_member (build_id integer not null, side integer not null, match_key blob not null,
      rank blob not null, product_id integer not null, document_id integer not null, group_identifier text not null,
      ${COMPARED_COLUMNS.join(', ')},
      primary key (${KEY})) without rowid;
    create index temp.tried_member_compared on tried_member (build_id, side, match_key, c1) where c1 is not null;
    create temp table tried_document (document_id integer primary key, product_id integer not null,
      group_identifier text not null, memberships text not null);
    create index temp.tried_document_group on tried_document (group_identifier)`);
  try {
    return await work(TRIED_TABLES);
  } finally {
    file.database.exec('drop table temp.tried_member; drop table temp.tried_document');
  }
}

/** Writes the rows of documents that have none. */
export function placeMemberships(
  file: CatalogFile,
  placed: readonly PlacedRow[],
  tables: MembershipTables,
): void {
  for (const one of placed) writeDocument(file, one, { placed: one, table: tables.document });
  writeMembers(file, listMembers(placed), tables.member);
}

/** The join index for programs. */
export const indexIn = (file: CatalogFile): JoinIndex => ({
  place: (placed) => ask(() => placeMemberships(file, placed, KEPT_TABLES)),
  extend: (extended) =>
    ask(() => {
      for (const { document, placed } of extended) {
        writeDocument(file, document, { placed, table: KEPT_TABLES.document });
      }
      const added = extended.map((one) => ({ ...one.document, ...one.added }));
      writeMembers(file, listMembers(added), KEPT_TABLES.member);
    }),
  remove: (documents) => ask(() => removeMemberships(file, documents)),
});

/** `or replace` would copy a page of 16 KiB for each row, to be able to take the row back: 8 in place of 2 µs. */
function writeDocument(
  file: CatalogFile,
  { id, productId }: PlacedDocument,
  { placed, table }: { placed: PlacedMemberships; table: string },
): void {
  const { group, memberships, packed = packMemberships(memberships) } = placed;
  file
    .prepare(
      `insert into ${table} (document_id, product_id, group_identifier, memberships) values (?, ?, ?, ?)
       on conflict (document_id) do update set memberships = excluded.memberships`,
    )
    .run(id, productId, group, packed);
}

function writeMembers(file: CatalogFile, members: readonly MemberRow[], table: string): void {
  const inserts: StatementSync[] = [];
  for (const { build, side, key, rank, productId, document, group, compared } of members) {
    inserts[compared.length] ??= prepareInsert(file, table, compared.length);
    inserts[compared.length]?.run(build, side, key, rank, productId, document, group, ...compared);
  }
}

/** Each value that is bound costs, and most rows have none to compare. */
function prepareInsert(file: CatalogFile, table: string, compared: number): StatementSync {
  const columns = [KEY, 'group_identifier', ...COMPARED_COLUMNS.slice(0, compared)];
  const values = `?, ?, ?, ?, ?, ?, ?${', ?'.repeat(compared)}`;
  return file.prepare(`insert into ${table} (${columns.join(', ')}) values (${values})`);
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
