import { dropCatalogEvents, listCatalogEvents } from '../../events/events.ts';
import {
  callsOfProject,
  callsOfState,
  callsOfThreads,
  mapTable,
  type Program,
  type Programs,
} from '../../storage/programs/programs.ts';
import { type BudgetTerms, type Operation, Passed, type ThreadPool } from '../../storage/threads/threads.ts';
import type { Derive } from '../derivation.ts';
import type {
  CatalogComparisons,
  CatalogReads,
  CatalogRepeatables,
  CatalogSnapshot,
  CatalogStateOperations,
  CatalogStateReads,
  CatalogWrites,
  ChangeOrder,
} from '../port.ts';
import { type PackedProducts, transferOf } from '../products/documents/documents.ts';
import {
  applyProducts,
  collectGarbage,
  commitFullUpdate,
  compareStaged,
  deleteProducts,
  describeDeleted,
  followOntology,
  listDeleted,
  listStagedDocuments,
  reserveNames,
} from './commit-store.ts';
import {
  countProducts,
  findPatched,
  findPresent,
  findProduct,
  hasAny,
  listById,
  listDocuments,
  listFronts,
  listOutdated,
  listRange,
  measureDocuments,
  readLargestId,
  weighDocuments,
} from './product-list-store.ts';
import {
  type DocumentWriter,
  dropOutdated,
  findStagedBatch,
  keepSkipped,
  listStagedBatches,
  readStagedReports,
  reviewBatch,
  stageBatch,
} from './staged-store.ts';
import {
  applyOnce,
  type CatalogState,
  changeCatalog,
  findCategories,
  findCategoryPath,
  listCategoryPaths,
  readCatalogVersion,
  readDerivationRevision,
  readOntology,
  readPastOntology,
  replaceOntology,
  reserveIds,
} from './state-store.ts';
import {
  listCommitChanges,
  listProductChanges,
  listUndoableCommits,
  restoreCommit,
  weighRestore,
} from './undo-store.ts';

/**
 * The programs of the operations in `../port.ts`, grouped by the way in which they run. Operations that each engine
 * implements in its own way are not included.
 */

const READS: Programs<CatalogReads> = {
  readVersion: readCatalogVersion,
  countProducts,
  listRange,
  measureDocuments,
  hasAny,
  getOntology: readOntology,
  listStagedBatches,
  findStagedBatch,
  listUndoableCommits,
  listEvents: listCatalogEvents,
};

const STATE_READS: Programs<CatalogStateReads> = { findProduct };

export const COMPARISONS: Programs<CatalogComparisons> = {
  compareStaged,
  listDeleted,
};

const OF_SNAPSHOT: Programs<CatalogStateOperations> = {
  findProduct,
  countProducts,
  listRange,
  measureDocuments,
  listStagedBatches,
  findStagedBatch,
  readOntology,
  readCatalogVersion,
  readPastOntology,
  findCategories,
  findPresent,
  findPatched,
  listOutdated,
  listById,
  readLargestId,
  listCategoryPaths,
  findCategoryPath,
  listDocuments,
  listFronts,
  weighDocuments,
  listCommitChanges,
  listProductChanges,
  weighRestore,
  listStagedDocuments,
};

/** Programs that receive their input and a writer of documents. */
type WritePrograms<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends (input: infer Input) => infer Result
    ? (input: Input, documents: DocumentWriter) => Program<Result>
    : never;
};

/** A program that runs under the lock of the catalog and receives the state of the catalog. */
type Changing<Input, Result> = (
  ...args: [state: CatalogState, input: Input, documents: DocumentWriter]
) => Program<Result>;

const locked =
  <Input, Result>(program: Changing<Input, Result>) =>
  (input: Input, documents: DocumentWriter) =>
    changeCatalog((state) => program(state, input, documents));

/** Runs the program of an ordered task; `isDone` is false if the task must repeat it. */
const once =
  <Order extends ChangeOrder, Result extends object>(
    program: Changing<Order, { result: Result; isDone: boolean }>,
  ) =>
  (order: Order, documents: DocumentWriter) =>
    applyOnce(order, (state) => program(state, order, documents));

