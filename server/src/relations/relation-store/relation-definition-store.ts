import type { ChangedCatalog } from '../../catalog/store/store.ts';
import { announce } from '../../events/events.ts';
import { ServiceError } from '../../kernel/errors.ts';
import {
  byEngine,
  cell,
  column,
  insertRow,
  own,
  type Program,
  row,
  rows,
  run,
  sql,
} from '../../storage/programs/programs.ts';
import { type ExpectedStates, refuseOtherState } from '../../storage/storage.ts';
import { identifierOf, unpackLines } from '../links/links.ts';
import type { BuildRule, ServedRelation } from '../memberships/memberships.ts';
import {
  isIndexed,
  isListed,
  markOfRelation,
  markOfTable,
  PAIRS_PER_TABLE,
  type Relation,
  type RelationDefinition,
  type RemovedRelation,
  ruleOf,
  type SavedRelation,
  type SentTable,
  type StoredTable,
} from '../relation-definitions/relation-definitions.ts';
import { bindRule, listTables } from '../rules/rules.ts';
import { findTable, findTables } from './table-store.ts';

/** The definitions of relations and their tables. Call the changes in a transaction of the catalog. */

interface RelationRow {
  readonly id: number;
  /** The definition as JSON. */
  readonly definition: string;
  readonly problem: string | null;
  /** The build that answers use. */
  readonly active: number | null;
  /** The build of the present rule. */
  readonly next: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

function toRelation({ definition, problem, active, next, ...stored }: RelationRow): Relation {
  const built = active !== null && active === next ? 'ready' : 'building';
  const state = problem === null ? built : 'misconfigured';
  return { ...stored, definition: JSON.parse(definition), problem: problem ?? undefined, state };
}

/** Whether a relation needs another index than its active one. */
export const isUnbuilt = ({ active, next }: Pick<RelationRow, 'active' | 'next'>) =>
  next !== null && next !== active;

const RELATION = sql`select id, definition, problem, active_build as active, wanted_build as next,
  created_at as "createdAt", updated_at as "updatedAt" from relation where ${own()}`;

export function* listRelations(): Program<Relation[]> {
  return (yield* listRows()).map(toRelation);
}

const listRows = () => rows<RelationRow>`${RELATION} order by id`;

const VERSION = byEngine({
  sqlite: sql`select value from meta where name = 'catalog_version'`,
  postgres: sql`select catalog_version from catalog where ${own()}`,
});

export interface ListedRelations {
  readonly version: number;
  readonly relations: readonly Relation[];
}

/** Reads both in one statement, so that the relations belong to the version. */
export function* readListed(): Program<ListedRelations> {
  const relationRows = yield* rows<
    { version: number | null } & RelationRow
  >`select (${VERSION}) as version, r.*
    from (select 1) one left join (${RELATION}) r on true order by r.id`;
  const relations = relationRows
    .filter(({ id }) => id !== null)
    .map(({ version: _, ...row }) => toRelation(row));
  return { version: relationRows[0]?.version ?? 0, relations };
}

export function* findRelation(id: number): Program<Relation | undefined> {
  const relationRow = yield* findRow(id);
  return relationRow && toRelation(relationRow);
}

const findRow = (id: number) => row<RelationRow>`${RELATION} and id = ${id}`;

/** @returns the relations whose needed index is not the active one */
export function* listUnbuilt(): Program<number[]> {
  return (yield* listRows()).filter(isUnbuilt).map(({ id }) => id);
}

/** @returns the well configured, built relations, including disabled ones */
export function* listBuilt(): Program<ServedRelation[]> {
  const builtRows = yield* rows<
    Record<'id' | 'build' | 'twoWay' | 'excludeSameGroup', number> & Record<'definition' | 'rule', string>
  >`select r.id, r.definition, b.id as build, b.rule, b.two_way as "twoWay",
      b.exclude_same_group as "excludeSameGroup"
    from relation r join relation_build b on ${own('b')} and b.id = r.active_build
    where ${own('r')} and r.problem is null order by r.id`;
  return builtRows.map(({ definition: text, rule, ...row }) => {
    const definition = JSON.parse(text) as RelationDefinition;
    return {
      ...row,
      definition,
      twoWay: row.twoWay === 1,
      excludeSameGroup: row.excludeSameGroup === 1,
      isListed: isListed(definition),
      bound: JSON.parse(rule),
    };
  });
}

const LIVE_BUILDS = sql`from relation_build b join relation r on ${own('r')} and r.id = b.relation_id
  where ${own('b')} and b.kind = 'rule' and (b.id = r.active_build or b.id = r.wanted_build)`;

/** @returns the rules of indexes that are complete or being built, because new documents are added to both */
export function* listBuilds(): Program<(BuildRule & { readonly relationId: number })[]> {
  const buildRows = yield* rows<{ build: number; relationId: number; rule: string }>`select b.id as build,
    r.id as "relationId", b.rule ${LIVE_BUILDS} order by b.id`;
  return buildRows.map(({ rule, ...build }) => ({ ...build, bound: JSON.parse(rule) }));
}

/**
 * @returns the numbers of these builds. They are compared instead of the revision, which does not rise when a
 * build is no longer needed.
 */
export function* listBuildNumbers(): Program<string> {
  return (yield* column<number>`select b.id ${LIVE_BUILDS} order by b.id`).join();
}

/** Creates or replaces a relation. @returns undefined if the relation to replace does not exist */
export function* saveRelation(
  catalog: ChangedCatalog,
  { id, expected, definition, now }: SavedRelation,
): Program<Relation | undefined> {
  const present = id === undefined ? undefined : yield* findRelation(id);
  if (id !== undefined && present === undefined) return undefined;
  if (present !== undefined) refuseOtherState(expected, markOfRelation(present));
  const savedId = id ?? catalog.takeId('relation');
  const text = JSON.stringify(definition);
  yield* run(
    present === undefined
      ? insertRow('relation', { id: savedId, definition: text, createdAt: now, updatedAt: now })
      : sql`update relation set definition = ${text}, updated_at = ${now} where ${own()} and id = ${savedId}`,
  );
  yield* announceRelation(savedId, now, { change: present === undefined ? 'created' : 'changed' });
  yield* bindRelation(catalog, savedId, now);
  catalog.affect('answers');
  return yield* findRelation(savedId);
}

/** @returns whether the relation existed */
export function* deleteRelation(
  catalog: ChangedCatalog,
  { id, expected, now }: RemovedRelation & { readonly now: number },
): Program<boolean> {
  const present = yield* findRelation(id);
  if (present === undefined) return false;
  refuseOtherState(expected, markOfRelation(present));
  yield* announceRelation(id, now, { change: 'deleted' });
  yield* run`delete from relation where ${own()} and id = ${id}`;
  catalog.affect('answers');
  return true;
}

/**
 * Records the event for a changed relation if an endpoint subscribes to it. Call it while the relation
 * exists.
 */
export function* announceRelation(
  id: number,
  now: number,
  what:
    | { readonly change: 'created' | 'changed' | 'deleted' | 'built' | 'links'; readonly taskNumber?: number }
    | { readonly problem: string },
): Program<void> {
  const type = 'problem' in what ? 'relation.unhealthy' : 'relation.changed';
  const relation = yield* findRow(id);
  const { name, tag } = JSON.parse(relation?.definition ?? '{}') as Partial<RelationDefinition>;
  yield* announce([{ type, at: now, data: { relationId: id, name, tag, ...what } }]);
}

/** Binds all relations to the present ontology. @returns the relations whose index must be built */
export function* bindRelations(catalog: ChangedCatalog, now: number): Program<number[]> {
  const unbuilt: number[] = [];
  for (const { id } of yield* listRows()) if (yield* bindRelation(catalog, id, now)) unbuilt.push(id);
  return unbuilt;
}

export interface SavedTable {
  readonly table: SentTable;
  /** Whether to create the table. Otherwise the table of that name is replaced. */
  readonly isNew: boolean;
  /**
   * Whether the caller builds the relations that name the table. Otherwise a table that relations name is not
   * stored.
   */
  readonly isFollowed: boolean;
  readonly expected?: ExpectedStates | undefined;
  readonly now: number;
}

/**
 * Creates or replaces a table and binds the relations that name it again.
 * @returns `isUsed` if relations name the table and nothing was stored; no table if the one to replace does
 * not exist
 * @throws table_exists, changed_meanwhile
 */
export function* saveTable(
  catalog: ChangedCatalog,
  { table: { name, description, pairs }, isNew, isFollowed, expected, now }: SavedTable,
): Program<{ readonly isUsed?: true; readonly table?: StoredTable | undefined }> {
  const present = yield* findTable(name);
  if (isNew && present !== undefined) throw new ServiceError('table_exists', { values: [name] });
  if (!isNew && present === undefined) return {};
  if (present !== undefined) refuseOtherState(expected, markOfTable(present));
  const users = yield* listUsers(name);
  if (users.length > 0 && !isFollowed) return { isUsed: true };
  const definition = JSON.stringify({ ...(description !== undefined && { description }), pairs });
  yield* run(
    isNew
      ? insertRow('value_table', { name, definition, createdAt: now, updatedAt: now })
      : sql`update value_table set definition = ${definition}, updated_at = ${now} where ${own()} and name = ${name}`,
  );
  for (const { id } of users) yield* bindRelation(catalog, id, now);
  catalog.affect('answers');
  return { table: yield* findTable(name) };
}

/** A table that a run of a pipeline has gathered. */
export interface GatheredTable {
  readonly name: string;
  /** JSON lists of lines, in order. A line has a value of the source and the values that go with it. */
  readonly lists: readonly Uint8Array[];
  readonly now: number;
}

/**
 * Creates or replaces a table. The caller builds its relations.
 * @returns its number of pairs
 * @throws request_invalid
 */
export function* replaceTable(catalog: ChangedCatalog, { name, lists, now }: GatheredTable): Program<number> {
  const pairs = readPairs(lists);
  if (pairs.length > PAIRS_PER_TABLE)
    throw new ServiceError(
      'request_invalid',
      `${pairs.length} pairs are too many: a table has at most ${PAIRS_PER_TABLE}`,
    );
  const present = yield* findTable(name);
  const { description } = present ?? {};
  const table = { name, ...(description !== undefined && { description }), pairs };
  yield* saveTable(catalog, { table, isNew: present === undefined, isFollowed: true, now });
  return pairs.length;
}

/** @returns the pairs of the lists in order, without repetition */
function readPairs(lists: readonly Uint8Array[]): [string, string][] {
  const pairs = new Map<string, [string, string]>();
  for (const list of lists)
    for (const { source, targets } of unpackLines(list))
      for (const target of targets.map(identifierOf))
        pairs.set(JSON.stringify([source, target]), [source, target]);
  return [...pairs.values()];
}

/** @returns whether the table existed @throws table_in_use, changed_meanwhile */
export function* deleteTable(
  catalog: ChangedCatalog,
  { name, expected }: { readonly name: string; readonly expected?: ExpectedStates | undefined },
): Program<boolean> {
  const present = yield* findTable(name);
  if (present === undefined) return false;
  refuseOtherState(expected, markOfTable(present));
  const users = yield* listUsers(name);
  if (users.length > 0) {
    const details = users.map(({ id, definition }) => `relation ${id}, ${definition.name}`);
    throw new ServiceError('table_in_use', { values: [name], details: details.slice(0, 20) });
  }
  yield* run`delete from value_table where ${own()} and name = ${name}`;
  catalog.affect('answers');
  return true;
}

/** @returns the relations whose matches name the table */
function* listUsers(name: string): Program<Relation[]> {
  return (yield* listRelations()).filter(({ definition }) => listTables(ruleOf(definition)).includes(name));
}

/** @returns whether the index of the relation must be built */
function* bindRelation(catalog: ChangedCatalog, id: number, now: number): Program<boolean> {
  const relation = yield* findRow(id);
  if (relation === undefined) return false;
  const definition = JSON.parse(relation.definition) as RelationDefinition;
  const rule = ruleOf(definition);
  const { attributes } = yield* catalog.readOntology();
  const result = bindRule(rule, attributes, yield* findTables(listTables(rule)));
  if ('bound' in result)
    return yield* bindToBuild(catalog, relation, { definition, rule: JSON.stringify(result.bound) });
  const { problem } = result;
  if (problem === relation.problem) return false;
  yield* run`update relation set problem = ${problem}, active_build = null, wanted_build = null
    where ${own()} and id = ${id}`;
  yield* announceRelation(id, now, { problem });
  catalog.affect('answers');
  return false;
}

/** Uses a build of the relation with this rule, or creates one. */
function* bindToBuild(
  catalog: ChangedCatalog,
  relation: RelationRow,
  { definition, rule }: { readonly definition: RelationDefinition; readonly rule: string },
): Program<boolean> {
  const { id, active: present } = relation;
  const kind = isIndexed(definition) ? 'rule' : 'links';
  const sameBuild = yield* cell<number>`select id from relation_build
    where ${own()} and id in (${present}, ${relation.next}) and rule = ${rule} order by id limit 1`;
  const next = sameBuild ?? (yield* insertBuild(catalog, { relationId: id, rule, kind }));
  // A list of links needs no build, because an empty list is complete.
  const active = kind === 'links' ? next : present;
  const [twoWay, excludes] = [Number(definition.twoWay), Number(definition.excludeSameGroup)];
  yield* run`update relation_build set two_way = ${twoWay}, exclude_same_group = ${excludes}
    where ${own()} and id = ${next}`;
  yield* run`update relation set problem = null, active_build = ${active}, wanted_build = ${next}
    where ${own()} and id = ${id}`;
  return isUnbuilt({ active, next });
}

/**
 * Creates a build. It raises the derivation revision, so new documents get rows from now on; `buildPage` adds
 * the older ones. `staged`: a list of links before it is put in place.
 */
function* insertBuild(
  catalog: ChangedCatalog,
  { relationId, rule, kind }: { relationId: number; rule: string; kind: 'rule' | 'links' | 'staged' },
): Program<number> {
  const id = catalog.takeId('build');
  if (kind === 'rule') catalog.affect('derivation');
  const unset = { twoWay: 0, excludeSameGroup: 0 };
  const lastDocument = catalog.newestDocument;
  yield* run(insertRow('relation_build', { id, relationId, rule, ...unset, lastDocument, kind }));
  return id;
}

/**
 * Creates a list of links that will replace the list of a relation.
 * @returns undefined if the relation has no list
 */
export function* insertStagedList(catalog: ChangedCatalog, relationId: number): Program<number | undefined> {
  const relation = yield* findRow(relationId);
  if (relation?.next == null) return undefined;
  const rule = yield* cell<string>`select rule from relation_build where ${own()} and id = ${relation.next}`;
  return rule === undefined ? undefined : yield* insertBuild(catalog, { relationId, rule, kind: 'staged' });
}
