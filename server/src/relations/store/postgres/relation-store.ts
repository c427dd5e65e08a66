import { readOntology } from '../../../catalog/store/store.ts';
import { createPayloadRows } from '../../../storage/payloads/payloads.ts';
import { isTimedOut, type Postgres, type SqlSession } from '../../../storage/postgres/postgres.ts';
import { performOn } from '../../../storage/storage.ts';
import type { Budget, Operation } from '../../../storage/threads/threads.ts';
import { CatalogRelations, type MetRelateInput } from '../../answers/answers.ts';
import { type ColumnCache, listRelated } from '../../search/search.ts';
import { listBuilt } from '../definition-store.ts';
import {
  type CatalogPasses,
  openPass,
  type RelationCatalogs,
  readerOperations,
  toInspected,
} from '../relation-reader.ts';
import { listTargetBuilds } from '../survey-store.ts';
import {
  createThreadedRelations,
  type RelationReads,
  type RelationStore,
  type RelationThreads,
  writerOperations,
} from '../threaded-relations.ts';
import { extendIn } from './membership-store.ts';
import { CatalogMoved, type Prefetch, readCatalog, readMark } from './search-store.ts';

/** The operations of the writing threads for relations. */
export const postgresRelationWriterOperations = (postgres: Postgres): Record<string, Operation> =>
  writerOperations({
    read: (projectId, program) => performOn(postgres, projectId, program),
    transact: (projectId, program) =>
      postgres.transaction((tx) => {
        const index = { extend: extendIn(tx, projectId), removeStray: () => false };
        return performOn(tx, projectId, program(index));
      }),
  });

/** Relations in PostgreSQL. Only answers may be read from replicas. */
export function createPostgresRelationStore(parts: RelationThreads & PostgresReaders): RelationStore {
  const { postgres, readPostgres, ...threads } = parts;
  const reads: RelationReads = {
    readMark: (projectId) => readMark(readPostgres(), projectId),
    read: (projectId, program) => performOn(postgres, projectId, program),
    readForAnswers: (projectId, program) => performOn(readPostgres(), projectId, program),
  };
  return createThreadedRelations(reads, threads);
}

interface PostgresReaders {
  /** The primary, so that a preview sees the ontology that was just written. */
  readonly postgres: Postgres;
  /** Where reads may go: a replica or the primary. */
  readPostgres(): Postgres;
}

/** The operations of the threads that answer relations, on PostgreSQL. */
export const postgresRelationReaderOperations = (
  readers: PostgresReaders,
  cached?: ColumnCache,
): Record<string, Operation> => readerOperations(openCatalogs(readers), cached);

/** Projects whose relations are cached, with their items. */
const KEPT_PROJECTS = 64;

function openCatalogs({ postgres, readPostgres }: PostgresReaders): RelationCatalogs {
  const known = new Map<number, CatalogRelations>();

  async function open(session: SqlSession, projectId: number): Promise<CatalogRelations> {
    const relations = await readRelations(session, projectId);
    known.delete(projectId);
    if (known.size >= KEPT_PROJECTS) known.delete(known.keys().next().value as number);
    known.set(projectId, relations);
    return relations;
  }

  return {
    payloads: createPayloadRows(postgres),
    read: (projectId, program, budget) =>
      budget.heed((signal) => performOn(stoppable(postgres, signal), projectId, program)),
    answer: ({ input, limit }, work) =>
      limit.heed(async (signal) => {
        const { projectId, version, scale } = input;
        const reader = readPostgres();
        const present = known.get(projectId);
        try {
          const relations =
            present?.version === version
              ? present
              : await reader.snapshot((session) => open(session, projectId), signal);
          const session = stoppable(reader, signal);
          const order = { session, projectId, scale, version: relations.version };
          const prefetch = describePrefetch(relations, input);
          return await readCatalog({ ...order, prefetch }, (view) => work(relations, view));
        } catch (error) {
          if (!(error instanceof CatalogMoved)) throw error;
        }
        // The catalog changed in between: reads everything in one snapshot, with a few more round trips.
        return reader.snapshot(async (session) => {
          const relations = await open(session, projectId);
          const prefetch = describePrefetch(relations, input);
          return readCatalog({ session, projectId, scale, prefetch }, (view) => work(relations, view));
        }, signal);
      }),
    inspect: ({ projectId, limit, isFresh = false }, work) =>
      limit.heed((signal) =>
        (isFresh ? postgres : readPostgres()).snapshot(async (session) => {
          const { version, scale } = await readMark(session, projectId);
          const withinTime = createTimeout(session);
          const catalog = toInspected(limit, (program) => performOn(session, projectId, program), {
            version,
            read: (read, searches = [], ownLimit) =>
              withinTime(ownLimit, () =>
                readCatalog({ session, projectId, scale, prefetch: { searches, products: false } }, read),
              ),
          });
          return work(catalog);
        }, signal),
      ),
  };
}

const stoppable = (reader: Postgres, signal: AbortSignal): SqlSession => ({
  ...reader,
  rows: (sql, values) => reader.rows(sql, values, signal),
});

/** Several statements, so call it on a snapshot. */
async function readRelations(session: SqlSession, projectId: number): Promise<CatalogRelations> {
  const { version } = await readMark(session, projectId);
  const { attributes } = await performOn(session, projectId, readOntology());
  const relations = await performOn(session, projectId, listBuilt());
  const builds = relations.map(({ build }) => build);
  const targets = new Set(await performOn(session, projectId, listTargetBuilds(builds)));
  return new CatalogRelations({ version, attributes, relations, hasTargets: (build) => targets.has(build) });
}

const describePrefetch = (relations: CatalogRelations, input: MetRelateInput): Prefetch => ({
  searches: relations.listAnswering(input.tags),
  products: relations.needsProducts(input),
});

/** @returns a function that runs reads with a timeout that the transaction survives */
function createTimeout(session: SqlSession) {
  let hasSavepoint = false;
  return async <Result>(limit: Budget | undefined, read: () => Promise<Result>): Promise<Result> => {
    if (limit === undefined) return read();
    limit.check();
    if (!hasSavepoint) await session.run('savepoint read_in_time');
    hasSavepoint = true;
    await session.rows("select set_config('statement_timeout', $1, true)", [String(limit.leftMs)]);
    try {
      return await read();
    } catch (error) {
      throw isTimedOut(error) ? limit.timeUsedUp() : error;
    } finally {
      // Nothing was written; this also resets the timeout.
      await session.run('rollback to savepoint read_in_time');
    }
  };
}

/** Whole catalogs in PostgreSQL, each in one read-only transaction. */
export function createPostgresPasses(postgres: Postgres): CatalogPasses {
  return {
    pass: (projectId, work) =>
      postgres.snapshot(async (session) => {
        const { version, scale } = await readMark(session, projectId);
        const pass = await openPass((program) => performOn(session, projectId, program), {
          version,
          listRelated(products, searches) {
            const identifiers = products.map(({ identifier }) => identifier);
            const prefetch = { searches, products: false, variants: false } as const;
            return readCatalog({ session, projectId, scale, prefetch }, (view) =>
              listRelated(view, identifiers, searches),
            );
          },
        });
        return work(pass);
      }),
  };
}
