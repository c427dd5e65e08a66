import {
  among,
  byEngine,
  cell,
  insertRow,
  insertRows,
  joined,
  listed,
  lookupJoin,
  own,
  ownKey,
  PROJECT,
  type Program,
  pairs,
  row,
  rows,
  run,
  sql,
  text,
} from '../../storage/programs/programs.ts';
import { refuseOtherState } from '../../storage/storage.ts';
import {
  identifyAttributes,
  isSameOntology,
  markOfOntology,
  type RequestedOntology,
  writeAliases,
} from '../ontology/changes/changes.ts';
import {
  type Attribute,
  type AttributeRow,
  type Ontology,
  type OntologyMode,
  type StoredOntology,
  toOntology,
} from '../ontology/ontology.ts';
import type { CategoryRange, ChangeOrder, ListedCategory } from '../port.ts';

/** The state of a catalog before its first write. PostgreSQL has no row for it. */
const EMPTY = {
  /** Every change that a reader can see raises it. */
  catalogVersion: 0,
  ontologyMode: 'automatic' as OntologyMode,
  ontologyRevision: 1,
  /** JSON object. */
  unitAliases: '{}',
  /** Every change of the derivation from products raises it, such as memberships of another rule. */
  derivationRevision: 0,
  nextProductId: 1,
  nextDocumentId: 1,
  nextAttributeId: 1,
  nextCategoryId: 1_000_000_001,
  nextUndoId: 1,
  nextRelationId: 1,
  nextBuildId: 1,
  lastTask: 0,
};

/**
 * The state of a catalog. SQLite stores it in the table `meta` of the catalog file, PostgreSQL in a row of `catalog`.
 */
export type CatalogState = typeof EMPTY;

/** Counters that a file does not store, because SQLite assigns these ids or other rows show the last one. */
const DERIVED_IN_FILE: Partial<Record<keyof CatalogState, string>> = {
  nextDocumentId: "coalesce((select seq from sqlite_sequence where name = 'document'), 0) + 1",
  nextBuildId: "coalesce((select seq from sqlite_sequence where name = 'relation_build'), 0) + 1",
  nextCategoryId: '(select coalesce(max(id), 1000000000) + 1 from category)',
  nextUndoId: `1 + max(coalesce((select max(id) from undo_log), 0),
    coalesce((select max(undo_id) from undo_change), 0))`,
};

const NAMES = Object.keys(EMPTY) as (keyof CatalogState)[];
const nameOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const inFileOf = (name: keyof CatalogState) =>
  DERIVED_IN_FILE[name] ?? `(select value from meta where name = '${nameOf(name)}')`;

const IN_FILE = text(`select ${NAMES.map((name) => `${inFileOf(name)} as "${name}"`).join(', ')}`);
const COLUMNS = text(`select ${NAMES.map((name) => `${nameOf(name)} as "${name}"`).join(', ')} from catalog`);
const LOCKED = byEngine({ sqlite: IN_FILE, postgres: sql`${COLUMNS} where ${own()} for update` });

/**
 * Locks a catalog until the transaction ends: a project has one writer at a time, on any machine. Readers do not
 * wait.
 * @returns the state that the last writer left
 */
function* lockState(): Program<CatalogState> {
  const state = yield* row<CatalogState>(LOCKED);
  if (state !== undefined) return state;
  yield* run`insert into catalog (project_id) values (${PROJECT}) on conflict do nothing`;
  return (yield* row<CatalogState>(LOCKED)) ?? EMPTY;
}

/** Writes the changed values; call `lockState` first. */
function* saveState(
  before: CatalogState,
  after: Partial<CatalogState> & { readonly lastTaskResult?: string },
): Program<void> {
  const changes = Object.entries(after).filter(
    ([name, value]) => before[name as keyof CatalogState] !== value,
  );
  if (changes.length === 0) return;
  const names = changes.map(([name]) => nameOf(name));
  const cases = changes.map(([name, value]) => sql`when ${nameOf(name)} then ${value} `);
  const columns = changes.map(([name, value]) => sql`${text(nameOf(name))} = ${value}`);
  yield* run(
    byEngine({
      sqlite: sql`update meta set value = case name ${joined(cases, ' ')} end where name ${among(names)}`,
      postgres: sql`update catalog set ${joined(columns, ', ')} where ${own()}`,
    }),
  );
}

