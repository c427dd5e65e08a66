import type { CatalogFile, CatalogFiles } from '../../../storage/sqlite/sqlite.ts';
import { callsOfThreads } from '../../../storage/storage.ts';
import type { Operation, ThreadPool } from '../../../storage/threads/threads.ts';
import { type Derivation, listDerived } from '../../derivation.ts';
import { CachedWriter, LookupAnswers, type LookupParts, MADE_AT_ONCE_BYTES } from '../../lookup/lookup.ts';
import type { AnswerWriter } from '../../ontology/ontology.ts';
import type { CatalogComparisons, CatalogStore, ChangeOrder } from '../../port.ts';
import { rawOf } from '../../products/products.ts';
import {
  COMPARISONS,
  comparisonOperations,
  createCatalogReads,
  createCatalogWrites,
  type Perform,
  programOperations,
  type Transact,
} from '../operations.ts';
import type { DocumentWriter } from '../staged-store.ts';
import { applyFromOutside, type CatalogWork, changeFromOutside, readOntology } from '../state-store.ts';
import { findCategoryId, findServed, readCatalogVersion } from './reader-store.ts';

export interface SqliteCatalogParts extends LookupParts {
  /** Those of the serving thread. */
  readonly files: CatalogFiles;
  /** Threads that write; one project's writes run one after another. */
  readonly writers: ThreadPool;
  /** Threads for reads that would block the serving thread. */
  readonly readers: ThreadPool;
}

/** The embedded store: a file per catalog, read here, written by threads. */
export function createSqliteCatalogStore({
  files,
  writers,
  readers,
  ...parts
}: SqliteCatalogParts): CatalogStore {
  const answers = new LookupAnswers(parts);
  const openWriter = createAnswerWriters();
  const writes = createCatalogWrites(writers);
  return {
    ...createCatalogReads(
      async (projectId, program) => files.open(projectId).perform(program),
      readStateOf(files),
    ),
    ...callsOfThreads<CatalogComparisons>(COMPARISONS, (operation, projectId, input) =>
      readers.run(operation, { projectId, input }, { key: projectId, unordered: true }),
    ),
    ...writes,
    makeAnswers: (order, signal) => answers.make(order, signal),
    async findAnswers({ projectId, identifiers, frame }) {
      const file = files.open(projectId);
      const present = () => ({ projectId, version: readCatalogVersion(file) });
      return (
        answers.findCached(present(), identifiers, frame) ??
        file.snapshot(() => {
          const catalog = present();
          const find = serveFrom(file, openWriter(file, catalog.version));
          return answers.answer(catalog, { identifiers, frame }, find);
        })
      );
    },
    async removeCatalog(projectId) {
      files.close(projectId);
      await writes.removeCatalog(projectId);
    },
    async close() {
      files.closeAll();
    },
  };
}

const readStateOf =
  (files: CatalogFiles): Perform =>
  async (projectId, program) => {
    const file = files.open(projectId);
    return file.snapshot(() => file.perform(program));
  };

/** Makers of answers of catalog files, each for as long as its file is open. */
function createAnswerWriters() {
  const writers = new WeakMap<CatalogFile, CachedWriter>();
  return (file: CatalogFile, version: number): AnswerWriter => {
    const cached = writers.get(file) ?? new CachedWriter((path) => findCategoryId(file, path));
    writers.set(file, cached);
    return cached.find(version) ?? cached.follow(version, file.perform(readOntology()));
  };
}

/** Answers made of uploads, up to so many bytes: then an answer is 'long'. Call it on a snapshot. */
function serveFrom(file: CatalogFile, writer: AnswerWriter) {
  writer.begin();
  let left = MADE_AT_ONCE_BYTES;
  return (identifier: string) => {
    const found = findServed(file, identifier, left);
    if (found === undefined) return undefined;
    const { id, updatedAt, raw } = found;
    if (raw === 'long') return raw;
    left -= raw.length;
    return { id, updatedAt, answer: writer.write(raw) };
  };
}

/** The operations of the writing threads. */
export function writerOperations({
  files,
  derivation,
}: {
  readonly files: CatalogFiles;
  readonly derivation: Derivation;
}): Record<string, Operation> {
  const inFile =
    (kind: 'transaction' | 'repeatable'): Transact =>
    (projectId, work) => {
      const file = files.open(projectId);
      return file[kind](() => file.perform(work(writeTo(file, derivation))));
    };
  return {
    ...programOperations(inFile('transaction'), inFile('repeatable')),
    removeCatalog({ projectId }: { projectId: number }) {
      files.remove(projectId);
      return {};
    },
  };
}

const writeTo = (file: CatalogFile, derivation: Derivation): DocumentWriter => ({
  write(packed, planned) {
    const statement = file.prepare(
      "insert into document (id, product_id, former_answer, raw) values (?, ?, x'', ?)",
    );
    for (const { row, id, productId } of planned) statement.run(id, productId, rawOf(packed, row));
    derivation.place(file, listDerived(packed, planned));
  },
  removeDerived: (documents) => derivation.remove(file, documents),
});

/** A change by another room. */
export const changeSqliteCatalog = <Result>(file: CatalogFile, work: CatalogWork<Result>): Result =>
  file.transaction(() => file.perform(changeFromOutside(work)));

/** The same for the work of an ordered task. */
export const applySqliteChange = <Result extends object>(
  file: CatalogFile,
  order: ChangeOrder,
  work: CatalogWork<{ result: Result; isDone: boolean }>,
): Result => file.transaction(() => file.perform(applyFromOutside(order, work)));

/** The operations of the reading threads. */
export const readerOperations = (files: CatalogFiles): Record<string, Operation> =>
  comparisonOperations(readStateOf(files));
