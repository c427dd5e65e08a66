import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPayloadFiles } from '../../../storage/payloads/payloads.ts';
import { callsOfThreads } from '../../../storage/programs/programs.ts';
import type { CatalogFile, CatalogFiles } from '../../../storage/sqlite/sqlite.ts';
import type { Operation, QuestionPool, ThreadPool } from '../../../storage/threads/threads.ts';
import { type Derivation, placeDerived } from '../../derivation.ts';
import {
  CachedWriter,
  catalogOf,
  LookupAnswers,
  type LookupParts,
  MADE_AT_ONCE_BYTES,
  type ServedAnswer,
} from '../../lookup/lookup.ts';
import type { AnswerWriter } from '../../ontology/ontology.ts';
import type { AnswerOrder, CatalogComparisons, CatalogSnapshots, CatalogStore } from '../../port.ts';
import { rawOf } from '../../products/documents/documents.ts';
import {
  COMPARING,
  COMPARISONS,
  comparisonOperations,
  createCatalogReads,
  createCatalogWrites,
  openSnapshot,
  type Perform,
  programOperations,
  type Transact,
} from '../operations.ts';
import type { DocumentWriter } from '../staged-store.ts';
import { readOntology } from '../state-store.ts';

/** Reads the catalog version. Every change that a reader can see raises it. */
export const readCatalogVersion = (file: CatalogFile): number =>
  Number(file.prepare("select value from meta where name = 'catalog_version'").get()?.value);

/** Catalog versions that are valid until the current turn of the event loop ends. */
const versionsOfTurn = new Map<CatalogFile, number>();

/**
 * Reads the catalog version once per turn of the event loop. A caller that received the result of a change sends its
 * next request in a later turn. Each read took simultaneous requests 10 µs, a tenth of the time of a cached answer.
 */
export function readVersionOfTurn(file: CatalogFile): number {
  if (versionsOfTurn.size === 0) setImmediate(() => versionsOfTurn.clear());
  return versionsOfTurn.getOrInsertComputed(file, readCatalogVersion);
}

/**
 * Products without a document. No commit leaves this state, but a damaged file may have it, and such a product would
 * look absent.
 */
export const PRODUCTS_WITHOUT_DOCUMENT = `select identifier as "without document" from product p
  where not exists (select 1 from document d where d.id = p.document_id) limit 10`;

/**
 * @returns the row that a lookup serves for one product, with `long` in place of an upload of more than `most` bytes;
 * it uses the unique index of identifiers
 * @throws catalog_damaged
 */
function findServed(file: CatalogFile, identifier: string, most: number) {
  const row = file
    .prepare(
      `select p.id, p.document_id as document, p.updated_at as updatedAt, iif(length(d.raw) > ?, 'long', d.raw) as raw from product p
       left join document d on d.id = p.document_id where p.identifier = ?`,
    )
    .get(most, identifier) as { raw: unknown } | undefined;
  if (row?.raw === null) throw file.refuseDamaged();
  return row as ServedRow | undefined;
}

interface ServedRow extends Pick<ServedAnswer, 'id' | 'document' | 'updatedAt'> {
  readonly raw: Uint8Array | 'long';
}

const findOrigin = (file: CatalogFile, identifier: string) =>
  file
    .prepare('select document_id as document, updated_at as "at" from product where identifier = ?')
    .get(identifier) as { document: number; at: number } | undefined;

/** Runs for each path of each product of an answer, where a program would cost more than the read. */
export function findCategoryId(file: CatalogFile, path: string): number | undefined {
  return file.prepare('select id from category where path = ?').get(path)?.id as number | undefined;
}

/** Catalogs for parsing threads. */
export const createSqliteSnapshots = (parts: {
  files: CatalogFiles;
  payloads: string;
  derivation: Derivation;
}): CatalogSnapshots => ({
  readPayload: createPayloadFiles(parts.payloads).read,
  read(projectId, budget, work) {
    const file = parts.files.open(projectId);
    const snapshot = openSnapshot(
      async (program) => file.perform(program),
      () => parts.derivation.open(file),
    );
    return file.snapshot(() => work(budget.meter(snapshot)));
  },
});

interface SqliteCatalogParts extends LookupParts {
  /** The files of the serving thread. */
  readonly files: CatalogFiles;
  /** Threads that write. The writes of one project run one after another. */
  readonly writers: ThreadPool;
  /** Threads for reads that would block the serving thread. */
  readonly readers: QuestionPool;
}

