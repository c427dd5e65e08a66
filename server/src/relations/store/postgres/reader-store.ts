import { readOntology } from '../../../catalog/catalog.ts';
import {
  createPayloadRows,
  isTimedOut,
  type Operation,
  type Postgres,
  performOn,
  type SqlSession,
  type SqlTransaction,
} from '../../../storage/storage.ts';
import { CatalogRelations } from '../../answers/answers.ts';
import { KeptColumns, type SurveyedCatalog, type WorkLimit } from '../../search/search.ts';
import { listBuilt } from '../definition-store.ts';
import { linkOperations } from '../link-reader.ts';
import { countList } from '../link-store.ts';
import { type MetRelateInput, type RelationCatalogs, readerOperations } from '../relation-reader.ts';
import { countMembers, findUploads, listTargetBuilds, listUploads, sampleMembers } from '../survey-store.ts';
import { readMark } from './mark-store.ts';
import {
  analyzeTriedTables,
  createTriedTables,
  KEPT_TABLES,
  type MembershipTables,
  placeMemberships,
  TRIED_TABLES,
} from './membership-store.ts';
import { CatalogMoved, type Prefetch, readCatalog } from './search-store.ts';

export interface PostgresReaders {
  /** The primary: a preview needs temporary tables. */
  readonly postgres: Postgres;
  /** Where reads may go: a replica or the primary. */
  readPostgres(): Postgres;
}

/** The operations of the threads that answer relations, on PostgreSQL. */
export function postgresRelationReaderOperations(
  parts: PostgresReaders,
  kept = new KeptColumns(),
): Record<string, Operation> {
  const { postgres } = parts;
  return {
    ...readerOperations(openCatalogs(parts), kept),
    ...linkOperations({
      payloads: createPayloadRows(postgres),
      read: (projectId, program) => performOn(postgres, projectId, program),
    }),
  };
}

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
        // The catalog changed in between: read all of it in one snapshot, with a few more round trips.
        return reader.snapshot(async (session) => {
          const relations = await open(session, projectId);
          const prefetch = describePrefetch(relations, input);
          return readCatalog({ session, projectId, scale, prefetch }, (view) => work(relations, view));
        }, signal);
      }),
    inspect: ({ projectId, limit }, work) =>
      limit.heed((signal) => {
        const inspect = async (session: SqlSession) =>
          work({
            ...(await openSurvey(session, projectId, KEPT_TABLES)),
            findBuilt: async (id) =>
              (await performOn(session, projectId, listBuilt())).find((relation) => relation.id === id),
            listBuilt: () => performOn(session, projectId, listBuilt()),
            countList: (build) => performOn(session, projectId, countList(build)),
          });
        return readPostgres().snapshot(inspect, signal);
      }),
    tryOut: ({ projectId, limit }, work) =>
      limit.heed((signal) => postgres.draft((tx) => tryOut(tx, projectId, work), signal)),
  };
}

const stoppable = (reader: Postgres, signal: AbortSignal): SqlSession => ({
  ...reader,
  rows: (sql, values) => reader.rows(sql, values, signal),
});

async function tryOut<Result>(
  tx: SqlTransaction,
  projectId: number,
  work: Parameters<RelationCatalogs['tryOut']>[1],
): Promise<Result> {
  return work({
    ...(await openSurvey(tx, projectId, TRIED_TABLES)),
    listAttributes: async () => (await performOn(tx, projectId, readOntology())).attributes,
    readVersion: async () => (await readMark(tx, projectId)).version,
    listUploads: (after, limit) => performOn(tx, projectId, listUploads(after, limit)),
    findUploads: (identifiers) => performOn(tx, projectId, findUploads(identifiers)),
    beginPlacing: () => createTriedTables(tx),
    place: (placed) => placeMemberships(tx, projectId, { placed, tables: TRIED_TABLES }),
    endPlacing: () => analyzeTriedTables(tx),
  }) as Promise<Result>;
}

/** Several statements: call it on a snapshot. */
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

async function openSurvey(
  session: SqlSession,
  projectId: number,
  tables: MembershipTables,
): Promise<SurveyedCatalog> {
  const { scale } = await readMark(session, projectId);
  const { member } = tables;
  const withinTime = createTimeout(session);
  return {
    read: (work, searches = [], limit) =>
      withinTime(limit, () =>
        readCatalog({ session, projectId, scale, tables, prefetch: { searches, products: false } }, work),
      ),
    countMembers: (build, side) => performOn(session, projectId, countMembers({ member, build, side })),
    sampleMembers: (build, side, every) =>
      performOn(session, projectId, sampleMembers({ member, build, side }, every)),
  };
}

/** @returns a function that runs reads with a timeout that the transaction survives */
function createTimeout(session: SqlSession) {
  let hasSavepoint = false;
  return async <Result>(limit: WorkLimit | undefined, read: () => Promise<Result>): Promise<Result> => {
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
