import { readCatalogVersion, readVersionOfTurn } from '../../../catalog/store/sqlite/sqlite.ts';
import { readOntology } from '../../../catalog/store/store.ts';
import type { PayloadFiles } from '../../../storage/payloads/payloads.ts';
import type { CatalogFile, CatalogFiles } from '../../../storage/sqlite/sqlite.ts';
import type { Program } from '../../../storage/storage.ts';
import { Budget, type Operation } from '../../../storage/threads/threads.ts';
import { CatalogRelations } from '../../answers/answers.ts';
import { type ColumnCache, listRelated } from '../../search/search.ts';
import { listBuilt } from '../definition-store.ts';
import {
  type CatalogPasses,
  createSharedLists,
  openPass,
  type RelationCatalogs,
  readerOperations,
  toInspected,
} from '../relation-reader.ts';
import { listTargetBuilds } from '../survey-store.ts';
import { createThreadedRelations, type RelationThreads, writerOperations } from '../threaded-relations.ts';
import { extendIn, removeRuns } from './membership-store.ts';
import { createFileView, followCatalog, listSources, listUploads } from './search-store.ts';

/** The operations of the writing threads for relations. */
export const relationWriterOperations = (files: CatalogFiles): Record<string, Operation> =>
  writerOperations({
    read: performIn(files),
    transact(projectId, program) {
      const file = files.open(projectId);
      const index = { extend: extendIn(file), removeStray: () => removeRuns(file) };
      return file.transaction(() => file.perform(program(index)));
    },
  });

const performIn =
  (files: CatalogFiles) =>
  async <Result>(projectId: number, program: Program<Result>): Promise<Result> =>
    files.open(projectId).perform(program);

/** The embedded store, with relations in the catalog's file. `files`: those of the serving thread. */
export function createSqliteRelationStore(parts: RelationThreads & { readonly files: CatalogFiles }) {
  const { files, ...threads } = parts;
  const read = performIn(files);
  const readMark = async (id: number) => ({ version: readVersionOfTurn(files.open(id)), scale: 0 });
  return createThreadedRelations({ readMark, read, readForAnswers: read }, threads);
}

/** The operations of the threads that answer relations, on catalog files. */
export const relationReaderOperations = (
  files: CatalogFiles,
  payloads: PayloadFiles,
  cached?: ColumnCache,
): Record<string, Operation> => readerOperations({ ...openCatalogs(files), payloads }, cached);

interface FollowedCatalog {
  readonly relations: CatalogRelations;
  readonly changes: ReturnType<typeof followCatalog>;
}

function openCatalogs(files: CatalogFiles): Omit<RelationCatalogs, 'payloads'> {
  const catalogs = new WeakMap<CatalogFile, FollowedCatalog>();
  const shared = createSharedLists();
  const read = performIn(files);
  return {
    read(projectId, program, budget) {
      budget.check();
      return read(projectId, program);
    },
    async answer({ input, limit }, work) {
      const file = files.open(input.projectId);
      return file.snapshot(() => {
        const version = readCatalogVersion(file);
        let known = catalogs.get(file);
        if (known?.relations.version !== version) {
          const { attributes } = file.perform(readOntology());
          const hasTargets = (build: number) => file.perform(listTargetBuilds([build])).length > 0;
          const rules = { version, attributes, relations: file.perform(listBuilt()), hasTargets };
          const changes = known?.changes.follow(version) ? known.changes : followCatalog(file, version);
          known = { relations: new CatalogRelations(rules, known?.relations), changes };
          catalogs.set(file, known);
        }
        const { watch, findDocument } = known.changes;
        const view = createFileView(file, { limit, share: shared.of(known.changes, watch) });
        return work(known.relations, { ...view, findDocument });
      });
    },
    async inspect({ projectId, limit }, work) {
      const file = files.open(projectId);
      // A survey looks at up to 10,000 sources, many of which have the same values.
      const share = createSharedLists().of(file);
      return file.snapshot(() =>
        work(
          toInspected(limit, async (program) => file.perform(program), {
            version: readCatalogVersion(file),
            read: async (work, _, ownLimit = limit) => work(createFileView(file, { limit: ownLimit, share })),
          }),
        ),
      );
    },
  };
}

/** In bytes: a million products have some 30,000 lists for a rule of four equalities, at 1 KB each. */
const SHARED = 64 * 1024 * 1024;

/** Whole catalogs in files. The thread must run nothing else meanwhile. */
export function createSqlitePasses(files: CatalogFiles): CatalogPasses {
  return {
    pass(projectId, work) {
      const file = files.open(projectId);
      return file.snapshot(() => {
        const share = createSharedLists(SHARED).of(file);
        const view = createFileView(file, { share, limit: Budget.unlimited() });
        const pass = openPass(async (program) => file.perform(program), {
          version: readCatalogVersion(file),
          listUploads: async (after, limit) => listUploads(file, after, limit),
          async listRelated(products, searches) {
            const sources = listSources(file, products);
            const identifiers = products.map(({ identifier }) => identifier);
            const page = { ...view, findSource: (identifier: string) => sources.get(identifier) };
            return listRelated(page, identifiers, searches);
          },
        });
        return pass.then(work);
      });
    },
  };
}
