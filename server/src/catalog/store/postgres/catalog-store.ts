import { isStorableText } from '../../../kernel/storable-text.ts';
import { type Operation, type Postgres, performOn, type ThreadPool } from '../../../storage/storage.ts';
import { coalesceReads, LookupAnswers, type LookupParts } from '../../lookup/lookup.ts';
import type { CatalogStore } from '../../port.ts';
import { type CatalogReads, createCatalogReads } from '../catalog-reads.ts';
import { createCatalogWrites, programOperations, sharedBytesOf } from '../catalog-writes.ts';
import { compareStaged } from '../preview-store.ts';
import { listDeleted } from '../product-list-store.ts';
import { createPostgresAnswers, findAnswered } from './answer-store.ts';
import { applyProducts, followOntology } from './product-store.ts';
import { listStored, readVersions } from './reader-store.ts';
import { collectGarbage, removeCatalog } from './upkeep-store.ts';
import { type PostgresWriter, stageBatch } from './writer-store.ts';

export interface PostgresCatalogParts extends LookupParts {
  readonly postgres: Postgres;
  /** Where lookups read: a replica or the primary. */
  readonly readPostgres: () => Postgres;
  /** Threads that write; one project's writes of this process run one after another. */
  readonly writers: ThreadPool;
}

/** The operations of the writing threads, with the same names as in the embedded store. */
export function postgresWriterOperations(writer: PostgresWriter): Record<string, Operation> {
  const write =
    <Input, Output>(work: (writer: PostgresWriter, projectId: number, input: Input) => Promise<Output>) =>
    async ({ projectId, input }: { projectId: number; input: Input }) => ({
      output: await work(writer, projectId, input),
      sharedBytes: sharedBytesOf(input),
    });
  return {
    ...programOperations({
      transaction: (projectId, program) =>
        writer.postgres.transaction((tx) => performOn(tx, projectId, program)),
      repeatable: (projectId, program) =>
        writer.postgres.repeatable((tx) => performOn(tx, projectId, program)),
    }),
    applyProducts: write(applyProducts),
    collectGarbage: write(collectGarbage),
    followOntology: write(followOntology),
    removeCatalog: write(removeCatalog),
    stageBatch: write(stageBatch),
  };
}

const readsOf = (postgres: Postgres): CatalogReads => ({
  read: (projectId, program) => performOn(postgres, projectId, program),
  readState: (projectId, program) => postgres.snapshot((session) => performOn(session, projectId, program)),
});

const KNOWN_VERSIONS = 10_000;

/** Catalogs in PostgreSQL, shared by any number of processes. */
export function createPostgresCatalogStore(parts: PostgresCatalogParts): CatalogStore {
  const { postgres, readPostgres, writers } = parts;
  const answers = new LookupAnswers(parts);
  const reads = readsOf(postgres);
  const made = createPostgresAnswers();
  const readVersion = coalesceReads((projectIds: readonly number[]) =>
    readVersions(readPostgres(), projectIds),
  );
  /** The last known version of each catalog; cached answers are valid if it is still the present one. */
  const versions = new Map<number, number>();

  function note(projectId: number, version: number): { projectId: number; version: number } {
    if (versions.size >= KNOWN_VERSIONS) versions.clear();
    versions.set(projectId, version);
    return { projectId, version };
  }

  return {
    ...createCatalogReads(reads),
    ...createCatalogWrites(writers),
    makeAnswers: (order, signal) => answers.make(order, signal),
    async findAnswers({ projectId, identifiers, frame }) {
      const last = versions.get(projectId);
      if (last !== undefined && answers.holdsAll({ projectId, version: last }, identifiers)) {
        const present = note(projectId, (await readVersion(projectId)) ?? 0);
        const kept = answers.findKept(present, identifiers, frame);
        if (kept !== undefined) return kept;
      }
      const wanted = identifiers.filter(isStorableText);
      const { version, served } = await made.findServed(readPostgres(), projectId, wanted);
      return answers.answer(note(projectId, version), { identifiers, frame }, (one) => served.get(one));
    },
    findProduct: async (projectId, identifier) =>
      isStorableText(identifier) ? findAnswered(postgres, projectId, identifier) : undefined,
    listProducts: (projectId, after, limit) => listStored(postgres, projectId, { after: after ?? '', limit }),
    compareStaged: (projectId, fullUpdateId, withIdentifiers) =>
      reads.readState(projectId, compareStaged({ fullUpdateId, withIdentifiers })),
    listDeleted: (projectId, wanted) => reads.readState(projectId, listDeleted(wanted)),
    async removeCatalog(projectId) {
      await writers.run('removeCatalog', { projectId, input: {} }, { key: projectId });
    },
    async close() {},
  };
}
