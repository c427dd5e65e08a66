import { type Derivation, type PlacedDocument, readMeta } from '../catalog/catalog.ts';
import type { CatalogFile } from '../storage/storage.ts';
import { UNMATCHED_KEY } from './member-key.ts';
import {
  type BuildRule,
  type Membership,
  Memberships,
  packMemberships,
  unpackMemberships,
} from './membership.ts';
import { COMPARISONS_PER_RULE } from './rule.ts';

/** The join index in the catalog's file, written beside the documents that it is derived from. */

const COLUMNS = Array.from({ length: COMPARISONS_PER_RULE }, (_, at) => `c${at + 1}`);
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
  const opened = new WeakMap<CatalogFile, { builds: string; memberships: Memberships; isIdle: boolean }>();

  return {
    open(file) {
      const revision = Number(readMeta(file, 'derivation_revision'));
      // By number and not by revision: a build that nothing needs any more raises none, and is derived no longer.
      const builds = listBuildNumbers(file);
      let known = opened.get(file);
      if (known?.builds !== builds) {
        known = { builds, memberships: new Memberships(listBuilds(file)), isIdle: builds === '' };
        opened.set(file, known);
      }
      const { memberships, isIdle } = known;
      return {
        revision,
        derive(product) {
          const found = isIdle ? [] : memberships.of(product);
          return found.length === 0
            ? ''
            : `${JSON.stringify(product.groupIdentifier)}\n${packMemberships(found)}`;
        },
      };
    },
    place(file, document, derived) {
      // Two lines of JSON: the group, and the memberships as they are kept.
      const end = derived.indexOf('\n');
      const packed = derived.slice(end + 1);
      const group = JSON.parse(derived.slice(0, end)) as string;
      placeMemberships(file, document, { group, memberships: unpackMemberships(packed), packed });
    },
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
export function withTriedTables<Result>(
  file: CatalogFile,
  work: (tables: MembershipTables) => Result,
): Result {
  file.database.exec(`
    create temp table tried_member (build_id integer not null, side integer not null, match_key blob not null,
      rank blob not null, product_id integer not null, document_id integer not null, group_identifier text not null,
      ${COLUMNS.join(', ')},
      primary key (${KEY})) without rowid;
    create index temp.tried_member_compared on tried_member (build_id, side, match_key, c1) where c1 is not null;
    create temp table tried_document (document_id integer primary key, product_id integer not null,
      group_identifier text not null, memberships text not null);
    create index temp.tried_document_group on tried_document (group_identifier)`);
  try {
    return work(TRIED_TABLES);
  } finally {
    file.database.exec('drop table temp.tried_member; drop table temp.tried_document');
  }
}

export interface PlacedMemberships {
  readonly group: string;
  readonly memberships: readonly Membership[];
  /** The memberships as they are kept, where they are at hand. */
  readonly packed?: string;
}

export function placeMemberships(
  file: CatalogFile,
  { id, productId }: PlacedDocument,
  { group, memberships, packed, tables = KEPT_TABLES }: PlacedMemberships & { tables?: MembershipTables },
): void {
  file
    .prepare(
      `insert or replace into ${tables.document} (document_id, product_id, group_identifier, memberships)
       values (?, ?, ?, ?)`,
    )
    .run(id, productId, group, packed ?? packMemberships(memberships));
  for (const membership of memberships)
    insertMember(file, { id, productId, group, table: tables.member }, membership);
}

function insertMember(
  file: CatalogFile,
  { id, productId, group, table }: PlacedDocument & { group: string; table: string },
  { build, side, rank, compared, keys }: Membership,
): void {
  const insert = file.prepare(
    `insert or ignore into ${table} (${KEY}, group_identifier, ${COLUMNS.join(', ')})
     values (?, ?, ?, ?, ?, ?, ?${', ?'.repeat(COLUMNS.length)})`,
  );
  const values = COLUMNS.map((_, at) => compared[at] ?? null);
  for (const key of keysOf(keys)) {
    insert.run(build, sideNumber(side), key, Buffer.from(rank, 'base64'), productId, id, group, ...values);
  }
}

export const sideNumber = (side: Membership['side']) => (side === 'source' ? 0 : 1);

const keysOf = (keys: readonly string[]) =>
  keys.length === 0 ? [UNMATCHED_KEY] : keys.map((key) => Buffer.from(key, 'base64'));

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
  for (const document of documents) {
    const found = findMemberships(file, document);
    if (found === undefined) continue;
    for (const { build, side, rank, keys } of found.memberships) {
      for (const key of keysOf(keys)) {
        drop.run(build, sideNumber(side), key, Buffer.from(rank, 'base64'), found.productId, document);
      }
    }
    file.prepare('delete from relation_document where document_id = ?').run(document);
  }
}
