import { dropCatalogEvents, listCatalogEvents } from '../../events/events.ts';
import * as storage from '../../storage/storage.ts';
import { type BudgetTerms, type Operation, Passed, type ThreadPool } from '../../storage/threads/threads.ts';
import type { Derive } from '../derivation.ts';
import type * as port from '../port.ts';
import { type PackedProducts, transferOf } from '../products/products.ts';
import * as commits from './commit-store.ts';
import * as lists from './product-list-store.ts';
import * as search from './search-store.ts';
import * as staged from './staged-store.ts';
import * as states from './state-store.ts';
import * as undo from './undo-store.ts';

/**
 * The programs of the operations that `../port.ts` names, by how they are run. Operations that each engine
 * does in its own way are not included.
 */

const READS: storage.Programs<port.CatalogReads> = {
  readVersion: states.readCatalogVersion,
  countProducts: lists.countProducts,
  listRange: lists.listRange,
  measureDocuments: lists.measureDocuments,
  hasAny: lists.hasAny,
  getOntology: states.readOntology,
  listStagedBatches: staged.listStagedBatches,
  findStagedBatch: staged.findStagedBatch,
  listUndoableCommits: undo.listUndoableCommits,
  listEvents: listCatalogEvents,
};

const STATE_READS: storage.Programs<port.CatalogStateReads> = { findProduct: lists.findProduct };

export const COMPARISONS: storage.Programs<port.CatalogComparisons> = {
  compareStaged: commits.compareStaged,
  listDeleted: commits.listDeleted,
};

const OF_SNAPSHOT: storage.Programs<port.CatalogStateOperations> = {
  ...lists,
  ...states,
  ...search,
  ...undo,
  listStagedDocuments: commits.listStagedDocuments,
};

/** Programs that receive their input, and a writer of documents. */
type WritePrograms<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends (input: infer Input) => infer Result
    ? (input: Input, documents: staged.DocumentWriter) => storage.Program<Result>
    : never;
};

/** The work of a program under the catalog's lock, given the catalog's state. */
type Changing<Input, Result> = (
  ...given: [state: states.CatalogState, input: Input, documents: staged.DocumentWriter]
) => storage.Program<Result>;

const locked =
  <Input, Result>(program: Changing<Input, Result>) =>
  (input: Input, documents: staged.DocumentWriter) =>
    states.change((state) => program(state, input, documents));

/** For an ordered task: `isDone` if it needs no repetition. */
const once =
  <Order extends port.ChangeOrder, Result extends object>(
    program: Changing<Order, { result: Result; isDone: boolean }>,
  ) =>
  (order: Order, documents: staged.DocumentWriter) =>
    states.applyOnce(order, (state) => program(state, order, documents));

const WRITES: WritePrograms<port.CatalogWrites> = {
  replaceOntology: locked(states.replaceOntology),
  followOntology: locked(commits.followOntology),
  commit: once(commits.commit),
  applyProducts: once(commits.applyProducts),
  deleteProducts: once(commits.deleteProducts),
  restore: once(undo.restore),
  // Changes nothing that a reader sees, so it waits for no commit.
  dropEvents: dropCatalogEvents,
};

const REPEATABLES: WritePrograms<port.CatalogRepeatables> = {
  reserveIds: locked(states.reserveIds),
  stageBatch: locked(staged.stageBatch),
  dropOutdated: locked(staged.dropOutdated),
  reviewBatch: locked(staged.reviewBatch),
  keepSkipped: locked(staged.keepSkipped),
  readStagedReports: locked(staged.readStagedReports),
  collectGarbage: locked(commits.collectGarbage),
  walkSearch: locked(search.walkSearch),
};

export type Perform = <Result>(projectId: number, program: storage.Program<Result>) => Promise<Result>;

/** `readState`: on one state of the catalog. */
export const createCatalogReads = (read: Perform, readState: Perform) => ({
  ...storage.callsOfProject(READS, read),
  ...storage.callsOfProject(STATE_READS, readState),
});

/** One state of a catalog. `openDerive`: the present derivation from its products. */
export const openSnapshot = (
  read: <Result>(program: storage.Program<Result>) => Promise<Result>,
  openDerive: () => Derive | Promise<Derive>,
): port.CatalogSnapshot => ({
  ...storage.callsOfState(OF_SNAPSHOT, read),
  openDerivation: async () => ({
    revision: await read(states.readDerivationRevision()),
    derive: await openDerive(),
  }),
});

interface Order<Input> {
  readonly projectId: number;
  readonly input: Input;
}

/** The writes of a catalog store, which run in its writing threads. */
export function createCatalogWrites(writers: ThreadPool) {
  const write = (operation: string, projectId: number, input: object = {}) => {
    // Buffers of packed products, and reports as bytes, are transferred.
    const transfer = 'packed' in input ? transferOf(input.packed as PackedProducts) : [];
    if ('report' in input && input.report instanceof Uint8Array)
      transfer.push(input.report.buffer as ArrayBuffer);
    const order: Order<object> = { projectId, input };
    return writers.run<never>(operation, order, { key: projectId, transfer });
  };
  return {
    ...storage.callsOfThreads<port.CatalogWrites>(WRITES, write),
    ...storage.callsOfThreads<port.CatalogRepeatables>(REPEATABLES, write),
    removeCatalog: (projectId: number): Promise<void> => write('removeCatalog', projectId),
  };
}

/** Runs the program of a change in one transaction of an engine. */
export type Transact = <Result>(
  projectId: number,
  work: (documents: staged.DocumentWriter) => storage.Program<Result>,
) => Result | Promise<Result>;

/** The operations of the writing threads that are programs. `repeatable`: for transactions that a loss of power may undo. */
export function programOperations(transaction: Transact, repeatable: Transact): Record<string, Operation> {
  type Write = (input: never, documents: staged.DocumentWriter) => storage.Program<unknown>;
  const writeIn = (transact: Transact) => (program: Write) =>
    onCatalog((projectId, input) => transact(projectId, (documents) => program(input, documents)));
  return {
    ...storage.mapTable(WRITES, writeIn(transaction)),
    ...storage.mapTable(REPEATABLES, writeIn(repeatable)),
  };
}

/** A comparison reads a whole catalog and an open update. */
export const COMPARING: BudgetTerms = { ms: 600_000, refusal: 'question_too_long' };

/** The operations of threads that compare whole catalogs. */
export const comparisonOperations = (readState: Perform): Record<string, Operation> =>
  storage.mapTable(COMPARISONS, (program: (input: never) => storage.Program<unknown>) =>
    onCatalog((projectId, input) => readState(projectId, program(input))),
  );

/** Once the operation has ended, the thread no longer needs packed products in shared memory. */
const onCatalog =
  (work: (projectId: number, input: never) => unknown): Operation =>
  async ({ projectId, input }: Order<{ packed?: PackedProducts }>) =>
    new Passed(await work(projectId, input as never), input.packed?.bytes.length ?? 0);
