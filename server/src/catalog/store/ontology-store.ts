import {
  among,
  byEngine,
  insertInto,
  listed,
  lookupJoin,
  own,
  ownKey,
  type Program,
  refuseOtherState,
  row,
  rows,
  run,
  sql,
  tabled,
  text,
} from '../../storage/storage.ts';
import {
  type Attribute,
  identifyAttributes,
  isSameOntology,
  markOfOntology,
  type Ontology,
  type RequestedOntology,
  toOntology,
  writeAliases,
} from '../ontology/ontology.ts';
import type { CategoryRange, ListedCategory } from '../port.ts';
import { type CatalogState, readAttributeRows, readOntology } from './state-store.ts';

/** Attributes, categories and their permanent ids; call these in a transaction that holds the catalog's lock. */

/** Replaces the whole list. @returns whether anything has changed @throws changed_meanwhile */
export function* replaceOntology(
  state: CatalogState,
  requested: RequestedOntology,
): Program<{ ontology: Ontology; changed: boolean }> {
  const present = yield* readOntology();
  refuseOtherState(requested.expected, markOfOntology(present));
  const plan = identifyAttributes(present.attributes, requested.attributes, {
    known: yield* findAttributeIds(requested.attributes.map(({ name }) => name)),
    nextId: state.nextAttributeId,
  });
  if (isSameOntology(present, { ...requested, attributes: plan.attributes }))
    return { ontology: present, changed: false };
  yield* run(sql`delete from attribute_id where ${own()} and name ${among(plan.forgotten)}`);
  yield* saveAttributeIds(plan.named);
  yield* keepPast(state, present);
  yield* run(sql`delete from attribute where ${own()}`);
  yield* insertAttributes(plan.attributes);
  state.ontologyMode = requested.mode;
  state.unitAliases = writeAliases(requested.unitAliases);
  state.ontologyRevision += 1;
  state.nextAttributeId = plan.nextId;
  state.catalogVersion += 1;
  const { ontologyMode: mode, ontologyRevision: revision, unitAliases } = state;
  const rows = yield* readAttributeRows();
  return { ontology: toOntology({ mode, revision, unitAliases }, rows), changed: true };
}

/** Products follow it until the task of the change has looked at them; one that comes back later counts as changed. */
const KEPT_PAST = 20;

function* keepPast({ ontologyRevision }: CatalogState, { attributes }: Ontology): Program<void> {
  yield* run(sql`delete from past_ontology where ${own()} and revision <= ${ontologyRevision - KEPT_PAST}`);
  yield* run(
    insertInto(
      'past_ontology',
      'revision, attributes',
      sql`${ontologyRevision}, ${JSON.stringify(attributes)}`,
    ),
  );
}

/** @returns the permanent id of each name */
export function* reserveIds(
  state: CatalogState,
  { names, paths }: { names: readonly string[]; paths: readonly string[] },
): Program<ReadonlyMap<string, number>> {
  yield* reserveCategories(state, paths);
  const ids = new Map(yield* findAttributeIds(names));
  const missing = [...new Set(names)].filter((name) => !ids.has(name));
  const named = missing.map((name) => [name, state.nextAttributeId++] as const);
  yield* saveAttributeIds(named);
  return new Map([...ids, ...named]);
}

/** Gives category paths their ids. */
export function* reserveCategories(state: CatalogState, paths: readonly string[]): Program<void> {
  if (paths.length === 0) return;
  const known = yield* findCategoryIds(paths);
  const missing = [...new Set(paths)].filter((path) => !known.has(path));
  const categories = missing.map((path) => [state.nextCategoryId++, path] as const);
  const made = tabled('c', { id: 'bigint', path: 'text' }, categories);
  if (missing.length > 0) yield* run(insertInto('category', 'id, path', sql`id, path from ${made}`));
}