const WRITES: WritePrograms<CatalogWrites> = {
  replaceOntology: locked(replaceOntology),
  followOntology: locked(followOntology),
  commit: once(commitFullUpdate),
  applyProducts: once(applyProducts),
  *deleteProducts(order, documents) {
    return describeDeleted(yield* once(deleteProducts)(order, documents));
  },
  restore: once(restoreCommit),
  // Changes nothing that a reader sees, so it need not wait for a commit.
  dropEvents: dropCatalogEvents,
};

const REPEATABLES: WritePrograms<CatalogRepeatables> = {
  reserveNames: locked(reserveNames),
  reserveIds: locked(reserveIds),
  stageBatch: locked(stageBatch),
  dropOutdated: locked(dropOutdated),
  reviewBatch: locked(reviewBatch),
  keepSkipped: locked(keepSkipped),
  readStagedReports: locked(readStagedReports),
  collectGarbage: locked(collectGarbage),
};

export type Perform = <Result>(projectId: number, program: Program<Result>) => Promise<Result>;

/** @param readState reads one state of the catalog */
export const createCatalogReads = (read: Perform, readState: Perform) => ({
  ...callsOfProject(READS, read),
  ...callsOfProject(STATE_READS, readState),
});

/** Opens one state of a catalog. `openDerive` opens the present derivation from its products. */
export const openSnapshot = (
  read: <Result>(program: Program<Result>) => Promise<Result>,
  openDerive: () => Derive | Promise<Derive>,
): CatalogSnapshot => ({
  ...callsOfState(OF_SNAPSHOT, read),
  openDerivation: async () => ({
    revision: await read(readDerivationRevision()),
    derive: await openDerive(),
  }),
  perform: read,
});

interface Order<Input> {
  readonly projectId: number;
  readonly input: Input;
}

/** The writes of a catalog store. They run in the writing threads of the store. */
export function createCatalogWrites(writers: ThreadPool) {
  const write = (operation: string, projectId: number, input: object = {}) => {
    // The buffers of packed products and the bytes of reports are transferred, not copied.
    const transfer = 'packed' in input ? transferOf(input.packed as PackedProducts) : [];
    if ('report' in input && input.report instanceof Uint8Array)
      transfer.push(input.report.buffer as ArrayBuffer);
    const order: Order<object> = { projectId, input };
    return writers.run<never>(operation, order, { key: projectId, transfer });
  };
  return {
    ...callsOfThreads<CatalogWrites>(WRITES, write),
    ...callsOfThreads<CatalogRepeatables>(REPEATABLES, write),
    removeCatalog: (projectId: number): Promise<void> => write('removeCatalog', projectId),
  };
}

/** Runs the program of a change in one transaction of an engine. */
export type Transact = <Result>(
  projectId: number,
  work: (documents: DocumentWriter) => Program<Result>,
) => Result | Promise<Result>;

/**
 * The operations of the writing threads that are programs. `repeatable` runs transactions that a loss of power may
 * undo.
 */
export function programOperations(transaction: Transact, repeatable: Transact): Record<string, Operation> {
  type Write = (input: never, documents: DocumentWriter) => Program<unknown>;
  const writeIn = (transact: Transact) => (program: Write) =>
    onCatalog((projectId, input) => transact(projectId, (documents) => program(input, documents)));
  return {
    ...mapTable(WRITES, writeIn(transaction)),
    ...mapTable(REPEATABLES, writeIn(repeatable)),
  };
}

/** The budget of a comparison, which reads a whole catalog and an open full update. */
export const COMPARING: BudgetTerms = { ms: 600_000, refusal: 'question_too_long' };

/** The operations of threads that compare whole catalogs. */
export const comparisonOperations = (readState: Perform): Record<string, Operation> =>
  mapTable(COMPARISONS, (program: (input: never) => Program<unknown>) =>
    onCatalog((projectId, input) => readState(projectId, program(input))),
  );

/**
 * Reports the size of packed products when the operation has ended, because the thread then no longer needs their
 * shared memory. Only the operation knows its input.
 */
const onCatalog =
  (work: (projectId: number, input: never) => unknown): Operation =>
  async ({ projectId, input }: Order<{ packed?: PackedProducts }>) =>
    new Passed(await work(projectId, input as never), input.packed?.bytes.length ?? 0);
