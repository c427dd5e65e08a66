import type { CatalogSnapshot, CatalogSnapshots } from '../../catalog/catalog.ts';
import { changeCatalog } from '../../catalog/store/store.ts';
import type { Postgres } from '../../storage/postgres/postgres.ts';
import { mapTable, type Program, performOn } from '../../storage/programs/programs.ts';
import type { CatalogFiles } from '../../storage/sqlite/sqlite.ts';
import type { Budget, Operation, ThreadPool } from '../../storage/threads/threads.ts';
import type { PreparedWalk, SearchStep } from '../search-port.ts';
import {
  countEntries,
  countHits,
  findBegun,
  findLiving,
  listHits,
  listPlaces,
  listTail,
  listWords,
  readSearchState,
} from './index-reads-store.ts';
import { prepareWalk, type WalkedIndex, walkSearch } from './index-walk-store.ts';

/**
 * The operations of the index, by the threads that run them. Each call on a `SearchedCatalog` has the type of its
 * program. So go-to-definition leads from the call to this table, and from the table to the statement.
 */

/** Reads on one state of a catalog. */
const READS = {
  readSearchState,
  listHits,
  countEntries,
  countHits,
  listPlaces,
  listWords,
  findBegun,
  findLiving,
  listTail,
};

type CallsOf<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends (...input: infer Input) => Program<infer Result>
    ? (...input: Input) => Promise<Result>
    : never;
};

/** One state of a catalog, with its index. */
export type SearchedCatalog = CatalogSnapshot & CallsOf<typeof READS>;

export const openSearched = (snapshot: CatalogSnapshot): SearchedCatalog => ({
  ...snapshot,
  ...(mapTable(
    READS,
    (program: (...input: never[]) => Program<unknown>) =>
      (...input: never[]) =>
        snapshot.perform(program(...input)),
  ) as CallsOf<typeof READS>),
});

interface PlaceInIndex {
  readonly projectId: number;
  /** The document before the next one to read. */
  readonly after: number;
}

interface WalkOrder {
  readonly projectId: number;
  readonly input: WalkedIndex;
}

/** The writes of the index, for the serving thread. */
export interface SearchStore {
  /** Prepares the documents after `after`, which the index gets next; a parsing thread does it. */
  prepareWalk(projectId: number, after: number): Promise<PreparedWalk>;
  walkSearch(projectId: number, walked: WalkedIndex): Promise<SearchStep>;
}

/**
 * @param parsers threads that parse
 * @param writers threads that write; the writes of one project run one after another
 */
export const createSearchStore = ({
  parsers,
  writers,
}: Readonly<Record<'parsers' | 'writers', ThreadPool>>): SearchStore => ({
  prepareWalk(projectId, after) {
    const order: PlaceInIndex = { projectId, after };
    return parsers.run('prepareWalk', order, { key: projectId, unordered: true });
  },
  walkSearch(projectId, input) {
    const order: WalkOrder = { projectId, input };
    return writers.run('walkSearch', order, { key: projectId });
  },
});

/** The operations of the parsing threads. */
export const indexParserOperations = (snapshots: CatalogSnapshots) => ({
  prepareWalk: ({ projectId, after }: PlaceInIndex, budget: Budget) =>
    snapshots.read(projectId, budget, (snapshot) => snapshot.perform(prepareWalk(after))),
});

/** Runs a program in one transaction. A loss of power may undo it, because a lost step is repeated. */
type Transact = <Result>(projectId: number, program: Program<Result>) => Result | Promise<Result>;

const writerOperations = (transact: Transact): Record<string, Operation> => ({
  walkSearch: ({ projectId, input }: WalkOrder) =>
    transact(
      projectId,
      changeCatalog((state) => walkSearch(state, input)),
    ),
});

/** The operations of the writing threads of the embedded store. */
export const indexWriterOperations = (files: CatalogFiles) =>
  writerOperations((projectId, program) => {
    const file = files.open(projectId);
    return file.repeatable(() => file.perform(program));
  });

/** The same for PostgreSQL. */
export const postgresIndexWriterOperations = (postgres: Postgres) =>
  writerOperations((projectId, program) => postgres.repeatable((tx) => performOn(tx, projectId, program)));