/** Runs `work` under the catalog's lock and saves the changes that it makes to the state. */
export function* changeCatalog<Result>(work: (state: CatalogState) => Program<Result>): Program<Result> {
  const before = yield* lockState();
  const state = { ...before };
  const result = yield* work(state);
  yield* saveState(before, state);
  return result;
}

/**
 * Does the work of an ordered task once. The same transaction writes its number and result, so a task that runs again
 * after a crash returns that result.
 */
export function* applyOnce<Result extends object>(
  { taskNumber }: ChangeOrder,
  work: (state: CatalogState) => Program<{ result: Result; isDone: boolean }>,
): Program<Result> {
  const before = yield* lockState();
  if (before.lastTask >= taskNumber) return JSON.parse((yield* cell<string>(LAST_RESULT)) ?? '{}') as Result;
  const state = { ...before };
  const { result, isDone } = yield* work(state);
  if (isDone) {
    Object.assign(state, { lastTask: taskNumber, lastTaskResult: JSON.stringify(result) });
    state.catalogVersion += 1;
  }
  yield* saveState(before, state);
  return result;
}

const LAST_RESULT = byEngine({
  sqlite: sql`select value from meta where name = 'last_task_result'`,
  postgres: sql`select last_task_result from catalog where ${own()}`,
});

const ONTOLOGY_STATE = byEngine({
  sqlite: text(`(select ${inFileOf('ontologyMode')} as mode, ${inFileOf('ontologyRevision')} as revision,
    ${inFileOf('unitAliases')} as "unitAliases")`),
  postgres: sql`(select ontology_mode as mode, ontology_revision as revision, unit_aliases as "unitAliases"
    from catalog where ${own()})`,
});

/**
 * Reads all attributes as one JSON value. For 11,400 attributes this takes the serving thread 12 ms. One row per
 * attribute, each with the state beside it, took 33 ms.
 */
const ATTRIBUTE = text('a.id, a.name, a.type, a.unit_name, a.decimal, a.synonyms, a.reason, a.typing');
const ATTRIBUTES = byEngine({
  sqlite: sql`(select json_group_array(json_array(${ATTRIBUTE}) order by a.id) from attribute a)`,
  postgres: sql`(select json_agg(json_build_array(${ATTRIBUTE}) order by a.id)::text from attribute a where ${own('a')})`,
});

const readRows = (attributes: string | null | undefined): AttributeRow[] => JSON.parse(attributes ?? '[]');

/** Reads with one statement, so that the revision and the attributes belong to one state. */
export function* readOntology(): Program<Ontology> {
  const stored = yield* row<
    StoredOntology & { attributes: string | null }
  >`select c.mode, c.revision, c."unitAliases",
    ${ATTRIBUTES} as attributes from ${ONTOLOGY_STATE} c`;
  const { ontologyMode: mode, ontologyRevision: revision, unitAliases } = EMPTY;
  return toOntology(stored ?? { mode, revision, unitAliases }, readRows(stored?.attributes));
}

export function* readPastOntology(revision: number): Program<readonly Attribute[] | undefined> {
  const attributes = yield* cell<string>`select attributes from past_ontology where ${own()}
    and revision = ${revision}`;
  return attributes === undefined ? undefined : (JSON.parse(attributes) as Attribute[]);
}

function* readNumber(name: 'catalogVersion' | 'derivationRevision'): Program<number> {
  const stored = yield* cell<number>(
    byEngine({
      sqlite: text(`select ${inFileOf(name)}`),
      postgres: sql`select ${text(nameOf(name))} from catalog where ${own()}`,
    }),
  );
  return stored ?? EMPTY[name];
}

export const readDerivationRevision = (): Program<number> => readNumber('derivationRevision');
export const readCatalogVersion = (): Program<number> => readNumber('catalogVersion');

/** A catalog that another room changes. The room reports the effect of its change, so that the version is raised. */
export interface ChangedCatalog {
  /** The id of the newest document; later ones are higher. */
  readonly newestDocument: number;
  /** @returns a new id, never reused */
  takeId(of: 'relation' | 'build'): number;
  readOntology(): Program<Ontology>;
  /** Reports that answers change, or that the derivation from products changes too. */
  affect(what: 'answers' | 'derivation'): void;
}

type CatalogWork<Result> = (catalog: ChangedCatalog) => Program<Result>;

