import { isStorableText } from '../../../kernel/storable-text.ts';
import {
  type ByteCache,
  type Operation,
  type Postgres,
  performOn,
  type ThreadPool,
} from '../../../storage/storage.ts';
import { coalesceReads, LookupAnswers } from '../../lookup/lookup.ts';
import type { CatalogStore } from '../../port.ts';
import { createCatalogWrites } from '../catalog-writes.ts';
import { listStagedBatches, reviewBatch } from '../commit-store.ts';
import { replaceOntology, reserveIds } from '../ontology-store.ts';
import { readOntology } from '../state-store.ts';
import { canRestore } from '../undo-store.ts';
import { deleteProducts, restore } from '../upkeep-store.ts';
import { createPostgresAnswers, findAnswered } from './answer-store.ts';
import { findCategoryPath, listCategoryPaths, lookIntoCategories } from './category-path-store.ts';
import { commit } from './commit-store.ts';
import { planForParts, planForWholeTables } from './planning-store.ts';
import { listCategory, listDeleted, listRange, readWalkState, walkCategories } from './product-list-store.ts';
import { applyProducts, followOntology } from './product-store.ts';
import {
  compareStaged,
  countKnown,
  countProducts,
  hasAny,
  listStored,
  readStagedReports,
  readVersions,
} from './reader-store.ts';
import { stageBatch } from './staging-store.ts';
import { collectGarbage, removeCatalog } from './upkeep-store.ts';
import { applying, changing, type PostgresWriter } from './writer-store.ts';

export interface PostgresCatalogParts {
  readonly postgres: Postgres;
  /** Where lookups read: a replica or the primary. */
  readonly readPostgres: () => Postgres;
  /** Threads that write; one project's writes of this process run one after another. */
  readonly writers: ThreadPool;
  readonly cache: ByteCache;
}

/** What the writing threads do, by the names that the embedded store's have. */
export function postgresWriterOperations(writer: PostgresWriter): Record<string, Operation> {
  const write =
    <Input, Output>(work: (writer: PostgresWriter, projectId: number, input: Input) => Promise<Output>) =>
    async ({ projectId, input }: { projectId: number; input: Input }) => ({
      output: await work(writer, projectId, input),
    });
  return {
    applyProducts: write(applyProducts),
    collectGarbage: write(collectGarbage),
    commit: write(commit),
    deleteProducts: write(applying(deleteProducts, planForParts)),
    followOntology: write(followOntology),
    removeCatalog: write(removeCatalog),
    replaceOntology: write(changing(replaceOntology)),
    reserveIds: write(changing(reserveIds)),
    restore: write(applying(restore, planForWholeTables)),
    reviewBatch: write(changing(reviewBatch)),
    stageBatch: write(stageBatch),
    walkCategories: write(walkCategories),
  };
}

const KNOWN_VERSIONS = 10_000;

/** Catalogs in PostgreSQL, which any number of processes serve and change. */
export function createPostgresCatalogStore(parts: PostgresCatalogParts): CatalogStore {
  const { postgres, readPostgres, writers, cache } = parts;
  const answers = new LookupAnswers(cache);
  const made = createPostgresAnswers();
  const readVersion = coalesceReads((projectIds: readonly number[]) =>
    readVersions(readPostgres(), projectIds),
  );
  /** The version that a catalog had last: what is in memory is of it, if it is the present one still. */
  const versions = new Map<number, number>();

  function note(projectId: number, version: number): { projectId: number; version: number } {
    if (versions.size >= KNOWN_VERSIONS) versions.clear();
    versions.set(projectId, version);
    return { projectId, version };
  }

  return {
    ...createCatalogWrites(writers),
    async findAnswers(projectId, identifiers, frame) {
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
    listRange: (projectId, range) => listRange(postgres, projectId, range),
    listCategory: (projectId, wanted) => listCategory(postgres, projectId, wanted),
    listCategoryPaths: (projectId, range) => listCategoryPaths(postgres, projectId, range),
    findCategoryPath: (projectId, key) => findCategoryPath(postgres, projectId, key),
    lookIntoCategories: (projectId, wanted) => lookIntoCategories(postgres, projectId, wanted),
    readCategoryWalk: (projectId) => readWalkState(postgres, projectId),
    countProducts: (projectId) => countProducts(postgres, projectId),
    countKnown: (projectId, identifiers) =>
      countKnown(postgres, projectId, identifiers.filter(isStorableText)),
    hasAny: (projectId, identifiers) => hasAny(postgres, projectId, identifiers.filter(isStorableText)),
    getOntology: (projectId) => performOn(postgres, projectId, readOntology()),
    listStagedBatches: (projectId, fullUpdateId) =>
      performOn(postgres, projectId, listStagedBatches(fullUpdateId)),
    readStagedReports: (projectId, fullUpdateId) => readStagedReports(postgres, projectId, fullUpdateId),
    compareStaged: (projectId, fullUpdateId, withIdentifiers) =>
      compareStaged(postgres, { projectId, fullUpdateId, withIdentifiers }),
    listDeleted: (projectId, wanted) => listDeleted(postgres, projectId, wanted),
    canRestore: (projectId) => performOn(postgres, projectId, canRestore()),
    async removeCatalog(projectId) {
      await writers.run('removeCatalog', { projectId, input: {} }, { key: projectId });
    },
    async close() {},
  };
}
