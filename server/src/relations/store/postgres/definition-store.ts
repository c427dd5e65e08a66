import {
  type CatalogRow,
  lockCatalog,
  readPostgresOntology,
  updateCatalog,
} from '../../../catalog/catalog.ts';
import {
  type Postgres,
  refuseOtherState,
  type SqlSession,
  type SqlTransaction,
} from '../../../storage/storage.ts';
import { markOfRelation, type Relation } from '../../definitions/definitions.ts';
import {
  type Binding,
  type BuildOrder,
  type BuildPage,
  type DerivedDocument,
  derivePage,
  describePage,
  isUnbuilt,
  Memberships,
  NOTHING_TO_BUILD,
  planBinding,
  planExtension,
  type RelationRow,
  toRelation,
  type WalkedDocument,
  type WantedBuild,
} from '../../memberships/memberships.ts';
import type { RemovedRelation, SavedRelation } from '../../port.ts';
import type { ListedRelations } from '../threaded-relations.ts';
import { extendMemberships, findMemberships, findUnusedBuild, listBuilds } from './membership-store.ts';

/** Definitions and their builds in PostgreSQL; each exported function that writes is one transaction. */

const SELECT = `select id, definition, problem, active_build as active, wanted_build as wanted,
  created_at as "createdAt", updated_at as "updatedAt" from relation where project_id = $1`;

export async function listRelations(session: SqlSession, projectId: number): Promise<Relation[]> {
  return (await listRows(session, projectId)).map(toRelation);
}

const listRows = (session: SqlSession, projectId: number) =>
  session.rows<RelationRow>(`${SELECT} order by id`, [projectId]);

/** One statement: the relations are of the version that comes with them. */
export async function readListed(session: SqlSession, projectId: number): Promise<ListedRelations> {
  const rows = await session.rows<{ version: number | null } & RelationRow>(
    `select (select catalog_version from catalog where project_id = $1) as version, r.*
     from (select 1) one left join lateral (${SELECT}) r on true order by r.id`,
    [projectId],
  );
  const relations = rows.filter(({ id }) => id !== null).map(toRelation);
  return { version: rows[0]?.version ?? 0, relations };
}

export async function findRelation(
  session: SqlSession,
  projectId: number,
  id: number,
): Promise<Relation | undefined> {
  const row = await findRow(session, projectId, id);
  return row && toRelation(row);
}

async function findRow(session: SqlSession, projectId: number, id: number): Promise<RelationRow | undefined> {
  const [row] = await session.rows<RelationRow>(`${SELECT} and id = $2`, [projectId, id]);
  return row;
}

/** Relations that want another index than the one that answers. */
export async function listUnbuilt(session: SqlSession, projectId: number): Promise<number[]> {
  return (await listRows(session, projectId)).filter(isUnbuilt).map(({ id }) => id);
}

/** A catalog that nobody else writes to, and its row as it is to be. */
interface Change {
  readonly tx: SqlTransaction;
  readonly projectId: number;
  readonly row: { -readonly [Name in keyof CatalogRow]: CatalogRow[Name] };
}

function changeCatalog<Result>(
  postgres: Postgres,
  projectId: number,
  work: (change: Change) => Promise<Result>,
): Promise<Result> {
  return postgres.transaction(async (tx) => {
    const before = await lockCatalog(tx, projectId);
    const row = { ...before };
    const result = await work({ tx, projectId, row });
    const changes = Object.entries(row).filter(([name, value]) => before[name as keyof CatalogRow] !== value);
    if (changes.length > 0) await updateCatalog(tx, projectId, Object.fromEntries(changes));
    return result;
  });
}

/** Creates a relation, or replaces one. @returns undefined when the one to be replaced is not there */
export function saveRelation(
  postgres: Postgres,
  projectId: number,
  { id, expected, definition, at }: SavedRelation,
): Promise<Relation | undefined> {
  return changeCatalog(postgres, projectId, async (change) => {
    const { tx, row } = change;
    const known = id ?? row.nextRelationId;
    const text = JSON.stringify(definition);
    if (id === undefined) {
      row.nextRelationId += 1;
      await tx.run(
        `insert into relation (project_id, id, definition, created_at, updated_at) values ($1, $2, $3, $4, $4)`,
        [projectId, known, text, at],
      );
    } else {
      const present = await findRelation(tx, projectId, id);
      if (present === undefined) return undefined;
      refuseOtherState(expected, markOfRelation(present));
      await tx.run('update relation set definition = $3, updated_at = $4 where project_id = $1 and id = $2', [
        projectId,
        id,
        text,
        at,
      ]);
    }
    await bindRelation(change, known);
    row.catalogVersion += 1;
    return findRelation(tx, projectId, known);
  });
}

/** @returns whether it was there */
export function deleteRelation(
  postgres: Postgres,
  projectId: number,
  { id, expected }: RemovedRelation,
): Promise<boolean> {
  return changeCatalog(postgres, projectId, async ({ tx, row }) => {
    const present = await findRelation(tx, projectId, id);
    if (present === undefined) return false;
    refuseOtherState(expected, markOfRelation(present));
    await tx.run('delete from relation where project_id = $1 and id = $2', [projectId, id]);
    row.catalogVersion += 1;
    return true;
  });
}

/** Follows the ontology as it is. @returns relations whose index must be made */
export async function bindRelations(postgres: Postgres, projectId: number): Promise<number[]> {
  if ((await listRows(postgres, projectId)).length === 0) return [];
  return changeCatalog(postgres, projectId, async (change) => {
    const unbuilt: number[] = [];
    for (const { id } of await listRows(change.tx, projectId)) {
      if (await bindRelation(change, id)) unbuilt.push(id);
    }
    return unbuilt;
  });
}

