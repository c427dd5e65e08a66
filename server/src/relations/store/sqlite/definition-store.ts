import { raiseVersion, readMeta, readOntology, writeMeta } from '../../../catalog/catalog.ts';
import { type CatalogFile, refuseOtherState } from '../../../storage/storage.ts';
import { markOfRelation, type Relation, type RelationDefinition } from '../../definitions/definitions.ts';
import {
  type Binding,
  type BuildOrder,
  type BuildPage,
  derivePage,
  describePage,
  isUnbuilt,
  Memberships,
  NOTHING_TO_BUILD,
  planBinding,
  planExtension,
  type RelationRow,
  type ServedRelation,
  type ServedRow,
  toRelation,
  toServed,
  type WalkedDocument,
  type WantedBuild,
} from '../../memberships/memberships.ts';
import type { RemovedRelation, SavedRelation } from '../../port.ts';
import { extendMemberships, findMemberships, listBuilds } from './membership-store.ts';

/** Definitions and their builds in the catalog's file; each exported function that writes is one transaction. */

const SELECT = `select id, definition, problem, active_build as active, wanted_build as wanted, created_at as createdAt,
  updated_at as updatedAt from relation`;

export function listRelations(file: CatalogFile): Relation[] {
  return listRows(file).map(toRelation);
}

const listRows = (file: CatalogFile) =>
  file.prepare(`${SELECT} order by id`).all() as unknown as RelationRow[];

export function findRelation(file: CatalogFile, id: number): Relation | undefined {
  const row = findRow(file, id);
  return row && toRelation(row);
}

const findRow = (file: CatalogFile, id: number) =>
  file.prepare(`${SELECT} where id = ?`).get(id) as RelationRow | undefined;

/** @returns relations that are well configured and built, whether or not they are enabled */
export function listBuilt(file: CatalogFile): ServedRelation[] {
  return file
    .prepare(
      `select r.id, r.definition, b.id as build, b.rule, b.two_way as twoWay, b.exclude_same_group as excludeSameGroup
       from relation r join relation_build b on b.id = r.active_build
       where r.problem is null order by r.id`,
    )
    .all()
    .map((row) => toServed(row as unknown as ServedRow));
}

/** Creates a relation, or replaces one. @returns undefined when the one to be replaced is not there */
export function saveRelation(file: CatalogFile, saved: SavedRelation): Relation | undefined {
  const { id, expected, definition, at } = saved;
  return file.transaction(() => {
    const present = id === undefined ? undefined : findRelation(file, id);
    if (id !== undefined && present === undefined) return undefined;
    if (present !== undefined) refuseOtherState(expected, markOfRelation(present));
    const known = present?.id ?? insertRelation(file, definition, at);
    file
      .prepare('update relation set definition = ?, updated_at = ? where id = ?')
      .run(JSON.stringify(definition), at, known);
    bindRelation(file, known);
    raiseVersion(file);
    return findRelation(file, known);
  });
}

/** Relations that want another index than the one that answers. */
export function listUnbuilt(file: CatalogFile): number[] {
  return listRows(file)
    .filter(isUnbuilt)
    .map(({ id }) => id);
}

function insertRelation(file: CatalogFile, definition: RelationDefinition, at: number): number {
  const id = Number(readMeta(file, 'next_relation_id'));
  writeMeta(file, 'next_relation_id', id + 1);
  file
    .prepare('insert into relation (id, definition, created_at, updated_at) values (?, ?, ?, ?)')
    .run(id, JSON.stringify(definition), at, at);
  return id;
}

/** @returns whether it was there */
export function deleteRelation(file: CatalogFile, { id, expected }: RemovedRelation): boolean {
  return file.transaction(() => {
    const present = findRelation(file, id);
    if (present === undefined) return false;
    refuseOtherState(expected, markOfRelation(present));
    file.prepare('delete from relation where id = ?').run(id);
    raiseVersion(file);
    return true;
  });
}

/** Follows the ontology as it is. @returns relations whose index must be made */
export function bindRelations(file: CatalogFile): number[] {
  if (file.prepare('select 1 from relation limit 1').get() === undefined) return [];
  return file.transaction(() =>
    listRows(file)
      .map(({ id }) => id)
      .filter((id) => bindRelation(file, id)),
  );
}

