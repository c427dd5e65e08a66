import type { BatchDerivation, Derivation, PlacedDocument } from '../../../src/catalog/derivation.ts';
import { madeAnswerOperations } from '../../../src/catalog/lookup/long-answers.ts';
import type { CatalogSnapshots, CatalogStore } from '../../../src/catalog/port.ts';
import {
  createPostgresCatalogStore,
  createPostgresSnapshots,
  postgresWriterOperations,
} from '../../../src/catalog/store/postgres/catalog-store.ts';
import {
  createSqliteCatalogStore,
  createSqliteSnapshots,
  readerOperations,
  writerOperations,
} from '../../../src/catalog/store/sqlite/catalog-store.ts';
import type { Postgres } from '../../../src/storage/postgres/postgres.ts';
import { CatalogFile, CatalogFiles } from '../../../src/storage/sqlite/sqlite.ts';
import { createByteCache } from '../../../src/storage/storage.ts';
import {
  type AskOptions,
  Budget,
  BufferPool,
  type Operation,
  Passed,
  type ThreadPool,
} from '../../../src/storage/threads/threads.ts';

/** One project's catalog in a store, as its processes use it, with direct access to its tables. */
export interface CatalogUnderTest {
  readonly projectId: number;
  readonly store: CatalogStore;
  readonly snapshots: CatalogSnapshots;
  /** Derivations: the product of each document. */
  readonly derived: Map<number, number>;
  rows<Table extends keyof CatalogTables>(table: Table): Promise<CatalogTables[Table][]>;
  /** @returns all rows of all tables with rows of a project's catalog */
  readAll(): Promise<Record<string, unknown[]>>;
}

/** The tables of a catalog, equal in both stores. */
export interface CatalogTables {
  readonly product: ProductRow;
  readonly document: { id: number; product_id: number; former_answer: string; raw: string };
  readonly staged_batch: StagedRow;
  readonly undo_log: { id: number; task_number: number; at: number };
  readonly undo_change: UndoRow;
  readonly undo_created: { undo_id: number; first_product: number; first_document: number; created: number };
  readonly garbage_document: { document_id: number };
}

export interface ProductRow {
  readonly id: number;
  readonly identifier: string;
  readonly document_id: number;
  /** Hexadecimal. */
  readonly hash: string;
  readonly ontology_revision: number;
  readonly updated_at: number;
  readonly updated_by: number;
}

interface StagedRow {
  readonly full_update_id: number;
  readonly batch: number;
  readonly extracted_by: string;
  readonly report: string;
  readonly first_document: number;
  readonly created: number;
  readonly changed: number;
  /** Hexadecimal. */
  readonly hashes: string;
}

interface UndoRow {
  readonly undo_id: number;
  readonly product_id: number;
  readonly identifier: string;
  readonly document_before: number | null;
  readonly document_after: number | null;
  readonly revision_before: number | null;
}

const TABLES = [
  ...['product', 'document', 'staged_batch'],
  ...['undo_log', 'undo_change', 'undo_created', 'garbage_document'],
] as const;

const CACHE_BYTES = 4 * 1024 * 1024;

/** More than any catalog of these tests has. */
const ALL = 10_000;

/** @returns all products, by identifier, with their whole uploads */
export const listAll = async (store: CatalogStore, projectId: number) =>
  (await store.listRange(projectId, { from: '', isAfter: false, to: undefined, limit: ALL, isWhole: true }))
    .rows;

/** Runs the operations of threads in this thread. Each starts only when its caller waits. */
function inThisThread(operations: Record<string, Operation>): ThreadPool {
  async function answer<Output>(name: string, input: unknown, budget = Budget.unlimited()) {
    // Only the operation knows the type of its input, like across threads.
    const made = typeof input === 'function' ? input() : input;
    const answered = await operations[name]?.(made as never, budget);
    return (answered instanceof Passed ? answered.output : answered) as Output;
  }
  return {
    async ask<Output>(name: string, input: unknown, { terms, onUnanswered }: AskOptions) {
      try {
        return await answer<Output>(name, input, new Budget(terms));
      } catch (error) {
        onUnanswered?.();
        throw error;
      }
    },
    run: (name, input) => answer(name, input),
    start() {},
    async close() {},
    async end() {},
  };
}