/** The embedded store: a file for each catalog. This thread reads it, and other threads write it. */
export function createSqliteCatalogStore({
  files,
  writers,
  readers,
  ...parts
}: SqliteCatalogParts): CatalogStore {
  const answers = new LookupAnswers(parts);
  const lookups = new FileLookups(files, answers);
  const writes = createCatalogWrites(writers);
  const reads = createCatalogReads(
    async (projectId, program) => files.open(projectId).perform(program),
    readStateOf(files),
  );
  return {
    ...reads,
    // A catalog that was never written has no file, and creating one takes 10 ms. A start reads the version for every
    // channel.
    readVersion: async (projectId) =>
      existsSync(files.pathOf(projectId)) ? reads.readVersion(projectId) : 0,
    ...callsOfThreads<CatalogComparisons>(COMPARISONS, (operation, projectId, input) =>
      readers.ask(operation, { projectId, input }, { key: projectId, terms: COMPARING }),
    ),
    ...writes,
    makeAnswers: (order, signal) => answers.make(order, signal),
    findAnswers: (order) => lookups.find(order),
    async removeCatalog(projectId) {
      files.close(projectId);
      await writes.removeCatalog(projectId);
    },
    async close() {
      files.closeAll();
    },
  };
}

/** Lookups in the files of the serving thread. */
class FileLookups {
  private readonly files: CatalogFiles;
  private readonly answers: LookupAnswers;
  /** Each writer lives as long as its file is open. */
  private readonly writers = new WeakMap<CatalogFile, CachedWriter>();
  private readonly following = new Map<number, Promise<void>>();

  constructor(files: CatalogFiles, answers: LookupAnswers) {
    this.files = files;
    this.answers = answers;
  }

  async find({ projectId, identifiers, frame }: AnswerOrder): ReturnType<CatalogStore['findAnswers']> {
    const { answers } = this;
    const { file: opened, cached: cachedBefore } = this.open(projectId);
    const last = cachedBefore.find(readVersionOfTurn(opened));
    const joined = last && answers.findCached(catalogOf(projectId, last), identifiers, frame);
    if (joined !== undefined) return joined;
    if (last === undefined) await this.followOnce(projectId);
    const { file, cached } = this.open(projectId);
    return file.snapshot(() => {
      const version = readCatalogVersion(file);
      const present = cached.find(version) ?? cached.follow(version, file.perform(readOntology()));
      const catalog = catalogOf(projectId, present);
      return answers.answer(catalog, { identifiers, frame }, serveFrom(file, present.writer));
    });
  }

  private open(projectId: number) {
    const file = this.files.open(projectId);
    const cached = this.writers.get(file) ?? new CachedWriter((path) => findCategoryId(file, path));
    this.writers.set(file, cached);
    return { file, cached };
  }

  /** Simultaneous lookups wait for the same read. */
  private followOnce(projectId: number): Promise<void> {
    const begin = () => this.follow(projectId).finally(() => this.following.delete(projectId));
    return this.following.getOrInsertComputed(projectId, begin);
  }

  /**
   * Follows a new ontology in two turns of the event loop, so that other requests run in between. Reading 11,400
   * attributes takes 12 ms, and following them takes as long.
   */
  private async follow(projectId: number): Promise<void> {
    const { file, cached } = this.open(projectId);
    const read = () => [readCatalogVersion(file), file.perform(readOntology())] as const;
    const [version, ontology] = file.snapshot(read);
    await nextTurn();
    cached.follow(version, ontology);
    await nextTurn();
  }
}

const readStateOf =
  (files: CatalogFiles): Perform =>
  async (projectId, program) => {
    const file = files.open(projectId);
    return file.snapshot(() => file.perform(program));
  };

/** Makes answers from uploads until a limit of bytes; the next answer is then 'long'. Call it on a snapshot. */
function serveFrom(file: CatalogFile, writer: AnswerWriter) {
  writer.begin();
  let left = MADE_AT_ONCE_BYTES;
  return {
    findOrigin: (identifier: string) => findOrigin(file, identifier),
    find(identifier: string) {
      const row = findServed(file, identifier, left);
      if (row === undefined) return undefined;
      const { raw, ...served } = row;
      if (raw === 'long') return raw;
      left -= raw.length;
      return { ...served, answer: writer.write(raw) };
    },
  };
}

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
    derivation.place(file, placeDerived(packed, planned));
  },
  removeDerived: (documents) => derivation.remove(file, documents),
  tidyDerived: () => derivation.tidy(file),
});

export const readerOperations = (files: CatalogFiles): Record<string, Operation> =>
  comparisonOperations(readStateOf(files));
