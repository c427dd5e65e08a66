import type { CatalogFile, CatalogFiles, Operation, Program, ThreadPool } from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import { LookupAnswers, type LookupParts } from '../../lookup/lookup.ts';
import type { CatalogStore, DeletedPage } from '../../port.ts';
import { type CatalogReads, createCatalogReads } from '../catalog-reads.ts';
import { createCatalogWrites, programOperations, sharedBytesOf } from '../catalog-writes.ts';
import { type ComparedUpdate, compareStaged } from '../preview-store.ts';
import { listDeleted } from '../product-list-store.ts';
import { createFileAnswers } from './answer-store.ts';
import { applyProducts, followOntology } from './product-store.ts';
import { listStored, readCatalogVersion } from './reader-store.ts';
import { collectGarbage } from './upkeep-store.ts';
import { stageBatch } from './writer-store.ts';

export interface SqliteCatalogParts extends LookupParts {
  /** Those of the serving thread. */
  readonly files: CatalogFiles;
  /** Threads that write; one project's writes run one after another. */
  readonly writers: ThreadPool;
  /** Threads for reads that would block the serving thread. */
  readonly readers: ThreadPool;
}

export interface WriterThreadParts {
  readonly files: CatalogFiles;
  readonly derivation: Derivation;
}

/** The operations of the writing threads. */
export function writerOperations({ files, derivation }: WriterThreadParts): Record<string, Operation> {
  const write =
    <Input, Output>(work: (file: CatalogFile, input: Input, derivation: Derivation) => Output) =>
    ({ projectId, input }: { projectId: number; input: Input }) => ({
      output: work(files.open(projectId), input, derivation),
      sharedBytes: sharedBytesOf(input),
    });
  return {
    ...programOperations({
      transaction: (projectId, program) => transact(files.open(projectId), 'transaction', program),
      repeatable: (projectId, program) => transact(files.open(projectId), 'repeatable', program),
    }),
    applyProducts: write(applyProducts),
    collectGarbage: write(collectGarbage),
    followOntology: write(followOntology),
    stageBatch: write(stageBatch),
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

const transact = <Result>(file: CatalogFile, kind: 'transaction' | 'repeatable', program: Program<Result>) =>
  file[kind](() => file.perform(program));

/** The operations of the reading threads. */
export function readerOperations(files: CatalogFiles): Record<string, Operation> {
  const { readState } = readsOf(files);
  return {
    compareStaged: async ({ projectId, ...wanted }: ComparedUpdate & { projectId: number }) => ({
      output: await readState(projectId, compareStaged(wanted)),
    }),
    listDeleted: async ({ projectId, ...wanted }: DeletedPage & { projectId: number }) => ({
      output: await readState(projectId, listDeleted(wanted)),
    }),
  };
}

const readsOf = (files: CatalogFiles): CatalogReads => ({
  read: async (projectId, program) => files.open(projectId).perform(program),
  async readState(projectId, program) {
    const file = files.open(projectId);
    return file.snapshot(() => file.perform(program));
  },
});

/** The embedded store: a file per catalog, read here, written by threads. */
export function createSqliteCatalogStore({
  files,
  writers,
  readers,
  ...parts
}: SqliteCatalogParts): CatalogStore {
  const answers = new LookupAnswers(parts);
  const made = createFileAnswers();

  return {
    ...createCatalogReads(readsOf(files)),
    ...createCatalogWrites(writers),
    makeAnswers: (order, signal) => answers.make(order, signal),
    async findAnswers({ projectId, identifiers, frame }) {
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
    compareStaged: (projectId, fullUpdateId, withIdentifiers) =>
      readers.run(
        'compareStaged',
        { projectId, fullUpdateId, withIdentifiers },
        { key: projectId, unordered: true },
      ),
    listDeleted: (projectId, wanted) =>
      readers.run('listDeleted', { projectId, ...wanted }, { key: projectId, unordered: true }),
    async removeCatalog(projectId) {
      files.close(projectId);
      await writers.run('removeCatalog', { projectId }, { key: projectId });
    },
    async close() {
      files.closeAll();
    },
  };
}