export const changeFromOutside = <Result>(work: CatalogWork<Result>): Program<Result> =>
  changeCatalog((state) => work(openChanged(state)));

/** The same for an ordered task. */
export const applyFromOutside = <Result extends object>(
  order: ChangeOrder,
  work: CatalogWork<{ result: Result; isDone: boolean }>,
): Program<Result> => applyOnce(order, (state) => work(openChanged(state)));

function openChanged(state: CatalogState): ChangedCatalog {
  const { catalogVersion, derivationRevision } = state;
  return {
    newestDocument: state.nextDocumentId - 1,
    takeId: (of) => (of === 'relation' ? state.nextRelationId++ : state.nextBuildId++),
    readOntology,
    affect(what) {
      state.catalogVersion = catalogVersion + 1;
      if (what === 'derivation') state.derivationRevision = derivationRevision + 1;
    },
  };
}

/**
 * Settings for the plans of the rest of a transaction in PostgreSQL. Rows that were just copied have no statistics,
 * and rows of a new project or full update have none for a long time. The planner then estimates a million rows
 * instead of a hundred, and its plan takes minutes or days. SQLite plans only by the text of a statement.
 */

/** Uses only `set local`, which a Citus coordinator passes on to its workers (transfer/distribute.ts). */
function planBy(settings: Record<string, string>, more = ''): () => Program<number> {
  const texts = Object.entries(settings).map(([name, value]) => `set local ${name} = '${value}'`);
  const set = byEngine({
    sqlite: text('select 1 where false'),
    postgres: text(`${texts.join('; ')}${more}`),
  });
  return () => run(set);
}

/** A coordinator chooses the worker by the values of a statement, which a generic plan does not have. */
const GENERIC = `; select set_config('plan_cache_mode',
  case when current_setting('citus.version', true) is null then 'force_generic_plan' else 'force_custom_plan' end, true)`;

/** Plans statements that compare whole tables, without nested loops. Compiling a plan takes longer than it saves. */
export const planForWholeTables = planBy({
  enable_nestloop: 'off',
  enable_hashjoin: 'on',
  enable_mergejoin: 'on',
  enable_seqscan: 'on',
  enable_sort: 'on',
  work_mem: '128MB',
  jit: 'off',
});
/**
 * Plans statements that find documents by lexemes. Their index supports only bitmap scans, and a new table lacks the
 * statistics that favour them.
 */
export const planForLexemes = planBy({
  enable_nestloop: 'on',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_seqscan: 'off',
  enable_bitmapscan: 'on',
});
/**
 * Plans statements that read only the first rows of an index, or the rows of a list. A generic plan assumes that
 * every list is short.
 */
export const planForParts = planBy(
  {
    enable_nestloop: 'on',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    enable_seqscan: 'off',
    enable_sort: 'off',
    enable_bitmapscan: 'off',
    // With it, PostgreSQL would read all rows of a project and compare each with the whole list, instead of using the
    // index.
    enable_material: 'off',
  },
  GENERIC,
);

/**
 * Attributes, categories and their permanent ids. Call these functions in a transaction that holds the lock of the
 * catalog.
 */

export function* replaceOntology(state: CatalogState, requested: RequestedOntology) {
  const present = yield* readOntology();
  refuseOtherState(requested.expected, markOfOntology(present));
  const plan = identifyAttributes(present.attributes, requested.attributes, {
    known: yield* findAttributeIds(requested.attributes.map(({ name }) => name)),
    nextId: state.nextAttributeId,
  });
  if (isSameOntology(present, { ...requested, attributes: plan.attributes }))
    return { ontology: present, changed: false };
  yield* run`delete from attribute_id where ${own()} and name ${among(plan.forgotten)}`;
  yield* saveAttributeIds(plan.named);
  const past = { revision: state.ontologyRevision, attributes: JSON.stringify(present.attributes) };
  yield* run`delete from past_ontology where ${own()} and revision <= ${past.revision - CACHED_PAST}`;
  yield* run(insertRow('past_ontology', past));
  yield* run`delete from attribute where ${own()}`;
  yield* insertAttributes(plan.attributes);
  state.ontologyMode = requested.mode;
  state.unitAliases = writeAliases(requested.unitAliases);
  state.ontologyRevision += 1;
  state.nextAttributeId = plan.nextId;
  state.catalogVersion += 1;
  const { ontologyMode: mode, ontologyRevision: revision, unitAliases } = state;
  const attributes = readRows(yield* cell<string>`select ${ATTRIBUTES}`);
  return { ontology: toOntology({ mode, revision, unitAliases }, attributes), changed: true };
}