/** @returns whether the relation's index must be made */
function bindRelation(file: CatalogFile, id: number): boolean {
  const row = findRow(file, id);
  if (row === undefined) return false;
  const builds = file
    .prepare('select id, rule from relation_build where relation_id = ? order by id')
    .all(id);
  const binding = planBinding(row, readOntology(file).attributes, builds as never);
  switch (binding.kind) {
    case 'same':
      return false;
    case 'problem':
      file
        .prepare('update relation set problem = ?, active_build = null, wanted_build = null where id = ?')
        .run(binding.problem, id);
      raiseVersion(file);
      return false;
    case 'build':
      return bindToBuild(file, row, binding);
  }
}

function bindToBuild(
  file: CatalogFile,
  { id, active }: RelationRow,
  { build, rule, twoWay, excludeSameGroup }: Extract<Binding, { kind: 'build' }>,
): boolean {
  const wanted = build ?? insertBuild(file, id, rule);
  file
    .prepare('update relation_build set two_way = ?, exclude_same_group = ? where id = ?')
    .run(twoWay, excludeSameGroup, wanted);
  file.prepare('update relation set problem = null, wanted_build = ? where id = ?').run(wanted, id);
  return isUnbuilt({ active, wanted });
}

/** From now on what is written has rows for it; older documents are walked by `buildPage`. */
function insertBuild(file: CatalogFile, relationId: number, rule: string): number {
  raiseDerivation(file);
  const { lastInsertRowid } = file
    .prepare(
      `insert into relation_build (relation_id, rule, two_way, exclude_same_group, last_document)
       select ?, ?, 0, 0, coalesce(max(id), 0) from document`,
    )
    .run(relationId, rule);
  return Number(lastInsertRowid);
}

/** What was derived before must be derived anew, with the rows of the new build. */
function raiseDerivation(file: CatalogFile): void {
  writeMeta(file, 'derivation_revision', Number(readMeta(file, 'derivation_revision')) + 1);
  raiseVersion(file);
}

/** Walks a part of the older documents of a relation's wanted build; the last part makes it the one that answers. */
export function buildPage(file: CatalogFile, { relationId, after, limit }: BuildOrder): BuildPage {
  return file.transaction(() => {
    const found = findWantedBuild(file, relationId);
    if (found === undefined || !isUnbuilt(found)) return NOTHING_TO_BUILD;
    const { wanted: build, rule, last } = found;
    const from = after.build === build ? after.document : 0;
    const page = listDocuments(file, { from, last, limit });
    const derived = derivePage(page, new Memberships([{ build, bound: JSON.parse(rule) }]));
    const live = new Set(listBuilds(file).map((one) => one.build));
    const findKept = (id: number) => findMemberships(file, id)?.memberships ?? [];
    for (const extended of planExtension(derived, live, findKept)) extendMemberships(file, extended);
    const { isComplete, ...described } = describePage({ build, last, limit, page });
    if (isComplete) activate(file, relationId, build);
    return described;
  });
}

const findWantedBuild = (file: CatalogFile, relationId: number) =>
  file
    .prepare(
      `select r.active_build as active, b.id as wanted, b.rule, b.last_document as last
       from relation r join relation_build b on b.id = r.wanted_build where r.id = ?`,
    )
    .get(relationId) as WantedBuild | undefined;

function listDocuments(
  file: CatalogFile,
  { from, last, limit }: { from: number; last: number; limit: number },
): WalkedDocument[] {
  return file
    .prepare(
      `select id, product_id as productId, cast(raw as text) as raw from document
       where id > ? and id <= ? order by id limit ?`,
    )
    .all(from, last, limit) as unknown as WalkedDocument[];
}

function activate(file: CatalogFile, relationId: number, build: number): void {
  file.prepare('update relation set active_build = ? where id = ?').run(build, relationId);
  raiseVersion(file);
}

const STEP = 5_000;

/** Removes a part of the rows of builds that no relation has any more. @returns whether there may be more */
export function dropBuilds(file: CatalogFile): boolean {
  return file.transaction(() => {
    const over = file
      .prepare(
        `select id from relation_build where id not in
         (select active_build from relation where active_build is not null
          union select wanted_build from relation where wanted_build is not null) limit 1`,
      )
      .get()?.id;
    if (over === undefined) return false;
    const { changes } = file
      .prepare(
        `delete from relation_member where (build_id, side, match_key, rank, product_id, document_id) in
         (select build_id, side, match_key, rank, product_id, document_id from relation_member where build_id = ?
          limit ${STEP})`,
      )
      .run(over);
    if (Number(changes) < STEP) file.prepare('delete from relation_build where id = ?').run(over);
    return true;
  });
}