/** @returns whether the relation's index must be made */
async function bindRelation(change: Change, id: number): Promise<boolean> {
  const { tx, projectId } = change;
  const row = await findRow(tx, projectId, id);
  if (row === undefined) return false;
  const builds = await tx.rows<{ id: number; rule: string }>(
    'select id, rule from relation_build where project_id = $1 and id in ($2, $3) order by id',
    [projectId, row.active, row.wanted],
  );
  const binding = planBinding(row, (await readPostgresOntology(tx, projectId)).attributes, builds);
  switch (binding.kind) {
    case 'same':
      return false;
    case 'problem':
      await tx.run(
        `update relation set problem = $3, active_build = null, wanted_build = null
         where project_id = $1 and id = $2`,
        [projectId, id, binding.problem],
      );
      change.row.catalogVersion += 1;
      return false;
    case 'build':
      return bindToBuild(change, row, binding);
  }
}

async function bindToBuild(
  change: Change,
  { id, active }: RelationRow,
  { build, rule, twoWay, excludeSameGroup }: Extract<Binding, { kind: 'build' }>,
): Promise<boolean> {
  const { tx, projectId } = change;
  const wanted = build ?? (await insertBuild(change, id, rule));
  await tx.run(
    'update relation_build set two_way = $3, exclude_same_group = $4 where project_id = $1 and id = $2',
    [projectId, wanted, twoWay, excludeSameGroup],
  );
  await tx.run('update relation set problem = null, wanted_build = $3 where project_id = $1 and id = $2', [
    projectId,
    id,
    wanted,
  ]);
  return isUnbuilt({ active, wanted });
}

/**
 * From now on what is written has rows for it, because what was derived before must be derived anew; older documents
 * are walked by `buildPage`.
 */
async function insertBuild(
  { tx, projectId, row }: Change,
  relationId: number,
  rule: string,
): Promise<number> {
  const build = row.nextBuildId;
  row.nextBuildId += 1;
  row.derivationRevision += 1;
  row.catalogVersion += 1;
  await tx.run(
    `insert into relation_build (project_id, id, relation_id, rule, two_way, exclude_same_group, last_document)
     values ($1, $2, $3, $4, 0, 0, $5)`,
    [projectId, build, relationId, rule, row.nextDocumentId - 1],
  );
  return build;
}

/** Walks a part of the older documents of a relation's wanted build; the last part makes it the one that answers. */
export function buildPage(postgres: Postgres, projectId: number, order: BuildOrder): Promise<BuildPage> {
  const { relationId, after, limit } = order;
  return changeCatalog(postgres, projectId, async ({ tx, row }) => {
    const found = await findWantedBuild(tx, projectId, relationId);
    if (found === undefined || !isUnbuilt(found)) return NOTHING_TO_BUILD;
    const { wanted: build, rule, last } = found;
    const from = after.build === build ? after.document : 0;
    const page = await listDocuments(tx, projectId, { from, last, limit });
    const derived = derivePage(page, new Memberships([{ build, bound: JSON.parse(rule) }]));
    if (derived.length > 0) await extendDocuments(tx, projectId, derived);
    const { isComplete, ...described } = describePage({ build, last, limit, page });
    if (isComplete) {
      await tx.run('update relation set active_build = $3 where project_id = $1 and id = $2', [
        projectId,
        relationId,
        build,
      ]);
      row.catalogVersion += 1;
    }
    return described;
  });
}

async function findWantedBuild(
  tx: SqlTransaction,
  projectId: number,
  relationId: number,
): Promise<WantedBuild | undefined> {
  const [wanted] = await tx.rows<WantedBuild>(
    `select r.active_build as active, b.id as wanted, b.rule, b.last_document as last
     from relation r join relation_build b on b.project_id = r.project_id and b.id = r.wanted_build
     where r.project_id = $1 and r.id = $2`,
    [projectId, relationId],
  );
  return wanted;
}

const listDocuments = (
  tx: SqlTransaction,
  projectId: number,
  { from, last, limit }: { from: number; last: number; limit: number },
) =>
  tx.rows<WalkedDocument>(
    `select id, product_id as "productId", raw from document
     where project_id = $1 and id > $2 and id <= $3 order by id limit $4`,
    [projectId, from, last, limit],
  );

async function extendDocuments(
  tx: SqlTransaction,
  projectId: number,
  derived: readonly DerivedDocument[],
): Promise<void> {
  const ids = derived.map(({ document }) => document.id);
  const kept = await findMemberships(tx, projectId, ids);
  const live = new Set((await listBuilds(tx, projectId)).map(({ build }) => build));
  const extended = planExtension(derived, live, (id) => kept.get(id)?.memberships ?? []);
  if (extended.length > 0) await extendMemberships(tx, projectId, extended);
}

const STEP = 5_000;

/** Removes a part of the rows of builds that no relation has any more. @returns whether there may be more */
export async function dropBuilds(postgres: Postgres, projectId: number): Promise<boolean> {
  if ((await findUnusedBuild(postgres, projectId)) === undefined) return false;
  return changeCatalog(postgres, projectId, async ({ tx }) => {
    const over = await findUnusedBuild(tx, projectId);
    if (over === undefined) return false;
    const changed = await tx.run(
      `delete from relation_member where project_id = $1 and ctid = any(array(
         select ctid from relation_member where project_id = $1 and build_id = $2 limit ${STEP}))`,
      [projectId, over],
    );
    if (changed < STEP)
      await tx.run('delete from relation_build where project_id = $1 and id = $2', [projectId, over]);
    return true;
  });
}