/**
 * How many past ontologies are stored. Products follow one until the task of the change has read them. A product that
 * follows an older one counts as changed.
 */
const CACHED_PAST = 20;

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

export function* reserveCategories(state: CatalogState, paths: readonly string[]): Program<void> {
  if (paths.length === 0) return;
  const idByPath = yield* findCategories(paths);
  const missing = [...new Set(paths)].filter((path) => !idByPath.has(path));
  const categories = missing.map((path) => [state.nextCategoryId++, path] as const);
  if (missing.length > 0) yield* run(insertRows('category', { id: 'bigint', path: 'text' }, categories));
}

/** The index of PostgreSQL is on hashes, because a path may be too long for an index. */
const SAME_PATH = byEngine({
  sqlite: sql`c.path = w.value`,
  postgres: sql`md5(c.path) = md5(w.value) and c.path = w.value`,
});

export const findCategories = (paths: readonly string[]): Program<ReadonlyMap<string, number>> =>
  pairs`select c.path, c.id from ${listed('w', 'text', paths)} ${lookupJoin('category', 'c', SAME_PATH)}`;

/**
 * The text by which paths are sorted: a parent comes before its descendants, and they come before its next sibling.
 * It is JSON without the closing bracket, in which a character below all others replaces each quote.
 */
const SORTED_PATH = byEngine({
  sqlite: text(`replace(substr(c.path, 1, length(c.path) - 1), '"', char(1))`),
  postgres: text(`replace(left(c.path, -1), '"', chr(1)) collate "C"`),
});
const sortPath = (path: readonly string[]) => JSON.stringify(path).slice(0, -1).replaceAll('"', '\u0001');

/** Reads all paths of a project for each page. Few projects have 100,000 paths, which take 0.1 s. */
export function* listCategoryPaths({ under, after, limit }: CategoryRange): Program<ListedCategory[]> {
  const top = sortPath(under);
  // In the text of a path, a comma precedes the next name. The hyphen is the character after the comma.
  const below = under.length === 0 ? text('true') : sql`${SORTED_PATH} < ${`${top}-`}`;
  const categories = yield* rows<{ id: number; path: string }>`select c.id, c.path from category c
    where ${own('c')} and ${SORTED_PATH} > ${top} and ${SORTED_PATH} > ${sortPath(after)} and ${below}
    order by ${SORTED_PATH} limit ${limit}`;
  return categories.map(({ id, path }) => ({ id, path: JSON.parse(path) as string[] }));
}

export function* findCategoryPath(id: number): Program<string[] | undefined> {
  const path = yield* cell<string>`select c.path from category c where ${own('c')} and c.id = ${id}`;
  return path === undefined ? undefined : (JSON.parse(path) as string[]);
}

function* findAttributeIds(names: readonly string[]): Program<ReadonlyMap<string, number>> {
  if (names.length === 0) return new Map();
  return yield* pairs`select name, id from attribute_id where ${own()} and name ${among(names)}`;
}

function* saveAttributeIds(named: readonly (readonly [name: string, id: number])[]): Program<void> {
  if (named.length === 0) return;
  const saved = insertRows('attribute_id', { name: 'text', id: 'bigint' }, named);
  yield* run`${saved} on conflict ${ownKey('name')} do update set id = excluded.id`;
}

const ATTRIBUTE_COLUMNS = {
  ...({ id: 'bigint', name: 'text', type: 'text', unit_name: 'text', decimal: 'text' } as const),
  ...({ synonyms: 'text', reason: 'text', typing: 'text' } as const),
};

/** Inserts attributes and replaces attributes with the same ids. */
export function* insertAttributes(attributes: readonly Attribute[]): Program<void> {
  if (attributes.length === 0) return;
  yield* run`delete from attribute where ${own()} and id ${among(attributes.map(({ id }) => id))}`;
  const cells = attributes.map(({ id, name, type, unitName, decimal, synonyms, reason, typing }) => [
    ...[id, name, type, unitName ?? null, decimal ?? null, JSON.stringify(synonyms ?? [])],
    ...[reason ?? null, typing ?? null],
  ]);
  yield* run(insertRows('attribute', ATTRIBUTE_COLUMNS, cells));
}
