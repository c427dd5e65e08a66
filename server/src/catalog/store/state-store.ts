import {
  among,
  byEngine,
  joined,
  own,
  PROJECT,
  type Program,
  row,
  rows,
  run,
  sql,
  text,
} from '../../storage/storage.ts';
import {
  type Attribute,
  type AttributeRow,
  type Ontology,
  type OntologyMode,
  type StoredOntology,
  toOntology,
} from '../ontology/ontology.ts';
import type { ChangeOrder } from '../port.ts';

/** The state of a catalog: table `meta` of its file, its row in `catalog` in PostgreSQL. */
export interface CatalogState {
  /** Raised by every change that a reader can see. */
  catalogVersion: number;
  ontologyMode: OntologyMode;
  ontologyRevision: number;
  /** JSON object */
  unitAliases: string;
  /** Raised when other things are derived from products, for example memberships of another rule. */
  derivationRevision: number;
  nextProductId: number;
  nextDocumentId: number;
  nextAttributeId: number;
  nextCategoryId: number;
  nextUndoId: number;
  nextRelationId: number;
  nextBuildId: number;
  lastTask: number;
}

/** Of a project without any write, which has no row in PostgreSQL. */
const EMPTY: CatalogState = {
  catalogVersion: 0,
  ontologyMode: 'automatic',
  ontologyRevision: 1,
  unitAliases: '{}',
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

/** Counters that a file does not store: SQLite assigns these ids, or rows show the last one. */
const TOLD: Partial<Record<keyof CatalogState, string>> = {
  nextDocumentId: "coalesce((select seq from sqlite_sequence where name = 'document'), 0) + 1",
  nextBuildId: "coalesce((select seq from sqlite_sequence where name = 'relation_build'), 0) + 1",
  nextCategoryId: '(select coalesce(max(id), 1000000000) + 1 from category)',
  nextUndoId: `1 + max(coalesce((select max(id) from undo_log), 0),
    coalesce((select max(undo_id) from undo_change), 0))`,
};

const NAMES = Object.keys(EMPTY) as (keyof CatalogState)[];
const nameOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const inFileOf = (name: keyof CatalogState) =>
  TOLD[name] ?? `(select value from meta where name = '${nameOf(name)}')`;

const IN_FILE = text(`select ${NAMES.map((name) => `${inFileOf(name)} as "${name}"`).join(', ')}`);
const COLUMNS = text(`select ${NAMES.map((name) => `${nameOf(name)} as "${name}"`).join(', ')} from catalog`);
const LOCKED = byEngine({ sqlite: IN_FILE, postgres: sql`${COLUMNS} where ${own()} for update` });
const NEW_ROW = sql`insert into catalog (project_id) values (${PROJECT}) on conflict do nothing`;

/**
 * Locks a catalog until the transaction ends: a project has one writer at a time, on any machine. Readers do not wait.
 * @returns its state as the last writer left it
 */
export function* lockState(): Program<CatalogState> {
  const known = yield* row<CatalogState>(LOCKED);
  if (known !== undefined) return known;
  yield* run(NEW_ROW);
  return (yield* row<CatalogState>(LOCKED)) ?? EMPTY;
}

/** Writes the changed values; call `lockState` before. */
export function* saveState(
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

/** Runs `work` under the catalog's lock and saves what it sets in the state. */
export function* change<Result>(work: (state: CatalogState) => Program<Result>): Program<Result> {
  const before = yield* lockState();
  const state = { ...before };
  const result = yield* work(state);
  yield* saveState(before, state);
  return result;
}

/**
 * Does the work of an ordered task once: its number and result are written in the same transaction, so that a task
 * that runs again after a crash returns that result.
 */
export function* applyOnce<Result extends object>(
  { taskNumber }: ChangeOrder,
  work: (state: CatalogState) => Program<{ result: Result; isDone: boolean }>,
): Program<Result> {
  const before = yield* lockState();
  if (before.lastTask >= taskNumber) return JSON.parse(yield* readLastResult()) as Result;
  const state = { ...before };
  const { result, isDone } = yield* work(state);
  if (isDone) {
    Object.assign(state, { lastTask: taskNumber, lastTaskResult: JSON.stringify(result) });
    state.catalogVersion += 1;
  }
  yield* saveState(before, state);
  return result;
}

function* readLastResult(): Program<string> {
  const found = yield* row<{ result: string }>(
    byEngine({
      sqlite: sql`select value as result from meta where name = 'last_task_result'`,
      postgres: sql`select last_task_result as result from catalog where ${own()}`,
    }),
  );
  return found?.result ?? '{}';
}

const ONTOLOGY_STATE = byEngine({
  sqlite: text(`(select ${inFileOf('ontologyMode')} as mode, ${inFileOf('ontologyRevision')} as revision,
    ${inFileOf('unitAliases')} as "unitAliases")`),
  postgres: sql`(select ontology_mode as mode, ontology_revision as revision, unit_aliases as "unitAliases"
    from catalog where ${own()})`,
});

const ATTRIBUTE = text(
  'a.id, a.name, a.type, a.unit_name as "unitName", a.decimal, a.synonyms, a.reason, a.typing',
);

export const readAttributeRows = (): Program<AttributeRow[]> =>
  rows<AttributeRow>(sql`select ${ATTRIBUTE} from attribute a where ${own('a')} order by a.id`);

/** One statement: the revision and the attributes are of one state. A removed attribute list is a row of nulls. */
export function* readOntology(): Program<Ontology> {
  const found = yield* rows<AttributeRow & StoredOntology>(
    sql`select c.mode, c.revision, c."unitAliases", ${ATTRIBUTE}
      from ${ONTOLOGY_STATE} c left join attribute a on ${own('a')} order by a.id`,
  );
  const [first] = found;
  const { ontologyMode: mode, ontologyRevision: revision, unitAliases } = EMPTY;
  return toOntology(
    first ?? { mode, revision, unitAliases },
    found.filter(({ id }) => id !== null),
  );
}

/** @returns the attributes as they were until a person changed them; undefined when that is long ago */
export function* readPastOntology(revision: number): Program<readonly Attribute[] | undefined> {
  const found = yield* row<{ attributes: string }>(
    sql`select attributes from past_ontology where ${own()} and revision = ${revision}`,
  );
  return found && (JSON.parse(found.attributes) as Attribute[]);
}

function* readNumber(name: 'catalogVersion' | 'derivationRevision'): Program<number> {
  const found = yield* row<{ value: number }>(
    byEngine({
      sqlite: text(`select ${inFileOf(name)} as value`),
      postgres: sql`select ${text(nameOf(name))} as value from catalog where ${own()}`,
    }),
  );
  return found?.value ?? EMPTY[name];
}

export const readDerivationRevision = (): Program<number> => readNumber('derivationRevision');
export const readCatalogVersion = (): Program<number> => readNumber('catalogVersion');

/** A catalog that another room changes; it names what its change affects, and the version is raised for it. */
export interface ChangedCatalog {
  /** The id of the newest document; later ones are higher. */
  readonly newestDocument: number;
  /** @returns a new id, never reused */
  takeId(of: 'relation' | 'build'): number;
  readOntology(): Program<Ontology>;
  /** Says that answers change, or also what is derived from products. */
  affect(what: 'answers' | 'derivation'): void;
}

export type CatalogWork<Result> = (catalog: ChangedCatalog) => Program<Result>;

export const changeFromOutside = <Result>(work: CatalogWork<Result>): Program<Result> =>
  change((state) => work(openChanged(state)));

/** The same for the work of an ordered task. */
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
