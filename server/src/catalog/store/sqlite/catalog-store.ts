import type {
  ByteCache,
  CatalogFile,
  CatalogFiles,
  Operation,
  ThreadPool,
} from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import { LookupAnswers } from '../../lookup/lookup.ts';
import type { CatalogStore, DeletedPage } from '../../port.ts';
import { createCatalogWrites } from '../catalog-writes.ts';
import { listStagedBatches, reviewBatch } from '../commit-store.ts';
import { replaceOntology, reserveIds } from '../ontology-store.ts';
import { readOntology } from '../state-store.ts';
import { canRestore } from '../undo-store.ts';
import { deleteProducts, restore } from '../upkeep-store.ts';
import { createFileAnswers } from './answer-store.ts';
import { findCategoryPath, listCategoryPaths, lookIntoCategories } from './category-path-store.ts';
import { commit } from './commit-store.ts';
import { listCategory, listDeleted, listRange, readWalkState, walkCategories } from './product-list-store.ts';
import { applyProducts, followOntology } from './product-store.ts';
import {
  compareStaged,
  countProducts,
  findPresent,
  listStored,
  readCatalogVersion,
  readStagedReports,
} from './reader-store.ts';
import { stageBatch } from './staging-store.ts';
import { collectGarbage } from './upkeep-store.ts';
import { applying, changing } from './writer-store.ts';

export interface SqliteCatalogParts {
  /** Those of the serving thread. */
  readonly files: CatalogFiles;
  /** Threads that write; one project's writes run one after another. */
  readonly writers: ThreadPool;
  /** Threads that read what would hold up the one that serves. */
  readonly readers: ThreadPool;
  readonly cache: ByteCache;
}

export interface WriterThreadParts {
  readonly files: CatalogFiles;
  readonly derivation: Derivation;
}

/** What the writing threads do. Each operation names its project; the rest of the input is the function's. */
export function writerOperations({ files, derivation }: WriterThreadParts): Record<string, Operation> {
  const write =
    <Input, Output>(work: (file: CatalogFile, input: Input, derivation: Derivation) => Output) =>
    ({ projectId, input }: { projectId: number; input: Input }) => ({
      output: work(files.open(projectId), input, derivation),
    });
  return {
    applyProducts: write(applyProducts),
    collectGarbage: write(collectGarbage),
    commit: write(commit),
    deleteProducts: write(applying(deleteProducts)),
    followOntology: write(followOntology),
    replaceOntology: write(changing(replaceOntology)),
    reserveIds: write(changing(reserveIds)),
    restore: write(applying(restore)),
    reviewBatch: write(changing(reviewBatch)),
    stageBatch: write(stageBatch),
    walkCategories: write(walkCategories),
    closeCatalog({ projectId }: { projectId: number }) {
      files.close(projectId);
      return {};
    },
    removeCatalog({ projectId }: { projectId: number }) {
      files.remove(projectId);
      return {};
    },
  };
}

/** What the reading threads do for the store. */
export function readerOperations(files: CatalogFiles): Record<string, Operation> {
  return {
    compareStaged: ({ projectId, fullUpdateId, withIdentifiers }: CompareInput) => ({
      output: compareStaged(files.open(projectId), fullUpdateId, withIdentifiers),
    }),
    listDeleted: ({ projectId, ...wanted }: DeletedPage & { projectId: number }) => ({
      output: listDeleted(files.open(projectId), wanted),
    }),
  };
}

interface CompareInput {
  projectId: number;
  fullUpdateId: number;
  withIdentifiers: boolean;
}

/** The embedded store: a file per catalog, read here, written by threads. */
export function createSqliteCatalogStore({
  files,
  writers,
  readers,
  cache,
}: SqliteCatalogParts): CatalogStore {
  const answers = new LookupAnswers(cache);
  const made = createFileAnswers();

  return {
    ...createCatalogWrites(writers),
    async findAnswers(projectId, identifiers, frame) {
      const file = files.open(projectId);
      const present = () => ({ projectId, version: readCatalogVersion(file) });
      return (
        answers.findKept(present(), identifiers, frame) ??
        file.snapshot(() => {
          const catalog = present();
          return answers.answer(catalog, { identifiers, frame }, made.findServed(file, catalog.version));
        })
      );
    },
    async findProduct(projectId, identifier) {
      const file = files.open(projectId);
      return file.snapshot(() => made.findAnswered(file, identifier));
    },
    listProducts: async (projectId, after, limit) => listStored(files.open(projectId), after ?? '', limit),
    listRange: async (projectId, range) => listRange(files.open(projectId), range),
    listCategory: async (projectId, wanted) => listCategory(files.open(projectId), wanted),
    listCategoryPaths: async (projectId, range) => listCategoryPaths(files.open(projectId), range),
    findCategoryPath: async (projectId, key) => findCategoryPath(files.open(projectId), key),
    lookIntoCategories: async (projectId, wanted) => lookIntoCategories(files.open(projectId), wanted),
    readCategoryWalk: async (projectId) => readWalkState(files.open(projectId)),
    countProducts: async (projectId) => countProducts(files.open(projectId)),
    hasAny: async (projectId, identifiers) =>
      identifiers.some((one) => one.isWellFormed() && findPresent(files.open(projectId), one) !== undefined),
    countKnown: async (projectId, identifiers) =>
      identifiers.filter((one) => one.isWellFormed() && findPresent(files.open(projectId), one) !== undefined)
        .length,
    getOntology: async (projectId) => files.open(projectId).perform(readOntology()),
    listStagedBatches: async (projectId, fullUpdateId) =>
      files.open(projectId).perform(listStagedBatches(fullUpdateId)),
    readStagedReports: async (projectId, fullUpdateId) =>
      readStagedReports(files.open(projectId), fullUpdateId),
    compareStaged: (projectId, fullUpdateId, withIdentifiers) =>
      readers.run(
        'compareStaged',
        { projectId, fullUpdateId, withIdentifiers },
        { key: projectId, unordered: true },
      ),
    listDeleted: (projectId, wanted) =>
      readers.run('listDeleted', { projectId, ...wanted }, { key: projectId, unordered: true }),
    canRestore: async (projectId) => files.open(projectId).perform(canRestore()),
    async removeCatalog(projectId) {
      files.close(projectId);
      await writers.run('removeCatalog', { projectId }, { key: projectId });
    },
    async close() {
      files.closeAll();
    },
  };
}
