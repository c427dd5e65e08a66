import { readOntology } from '../../../catalog/store/store.ts';
import { BoundedMap } from '../../../kernel/bounded-map.ts';
import { createPayloadRows } from '../../../storage/payloads/payloads.ts';
import { isTimedOut, type Postgres } from '../../../storage/postgres/postgres.ts';
import { performOn, type SqlSession } from '../../../storage/programs/programs.ts';
import type { Budget } from '../../../storage/threads/threads.ts';
import { listRelated } from '../../matching/matching.ts';
import { type CatalogPasses, openPass } from '../catalog-pass.ts';
import { toInspected } from '../inspected-catalog.ts';
import { listBuilt } from '../relation-definition-store.ts';
import type {
  CatalogRules,
  OpenRelationCatalogs,
  PreparedRules,
  PrepareRules,
  RelationCatalogs,
  RelationReads,
  RelationWriter,
} from '../relation-port.ts';
import { listTargetBuilds } from '../survey-store.ts';
import { extendIn } from './membership-store.ts';
import { CatalogMoved, readCatalog, readMark } from './view-store.ts';

/** Relations in PostgreSQL, in the form in which the threads read and change them. */

/** Lets writing threads change relations in PostgreSQL. */
export const openRowWriter = (postgres: Postgres): RelationWriter => ({
  read: (projectId, program) => performOn(postgres, projectId, program),
  transact: (projectId, program) =>
    postgres.transaction((tx) => {
      const index = { extend: extendIn(tx, projectId), removeStray: () => false };
      return performOn(tx, projectId, program(index));
    }),
});

interface PostgresReaders {
  /** The primary, so that a preview sees the newest ontology. */
  readonly postgres: Postgres;
  /** @returns the server for reads: a replica or the primary */
  readPostgres(): Postgres;
}

/** Lets the serving thread read relations in PostgreSQL. Only answers may be read from replicas. */
export const openRowReads = ({ postgres, readPostgres }: PostgresReaders): RelationReads => ({
  readMark: (projectId) => readMark(readPostgres(), projectId),
  read: (projectId, program) => performOn(postgres, projectId, program),
  readForAnswers: (projectId, program) => performOn(readPostgres(), projectId, program),
});

/** Lets the threads that answer relations read catalogs in PostgreSQL. */
export const rowCatalogs =
  ({ postgres, readPostgres }: PostgresReaders): OpenRelationCatalogs =>
  (prepare) => ({
    payloads: createPayloadRows(postgres),
    read: (projectId, program, budget) =>
      budget.heed((signal) => performOn(stoppable(postgres, signal), projectId, program)),
    answer: answerFrom(readPostgres, prepare),
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
  });

/** For how many projects relations and items are cached. */
const CACHED_PROJECTS = 64;

function answerFrom<Prepared extends PreparedRules>(
  readPostgres: () => Postgres,
  prepare: PrepareRules<Prepared>,
): RelationCatalogs<Prepared>['answer'] {
  const cached = new BoundedMap<number, Prepared>({ most: CACHED_PROJECTS });

  async function open(session: SqlSession, projectId: number): Promise<Prepared> {
    const prepared = prepare(await readRules(session, projectId));
    cached.set(projectId, prepared);
    return prepared;
  }

  return ({ projectId, version, scale, limit, describePrefetch }, work) =>
    limit.heed(async (signal) => {
      const reader = readPostgres();
      const present = cached.get(projectId);
      try {
        const prepared =
          present?.version === version
            ? present
            : await reader.snapshot((session) => open(session, projectId), signal);
        const session = stoppable(reader, signal);
        const order = { session, projectId, scale, version: prepared.version };
        const prefetch = describePrefetch(prepared);
        return await readCatalog({ ...order, prefetch }, (view) => work(prepared, view));
      } catch (error) {
        if (!(error instanceof CatalogMoved)) throw error;
      }
      // The catalog changed between two statements. Reads everything again in one snapshot, with a few more
      // round trips.
      return reader.snapshot(async (session) => {
        const prepared = await open(session, projectId);
        const prefetch = describePrefetch(prepared);
        return readCatalog({ session, projectId, scale, prefetch }, (view) => work(prepared, view));
      }, signal);
    });
}

const stoppable = (reader: Postgres, signal: AbortSignal): SqlSession => ({
  ...reader,
  rows: (sql, values) => reader.rows(sql, values, signal),
});

/** Runs several statements, so call it on a snapshot. */
async function readRules(session: SqlSession, projectId: number): Promise<CatalogRules> {
  const { version } = await readMark(session, projectId);
  const { attributes } = await performOn(session, projectId, readOntology());
  const relations = await performOn(session, projectId, listBuilt());
  const builds = relations.map(({ build }) => build);
  const targets = new Set(await performOn(session, projectId, listTargetBuilds(builds)));
  return { version, attributes, relations, hasTargets: (build) => targets.has(build) };
}

/** @returns a function that runs reads with a timeout; the transaction survives the timeout */
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
      // Nothing was written, and the rollback also resets the timeout.
      await session.run('rollback to savepoint read_in_time');
    }
  };
}

/** Reads whole catalogs in PostgreSQL, each in one read-only transaction. */
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
