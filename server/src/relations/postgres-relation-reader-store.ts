import { readPostgresOntology } from '../catalog/catalog.ts';
import type { Operation, Postgres, SqlSession } from '../storage/storage.ts';
import { readMark } from './postgres-mark-store.ts';
import {
  analyzeTriedTables,
  createTriedTables,
  KEPT_TABLES,
  type MembershipTables,
  placeMemberships,
  TRIED_TABLES,
} from './postgres-membership-store.ts';
import { type Ahead, CatalogMoved, readCatalog } from './postgres-search-store.ts';
import {
  countMembers,
  listBuilt,
  listTargetBuilds,
  listUploads,
  sampleSources,
} from './postgres-survey-store.ts';
import { CatalogRelations } from './related-answers.ts';
import { type MetRelateInput, type RelationCatalogs, readerOperations } from './relation-reader.ts';
import type { SurveyedCatalog } from './relation-survey.ts';

export interface PostgresReaders {
  /** The primary: what is tried out needs tables of its own. */
  readonly postgres: Postgres;
  /** Where reads may go: a replica or the primary. */
  readPostgres(): Postgres;
}

/** What the threads that answer relations do with catalogs in PostgreSQL. */
export function postgresRelationReaderOperations(parts: PostgresReaders): Record<string, Operation> {
  return readerOperations(openCatalogs(parts));
}

/** Relations of so many projects are kept, each with its items. */
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
    async answer(input, work) {
      const { projectId, version, scale } = input;
      const reader = readPostgres();
      const present = known.get(projectId);
      try {
        const relations =
          present?.version === version
            ? present
            : await reader.snapshot((session) => open(session, projectId));
        const order = { session: reader, projectId, scale, version: relations.version };
        const ahead = describeAhead(relations, input);
        return await readCatalog({ ...order, ahead }, (view) => work(relations, view));
      } catch (error) {
        if (!(error instanceof CatalogMoved)) throw error;
      }
      // Changed while it was read: now all of it in one snapshot, which takes some round trips more.
      return reader.snapshot(async (session) => {
        const relations = await open(session, projectId);
        const ahead = describeAhead(relations, input);
        return readCatalog({ session, projectId, scale, ahead }, (view) => work(relations, view));
      });
    },
    inspect: (projectId, work) =>
      readPostgres().snapshot(async (session) =>
        work({
          ...(await openSurvey(session, projectId, KEPT_TABLES)),
          findBuilt: async (id) =>
            (await listBuilt(session, projectId)).find((relation) => relation.id === id),
          listBuilt: () => listBuilt(session, projectId),
        }),
      ),
    tryOut: (projectId, work) =>
      postgres.draft(async (tx) => {
        await createTriedTables(tx);
        return work({
          ...(await openSurvey(tx, projectId, TRIED_TABLES)),
          listAttributes: async () => (await readPostgresOntology(tx, projectId)).attributes,
          listUploads: (after, limit) => listUploads(tx, projectId, { after, limit }),
          place: (placed) => placeMemberships(tx, projectId, { placed, tables: TRIED_TABLES }),
          endPlacing: () => analyzeTriedTables(tx),
        });
      }),
  };
}

/** On one snapshot: it takes several statements. */
async function readRelations(session: SqlSession, projectId: number): Promise<CatalogRelations> {
  const { version } = await readMark(session, projectId);
  const { attributes } = await readPostgresOntology(session, projectId);
  const relations = await listBuilt(session, projectId);
  const builds = relations.map(({ build }) => build);
  const targets = new Set(await listTargetBuilds(session, projectId, builds));
  return new CatalogRelations({ version, attributes, relations, hasTargets: (build) => targets.has(build) });
}

const describeAhead = (relations: CatalogRelations, input: MetRelateInput): Ahead => ({
  searches: relations.listAnswering(input.tags),
  products: relations.needsProducts(input),
});

async function openSurvey(
  session: SqlSession,
  projectId: number,
  tables: MembershipTables,
): Promise<SurveyedCatalog> {
  const { scale } = await readMark(session, projectId);
  return {
    read: (work, searches = []) =>
      readCatalog({ session, projectId, scale, tables, ahead: { searches, products: false } }, work),
    countMembers: (build, side) => countMembers(session, projectId, { build, side, tables }),
    sampleSources: (build, every) => sampleSources(session, projectId, { build, every, tables }),
  };
}
