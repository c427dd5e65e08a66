import { type Derivation, type PlacedDocument, readMeta } from '../../../catalog/catalog.ts';
import type { CatalogFile } from '../../../storage/storage.ts';
import type { ExtendedDocument } from '../../memberships/memberships.ts';
import {
  type BuildRule,
  COMPARED_COLUMNS,
  listMembers,
  type MemberRow,
  Memberships,
  type PlacedMemberships,
  packDerived,
  packMemberships,
  unpackDerived,
  unpackMemberships,
} from '../../memberships/memberships.ts';

/** The join index in the catalog's file, written beside the documents that it is derived from. */

const KEY = 'build_id, side, match_key, rank, product_id, document_id';

const LIVE_BUILDS = `from relation_build b join relation r on r.id = b.relation_id
  where b.id = r.active_build or b.id = r.wanted_build`;

function listBuildNumbers(file: CatalogFile): string {
  const found = file.prepare(`select group_concat(b.id order by b.id) as numbers ${LIVE_BUILDS}`).get();
  return String(found?.numbers ?? '');
}

/** The rules whose index is there or is being made: what is written now must be in both. */
export function listBuilds(file: CatalogFile): BuildRule[] {
  return file
    .prepare(`select b.id as build, b.rule ${LIVE_BUILDS} order by b.id`)
    .all()
    .map(({ build, rule }) => ({ build: Number(build), bound: JSON.parse(String(rule)) }));
}

/** What the catalog's threads know of relations. */
export function relationDerivation(): Derivation {
  const opened = new WeakMap<CatalogFile, { builds: string; memberships: Memberships }>();

  return {
    open(file) {
      const revision = Number(readMeta(file, 'derivation_revision'));
      // By number and not by revision: a build that nothing needs any more raises none, and is derived no longer.
      const builds = listBuildNumbers(file);
      let known = opened.get(file);
      if (known?.builds !== builds) {
        known = { builds, memberships: new Memberships(listBuilds(file)) };
        opened.set(file, known);
      }
      const { memberships } = known;
      return {
        revision,
        derive: (product) => packDerived(product.groupIdentifier, memberships.of(product)),
      };
    },
    place: (file, document, derived) => placeMemberships(file, document, unpackDerived(derived)),
    copy(file, from, to) {
      const found = findMemberships(file, from);
      if (found !== undefined) placeMemberships(file, to, found);
    },
    move(file, document) {
      const found = findMemberships(file, document.id);
      if (found === undefined) return;
      removeMemberships(file, [document.id]);
      placeMemberships(file, document, found);
    },
    remove: removeMemberships,
  };
}

/** Where memberships lie: those of the catalog, or those of a rule that is only tried. */
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

/** In the connection's own database: no other sees them, and nothing of them outlives it. */
const TRIED_TABLES: MembershipTables = {
  member: 'temp.tried_member',
  document: 'temp.tried_document',
  compared: 'tried_member_compared',
};

/** Lends empty tables for a rule that is tried. */
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

/** Writes the rows of a document that has none. */
export function placeMemberships(
  file: CatalogFile,
  document: PlacedDocument,
  { tables = KEPT_TABLES, ...placed }: PlacedMemberships & { readonly tables?: MembershipTables },
): void {
  writeDocument(file, document, { placed, table: tables.document });
  writeMembers(file, listMembers(document, placed), tables.member);
}

/** Adds to a document memberships that it does not have yet. */
export function extendMemberships(file: CatalogFile, { document, placed, added }: ExtendedDocument): void {
  writeDocument(file, document, { placed, table: KEPT_TABLES.document });
  writeMembers(file, listMembers(document, added), KEPT_TABLES.member);
}

function writeDocument(
  file: CatalogFile,
  { id, productId }: PlacedDocument,
  { placed, table }: { placed: PlacedMemberships; table: string },
): void {
  const { group, memberships, packed = packMemberships(memberships) } = placed;
  file
    .prepare(
      `insert or replace into ${table} (document_id, product_id, group_identifier, memberships)
       values (?, ?, ?, ?)`,
    )
    .run(id, productId, group, packed);
}

function writeMembers(file: CatalogFile, members: readonly MemberRow[], table: string): void {
  const insert = file.prepare(
    `insert into ${table} (${KEY}, group_identifier, ${COMPARED_COLUMNS.join(', ')})
     values (?, ?, ?, ?, ?, ?, ?${', ?'.repeat(COMPARED_COLUMNS.length)})`,
  );
  for (const { build, side, key, rank, productId, document, group, compared } of members) {
    insert.run(build, side, key, rank, productId, document, group, ...compared);
  }
}

export function findMemberships(
  file: CatalogFile,
  document: number,
): (PlacedMemberships & { readonly productId: number }) | undefined {
  const row = file
    .prepare(
      `select product_id as productId, group_identifier as groupIdentifier, memberships from relation_document
       where document_id = ?`,
    )
    .get(document) as { productId: number; groupIdentifier: string; memberships: string } | undefined;
  if (row === undefined) return undefined;
  const { productId, groupIdentifier: group, memberships } = row;
  return { productId, group, memberships: unpackMemberships(memberships) };
}

function removeMemberships(file: CatalogFile, documents: readonly number[]): void {
  const drop = file.prepare(
    `delete from relation_member where build_id = ? and side = ? and match_key = ? and rank = ? and product_id = ?
       and document_id = ?`,
  );
  for (const id of documents) {
    const found = findMemberships(file, id);
    if (found === undefined) continue;
    for (const { build, side, key, rank, productId } of listMembers(
      { id, productId: found.productId },
      found,
    )) {
      drop.run(build, side, key, rank, productId, id);
    }
    file.prepare('delete from relation_document where document_id = ?').run(id);
  }
}