/** A catalog of the embedded store, in memory. */
export function openEmbeddedCatalog(projectId: number): CatalogUnderTest {
  const files = new MemoryFiles();
  const derived = new Map<number, number>();
  const derivation = recordEach(derived);
  const read = (sql: string) => files.open(projectId).prepare(sql).all().map(toRow);
  const rows = async (table: string) => read(`select * from ${table}`);
  const snapshots = createSqliteSnapshots({ files, payloads: '', derivation });
  return {
    projectId,
    derived,
    store: createSqliteCatalogStore({
      files,
      writers: inThisThread(writerOperations({ files, derivation })),
      readers: inThisThread(readerOperations(files)),
      makers: inThisThread(madeAnswerOperations(snapshots)),
      cache: createByteCache(CACHE_BYTES),
      buffers: new BufferPool(),
    }),
    snapshots,
    rows: rows as CatalogUnderTest['rows'],
    readAll: () => collect(TABLES, rows),
  };
}

/** The catalog files of a thread, in memory. */
class MemoryFiles extends CatalogFiles {
  private readonly opened = new Map<number, CatalogFile>();

  constructor() {
    super('');
  }

  override pathOf(): string {
    return ':memory:';
  }

  override open(projectId: number): CatalogFile {
    return this.opened.getOrInsertComputed(projectId, () => new CatalogFile(':memory:'));
  }

  override close(): void {}

  override closeAll(): void {
    for (const projectId of [...this.opened.keys()]) this.remove(projectId);
  }

  override remove(projectId: number): void {
    this.opened.get(projectId)?.database.close();
    this.opened.delete(projectId);
  }
}

/** Reads and writes on PostgreSQL. Catalogs with the same `projectId` are one catalog, seen by several processes. */
export function openPostgresCatalog(
  postgres: Postgres,
  projectId: number,
  derived = new Map<number, number>(),
): CatalogUnderTest {
  const derivation = recordAll(derived);
  const writers = inThisThread(postgresWriterOperations({ postgres, derivation }));
  const rows = async (table: string) => {
    const rows = await postgres.rows<Record<string, unknown>>(
      `select * from ${table} where project_id = $1`,
      [projectId],
    );
    return rows.map(toRow);
  };
  const snapshots = createPostgresSnapshots({
    postgres,
    derivation,
    readPayload: async () => new Uint8Array(),
  });
  return {
    projectId,
    derived,
    store: createPostgresCatalogStore({
      postgres,
      readPostgres: () => postgres,
      writers,
      makers: inThisThread(madeAnswerOperations(snapshots)),
      cache: createByteCache(CACHE_BYTES),
      buffers: new BufferPool(),
    }),
    snapshots,
    rows: rows as CatalogUnderTest['rows'],
    async readAll() {
      const tables = await postgres.rows<{ name: string }>(
        `select table_name as name from information_schema.columns
         where table_schema = 'public' and column_name = 'project_id' order by 1`,
      );
      return collect(
        tables.map(({ name }) => name),
        rows,
      );
    },
  };
}

async function collect(
  tables: readonly string[],
  rows: (table: string) => Promise<unknown[]>,
): Promise<Record<string, unknown[]>> {
  const all: Record<string, unknown[]> = {};
  for (const table of tables) all[table] = sortRows(await rows(table));
  return all;
}

const sortRows = (rows: readonly unknown[]) =>
  rows
    .map((row) => [JSON.stringify(row), row] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, row]) => row);

/** The same row for the same content in both stores. */
function toRow({ project_id: _, ...row }: Record<string, unknown>): Record<string, unknown> {
  const columns = Object.entries(row).map(([name, value]) => [name, readColumn(name, value)]);
  return Object.fromEntries(columns) as Record<string, unknown>;
}

/** The embedded store has texts of documents as bytes. */
function readColumn(name: string, value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value;
  const bytes = Buffer.from(value);
  return bytes.toString(name === 'former_answer' || name === 'raw' ? 'utf8' : 'hex');
}

/** A derivation that records its calls. */
function recordEach(derived: Map<number, number>): Derivation {
  const note = notes(derived);
  return {
    open: () => () => undefined,
    place: (_, { documents }) => documents.forEach(note.place),
    remove: (_, documents) => documents.forEach(note.remove),
    tidy: () => false,
  };
}

function recordAll(derived: Map<number, number>): BatchDerivation {
  const note = notes(derived);
  return {
    open: async () => () => undefined,
    place: async (_tx, _projectId, { documents }) => documents.forEach(note.place),
    remove: async (_tx, _projectId, documents) => documents.forEach(note.remove),
  };
}

function notes(derived: Map<number, number>) {
  return {
    place: ({ id, productId }: PlacedDocument) => void derived.set(id, productId),
    remove: (id: number) => void derived.delete(id),
  };
}
