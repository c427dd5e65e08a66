import type { BatchDerivation } from '../../../catalog/catalog.ts';
import { BoundedMap } from '../../../kernel/bounded-map.ts';
import { CopyRows, copyInto, type SqlTransaction } from '../../../storage/postgres/postgres.ts';
import { ask, performOn } from '../../../storage/programs/programs.ts';
import {
  COMPARED_COLUMNS,
  type GroupedDocument,
  listMembers,
  type MemberRow,
  packMemberships,
  placeMembers,
  splitDerived,
  UNMATCHED_KEY,
} from '../../memberships/memberships.ts';
import { type ExtendIndex, type OpenedBuilds, openBuilds } from '../build-store.ts';

/** The join index in PostgreSQL, which is written beside the documents that it is derived from. */

/** For how many projects compiled rules are cached. */
const CACHED_PROJECTS = 64;

/** The derivation that the catalog's threads run for relations. */
export function relationBatchDerivation(): BatchDerivation {
  const opened = new BoundedMap<number, OpenedBuilds>({ most: CACHED_PROJECTS });

  return {
    async open(session, projectId) {
      const builds = await performOn(session, projectId, openBuilds(opened.get(projectId)));
      opened.set(projectId, builds);
      return builds.derive;
    },
    async place(tx, projectId, { documents: placed, columns }) {
      const documents: PackedDocument[] = [];
      for (const { row, id, productId, derived } of placed)
        documents[row] = { id, productId, ...splitDerived(derived) };
      await copyDocuments(tx, projectId, Object.values(documents));
      if (columns !== undefined) await copyMembers(tx, projectId, placeMembers(columns, documents));
    },
    remove: removeMemberships,
  };
}

/** A document with its stored memberships. */
interface PackedDocument extends GroupedDocument {
  readonly packed: string;
}

/** @returns a function with which programs extend the join index of a project */
export const extendIn =
  (tx: SqlTransaction, projectId: number): ExtendIndex =>
  (extended) =>
    ask(async () => {
      const placed = extended.map((row) => ({
        ...row,
        packed: packMemberships(row.memberships),
      }));
      await tx.run('delete from relation_document where project_id = $1 and document_id = any($2)', [
        projectId,
        placed.map(({ id }) => id),
      ]);
      await copyDocuments(tx, projectId, placed);
      const added = extended.map((row) => ({ ...row, memberships: row.added }));
      await copyMembers(tx, projectId, listMembers(added));
    });

const DOCUMENT_COLUMNS = ['project_id', 'document_id', 'product_id', 'group_identifier', 'memberships'];

async function copyDocuments(tx: SqlTransaction, projectId: number, placed: readonly PackedDocument[]) {
  if (placed.length === 0) return;
  const rows = new CopyRows(DOCUMENT_COLUMNS.length);
  for (const { id, productId, group, packed } of placed)
    rows.begin().integer(projectId).integer(id).integer(productId).text(group).text(packed);
  await tx.copyIn(copyInto('relation_document', DOCUMENT_COLUMNS), rows.finish());
}

const MEMBER_COLUMNS = [
  ...['project_id', 'build_id', 'side', 'match_key', 'rank', 'product_id', 'document_id', 'group_identifier'],
  ...COMPARED_COLUMNS,
];

async function copyMembers(tx: SqlTransaction, projectId: number, members: Iterable<MemberRow>) {
  const rows = new CopyRows(MEMBER_COLUMNS.length);
  for (const { build, side, key, rank, productId, document, group, compared } of members) {
    rows.begin().integer(projectId).integer(build).integer(side).bytes(key).bytes(rank);
    rows.integer(productId).integer(document).text(group);
    for (const column of COMPARED_COLUMNS.keys()) rows.bytes(compared[column] ?? null);
  }
  await tx.copyIn(copyInto('relation_member', MEMBER_COLUMNS), rows.finish());
}

/**
 * Finds the index rows by the keys in the stored memberships, under conditions that keep the planner's
 * estimate small. Deletes the rows by their address, so that no plan walks the index of a whole project. The
 * project's only writer holds its lock, so no address changes in between.
 */
async function removeMemberships(tx: SqlTransaction, projectId: number, documents: readonly number[]) {
  await tx.run(
    `delete from relation_member where project_id = $1 and ctid = any(array(
       select m.ctid
       from unnest($2::bigint[]) w (document)
       cross join lateral (select * from relation_document d
         where d.project_id = $1 and d.document_id = w.document offset 0) d
       cross join lateral json_array_elements(d.memberships::json) e
       cross join lateral json_array_elements(
         case json_array_length(e->4) when 0 then '["${UNMATCHED_KEY.toString('base64')}"]' else e->4 end) k
       cross join lateral (select m.ctid from relation_member m
         where m.project_id = $1 and m.build_id = (e->>0)::bigint and m.side = (e->>1)::bigint
           and m.match_key = decode(k #>> '{}', 'base64') and m.rank = decode(e->>2, 'base64')
           and m.product_id = d.product_id and m.document_id = d.document_id offset 0) m
       where json_typeof(e) = 'array' and json_typeof(k) = 'string'))`,
    [projectId, documents],
  );
  await tx.run('delete from relation_document where project_id = $1 and document_id = any($2)', [
    projectId,
    documents,
  ]);
}
