import { dropCatalogEvents, listCatalogEvents } from '../../events/events.ts';
import {
  callsOfProject,
  callsOfState,
  callsOfThreads,
  mapTable,
  type Program,
  type Programs,
} from '../../storage/storage.ts';
import { type Operation, Passed, type ThreadPool } from '../../storage/threads/threads.ts';
import type * as port from '../port.ts';
import { type PackedProducts, transferOf } from '../products/products.ts';
import {
  applyProducts,
  collectGarbage,
  commit,
  compareStaged,
  deleteProducts,
  followOntology,
  listDeleted,
  listStagedDocuments,
} from './commit-store.ts';
import {
  countProducts,
  countRange,
  findPatched,
  findProduct,
  hasAny,
  listById,
  listOutdated,
  listRange,
  measureDocuments,
  readLargestId,
} from './product-list-store.ts';
import {
  countHits,
  findLiving,
  listDocuments,
  listFronts,
  listHits,
  listPlaces,
  listTail,
  listWords,
  prepareWalk,
  readSearchState,
  walkSearch,
  weighDocuments,
} from './search-store.ts';
import {
  type DocumentWriter,
  dropOutdated,
  keepSkipped,
  listStagedBatches,
  readStagedReports,
  reviewBatch,
  stageBatch,
} from './staged-store.ts';
import {
  applyOnce,
  type CatalogState,
  change,
  findCategoryIds,
  findCategoryPath,
  listCategoryPaths,
  readCatalogVersion,
  readOntology,
  readPastOntology,
  replaceOntology,
  reserveIds,
} from './state-store.ts';
import {
  listCommitChanges,
  listProductChanges,
  listUndoableCommits,
  restore,
  weighRestore,
} from './undo-store.ts';

/**
 * The programs of the operations that `../port.ts` names, by how they are run. Only what each engine does in its own way is not
 * among them.
 */

const READS: Programs<port.CatalogReads> = {
  ...{ readVersion: readCatalogVersion, countProducts, listRange, measureDocuments, hasAny },
  ...{ getOntology: readOntology, listStagedBatches, listUndoableCommits, listEvents: listCatalogEvents },
};

const STATE_READS: Programs<port.CatalogStateReads> = { findProduct };

export const COMPARISONS: Programs<port.CatalogComparisons> = { compareStaged, listDeleted };

const OF_SNAPSHOT: Programs<port.CatalogStateOperations> = {
  ...{ listRange, measureDocuments, findProduct, readOntology, readCatalogVersion, readPastOntology },
  ...{ findCategories: findCategoryIds, findPatched, listOutdated, countRange, listById, readLargestId },
  ...{ readSearchState, prepareWalk, listHits, countHits, listPlaces, listWords, listTail },
  ...{ listDocuments, listFronts, weighDocuments, listCategoryPaths, findCategoryPath, findLiving },
  ...{ listCommitChanges, listProductChanges, weighRestore, listStagedDocuments },
};

/** A program of a change gets the state of the catalog, its input, and how documents are written. */
type Changing<Input extends unknown[], Result> = (
  ...given: [state: CatalogState, ...input: Input, documents: DocumentWriter]
) => Program<Result>;

type ChangePrograms<Table> = {
  [Name in keyof Table]: Table[Name] extends (...input: infer Input) => infer Result
    ? Changing<Input, Result>
    : never;
};

/** Of ordered tasks: `isDone` when the task needs no repetition. */
type TaskPrograms<Table> = {
  [Name in keyof Table]: Table[Name] extends (...input: infer Input) => infer Result
    ? Changing<Input, { result: Result; isDone: boolean }>
    : never;
};

const CHANGES: ChangePrograms<port.CatalogChanges> = { replaceOntology, followOntology };

const EVENT_CHANGES: Programs<port.CatalogEventChanges> = { dropEvents: dropCatalogEvents };

