import { raiseVersion, readMeta, readOntology, type UploadedProduct, writeMeta } from '../catalog/catalog.ts';
import type { CatalogFile } from '../storage/storage.ts';
import { Memberships } from './membership.ts';
import { findMemberships, listBuilds, placeMemberships } from './membership-store.ts';
import { type Relation, type RelationDefinition, type RelationState, ruleOf } from './relation.ts';
import { type BoundRule, bindRule } from './rule.ts';

/** Definitions and their builds in the catalog's file; each exported function that writes is one transaction. */

interface RelationRow {
  readonly id: number;
  readonly definition: string;
  readonly problem: string | null;
  readonly active: number | null;
  readonly wanted: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

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

function toRelation({ id, definition, problem, createdAt, updatedAt, ...row }: RelationRow): Relation {
  return {
    id,
    definition: JSON.parse(definition),
    state: stateOf(problem, row),
    problem: problem ?? undefined,
    createdAt,
    updatedAt,
  };
}

function stateOf(
  problem: string | null,
  { active, wanted }: Pick<RelationRow, 'active' | 'wanted'>,
): RelationState {
  if (problem !== null) return 'misconfigured';
  return active !== null && active === wanted ? 'ready' : 'building';
}

/** A relation that answers, with the rule that its index was made by. */
export interface ServedRelation {
  readonly id: number;
  /** As it is stored; the index may be that of the one before. */
  readonly definition: RelationDefinition;
  /** Those that the index was made for: the definition may have others by now. */
  readonly twoWay: boolean;
  readonly excludeSameGroup: boolean;
  readonly build: number;
  readonly bound: BoundRule;
}

/** Enabled, well configured and built. */
export function listServed(file: CatalogFile): ServedRelation[] {
  return listBuilt(file).filter(({ definition }) => definition.enabled);
}

/** @returns a relation that is well configured and built, whether or not it is enabled */
export function findBuilt(file: CatalogFile, id: number): ServedRelation | undefined {
  return listBuilt(file).find((relation) => relation.id === id);
}

function listBuilt(file: CatalogFile): ServedRelation[] {
  return file
    .prepare(
      `select r.id, r.definition, b.id as build, b.rule, b.two_way as twoWay, b.exclude_same_group as excludeSameGroup
       from relation r join relation_build b on b.id = r.active_build
       where r.problem is null order by r.id`,
    )
    .all()
    .map(({ id, definition, build, rule, twoWay, excludeSameGroup }) => ({
      id: Number(id),
      definition: JSON.parse(String(definition)) as RelationDefinition,
      twoWay: twoWay === 1,
      excludeSameGroup: excludeSameGroup === 1,
      build: Number(build),
      bound: JSON.parse(String(rule)) as BoundRule,
    }));
}

/** Creates a relation, or replaces one. @returns undefined when the one to be replaced is not there */
export function saveRelation(
  file: CatalogFile,
  { id, definition, at }: { id: number | undefined; definition: RelationDefinition; at: number },
): Relation | undefined {
  return file.transaction(() => {
    const row = id === undefined ? undefined : findRow(file, id);
    if (id !== undefined && row === undefined) return undefined;
    const known = row?.id ?? insertRelation(file, definition, at);
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
    .filter(({ active, wanted }) => wanted !== null && wanted !== active)
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
export function deleteRelation(file: CatalogFile, { id }: { id: number }): boolean {
  return file.transaction(() => {
    const { changes } = file.prepare('delete from relation where id = ?').run(id);
    if (changes > 0) raiseVersion(file);
    return changes > 0;
  });
}

/** Follows the ontology as it is. @returns relations whose index must be made */
export function bindRelations(file: CatalogFile, _: object): number[] {
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
  const definition = JSON.parse(row.definition) as RelationDefinition;
  const result = bindRule(ruleOf(definition), readOntology(file).attributes);
  if ('problem' in result) {
    if (row.problem === result.problem) return false;
    file
      .prepare('update relation set problem = ?, active_build = null, wanted_build = null where id = ?')
      .run(result.problem, id);
    raiseVersion(file);
    return false;
  }
  const rule = JSON.stringify(result.bound);
  const same = file
    .prepare('select id from relation_build where relation_id = ? and rule = ? and id in (?, ?)')
    .get(id, rule, row.wanted, row.active)?.id;
  const wanted = same === undefined ? insertBuild(file, id, rule) : Number(same);
  file
    .prepare('update relation_build set two_way = ?, exclude_same_group = ? where id = ?')
    .run(Number(definition.twoWay), Number(definition.excludeSameGroup), wanted);
  file.prepare('update relation set problem = null, wanted_build = ? where id = ?').run(wanted, id);
  return wanted !== row.active;
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

export interface BuildPage {
  /** The build that the relation wants; undefined: its index is complete, or it wants none. */
  readonly build: number | undefined;
  readonly lastWalked: number;
  /** In percent of the documents. */
  readonly progress: number;
}

/** Walks a part of the older documents of a relation's wanted build; the last part makes it the one that answers. */
export function buildPage(
  file: CatalogFile,
  {
    relationId,
    after,
    limit,
  }: { relationId: number; after: { build: number; document: number }; limit: number },
): BuildPage {
  return file.transaction(() => {
    const row = findRow(file, relationId);
    if (row === undefined || row.wanted === null || row.wanted === row.active) {
      return { build: undefined, lastWalked: 0, progress: 100 };
    }
    const build = row.wanted;
    const found = file
      .prepare('select rule, last_document as last from relation_build where id = ?')
      .get(build);
    const last = Number(found?.last);
    const from = after.build === build ? after.document : 0;
    const page = listDocuments(file, { from, last, limit });
    const bound = JSON.parse(String(found?.rule)) as BoundRule;
    placePage(file, page, new Memberships([{ build, bound }]));
    const lastWalked = page.at(-1)?.id ?? last;
    if (page.length < limit) activate(file, relationId, build);
    return { build, lastWalked, progress: last === 0 ? 100 : (lastWalked / last) * 100 };
  });
}

interface WalkedDocument {
  readonly id: number;
  readonly productId: number;
  readonly raw: string;
}

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

function placePage(file: CatalogFile, page: readonly WalkedDocument[], memberships: Memberships): void {
  const live = new Set(listBuilds(file).map(({ build }) => build));
  for (const { id, productId, raw } of page) {
    const product = JSON.parse(raw) as UploadedProduct;
    const added = memberships.of(product);
    if (added.length === 0) continue;
    const builds = new Set(added.map(({ build }) => build));
    const kept = (findMemberships(file, id)?.memberships ?? []).filter(
      ({ build }) => live.has(build) && !builds.has(build),
    );
    placeMemberships(
      file,
      { id, productId },
      { group: product.groupIdentifier, memberships: [...kept, ...added] },
    );
  }
}

function activate(file: CatalogFile, relationId: number, build: number): void {
  file.prepare('update relation set active_build = ? where id = ?').run(build, relationId);
  raiseVersion(file);
}

const STEP = 5_000;

/** Removes a part of the rows of builds that no relation has any more. @returns whether there may be more */
export function dropBuilds(file: CatalogFile, _: object): boolean {
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