/** PostgreSQL's index holds hashes: a path may be too long for an index. */
const SAME_PATH = byEngine({
  sqlite: sql`c.path = w.value`,
  postgres: sql`md5(c.path) = md5(w.value) and c.path = w.value`,
});

/** @returns the ids of those paths that have one */
export function* findCategoryIds(paths: readonly string[]): Program<ReadonlyMap<string, number>> {
  const found = yield* rows<{ path: string; id: number }>(
    sql`select c.path, c.id from ${listed('w', 'text', paths)} ${lookupJoin('category', 'c', SAME_PATH)}`,
  );
  return new Map(found.map(({ path, id }) => [path, id]));
}

/**
 * The text of a path by which paths are listed, a parent before what is below it and that before its next sibling: its JSON
 * without the closing bracket, with a sign below all others for each quote.
 */
const SORTED_PATH = byEngine({
  sqlite: text(`replace(substr(c.path, 1, length(c.path) - 1), '"', char(1))`),
  postgres: text(`replace(left(c.path, -1), '"', chr(1)) collate "C"`),
});
const sortPath = (path: readonly string[]) => JSON.stringify(path).slice(0, -1).replaceAll('"', '\u0001');

/** All paths of a project are read for each page: few projects have 100,000, which take 0.1 s. */
export function* listCategoryPaths({ under, after, limit }: CategoryRange): Program<ListedCategory[]> {
  const top = sortPath(under);
  // A path below another one goes on with a comma, which a hyphen follows.
  const below = under.length === 0 ? text('true') : sql`${SORTED_PATH} < ${`${top}-`}`;
  const found = yield* rows<{ id: number; path: string }>(
    sql`select c.id, c.path from category c where ${own('c')} and ${SORTED_PATH} > ${top}
      and ${SORTED_PATH} > ${sortPath(after)} and ${below}
      order by ${SORTED_PATH} limit ${limit}`,
  );
  return found.map(({ id, path }) => ({ id, path: JSON.parse(path) as string[] }));
}

export function* findCategoryPath(id: number): Program<string[] | undefined> {
  const found = yield* row<{ path: string }>(
    sql`select c.path from category c where ${own('c')} and c.id = ${id}`,
  );
  return found && (JSON.parse(found.path) as string[]);
}

function* findAttributeIds(names: readonly string[]): Program<ReadonlyMap<string, number>> {
  if (names.length === 0) return new Map();
  const found = yield* rows<{ name: string; id: number }>(
    sql`select name, id from attribute_id where ${own()} and name ${among(names)}`,
  );
  return new Map(found.map(({ name, id }) => [name, id]));
}

function* saveAttributeIds(named: readonly (readonly [name: string, id: number])[]): Program<void> {
  if (named.length === 0) return;
  const saved = tabled('n', { name: 'text', id: 'bigint' }, named);
  yield* run(
    insertInto(
      'attribute_id',
      'name, id',
      sql`name, id from ${saved} where true on conflict ${ownKey('name')} do update set id = excluded.id`,
    ),
  );
}

/** In place of those with the same ids. */
export function* insertAttributes(attributes: readonly Attribute[]): Program<void> {
  if (attributes.length === 0) return;
  yield* run(sql`delete from attribute where ${own()} and id ${among(attributes.map(({ id }) => id))}`);
  const made = tabled(
    'a',
    {
      id: 'bigint',
      name: 'text',
      type: 'text',
      unit_name: 'text',
      decimal: 'text',
      synonyms: 'text',
      reason: 'text',
      typing: 'text',
    },
    attributes.map(({ id, name, type, unitName, decimal, synonyms, reason, typing }) => [
      ...[id, name, type, unitName ?? null, decimal ?? null, JSON.stringify(synonyms ?? [])],
      ...[reason ?? null, typing ?? null],
    ]),
  );
  yield* run(
    insertInto(
      'attribute',
      'id, name, type, unit_name, decimal, synonyms, reason, typing',
      sql`a.* from ${made}`,
    ),
  );
}