const REPEATABLES: ChangePrograms<port.CatalogRepeatables> = {
  ...{ stageBatch, dropOutdated, reviewBatch, keepSkipped, readStagedReports, reserveIds },
  ...{ collectGarbage, walkSearch },
};

const TASKS: TaskPrograms<port.CatalogTasks> = { commit, applyProducts, deleteProducts, restore };

/** Runs a program on a catalog. */
export type Perform = <Result>(projectId: number, program: Program<Result>) => Promise<Result>;

/** `readState`: on one state of the catalog. */
export const createCatalogReads = (read: Perform, readState: Perform) => ({
  ...callsOfProject(READS, read),
  ...callsOfProject(STATE_READS, readState),
});

export const createSnapshotReads = (read: <Result>(program: Program<Result>) => Promise<Result>) =>
  callsOfState(OF_SNAPSHOT, read);

/** What a writing thread gets. */
interface Order<Input> {
  readonly projectId: number;
  readonly input: Input;
}

/** The writes of a catalog store, which its writing threads do. */
export function createCatalogWrites(writers: ThreadPool) {
  const write = (operation: string, projectId: number, input: object = {}) => {
    // Buffers of packed products are transferred.
    const transfer = 'packed' in input ? transferOf(input.packed as PackedProducts) : [];
    const order: Order<object> = { projectId, input };
    return writers.run<never>(operation, order, { key: projectId, transfer });
  };
  return {
    ...callsOfThreads<port.CatalogChanges>(CHANGES, write),
    ...callsOfThreads<port.CatalogEventChanges>(EVENT_CHANGES, write),
    ...callsOfThreads<port.CatalogRepeatables>(REPEATABLES, write),
    ...callsOfThreads<port.CatalogTasks>(TASKS, write),
    removeCatalog: (projectId: number): Promise<void> => write('removeCatalog', projectId),
  };
}

/** Runs the program of a change in one transaction of an engine. */
export type Transact = <Result>(
  projectId: number,
  work: (documents: DocumentWriter) => Program<Result>,
) => Result | Promise<Result>;

/** What the writing threads do by programs. `repeatable`: transactions that a loss of power may take. */
export function programOperations(transaction: Transact, repeatable: Transact): Record<string, Operation> {
  type Changing = (state: CatalogState, input: never, documents: DocumentWriter) => Program<unknown>;
  type Ordered = (
    ...given: [state: CatalogState, order: port.ChangeOrder, documents: DocumentWriter]
  ) => Program<{ result: object; isDone: boolean }>;
  const changing = (transact: Transact) => (program: Changing) =>
    onCatalog<never>((projectId, input) =>
      transact(projectId, (documents) => change((state) => program(state, input, documents))),
    );
  return {
    ...mapTable(CHANGES, changing(transaction)),
    ...mapTable(REPEATABLES, changing(repeatable)),
    ...mapTable(EVENT_CHANGES, (program: (input: never) => Program<unknown>) =>
      onCatalog<never>((projectId, input) => transaction(projectId, () => program(input))),
    ),
    ...mapTable(TASKS, (program: Ordered) =>
      onCatalog<port.ChangeOrder>((projectId, order) =>
        transaction(projectId, (documents) => applyOnce(order, (state) => program(state, order, documents))),
      ),
    ),
  };
}

/** The operations of threads that compare whole catalogs. */
export const comparisonOperations = (readState: Perform): Record<string, Operation> =>
  mapTable(COMPARISONS, (program: (input: never) => Program<unknown>) =>
    onCatalog<never>((projectId, input) => readState(projectId, program(input))),
  );

/** The thread needs packed products in shared memory no more when the operation has ended. */
const onCatalog =
  <Input>(work: (projectId: number, input: Input) => unknown): Operation =>
  async ({ projectId, input }: Order<Input & { packed?: PackedProducts }>) =>
    new Passed(await work(projectId, input), input.packed?.bytes.length ?? 0);
