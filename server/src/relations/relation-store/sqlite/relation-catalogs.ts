import { readCatalogVersion, readVersionOfTurn } from '../../../catalog/store/sqlite/sqlite.ts';
import { readOntology } from '../../../catalog/store/store.ts';
import type { PayloadFiles } from '../../../storage/payloads/payloads.ts';
import type { Program } from '../../../storage/programs/programs.ts';
import type { CatalogFile, CatalogFiles } from '../../../storage/sqlite/sqlite.ts';
import { Budget } from '../../../storage/threads/threads.ts';
import { listRelated, SharedLists } from '../../matching/matching.ts';
import { type CatalogPasses, openPass } from '../catalog-pass.ts';
import { toInspected } from '../inspected-catalog.ts';
import { listBuilt } from '../relation-definition-store.ts';
import type {
  OpenRelationCatalogs,
  PreparedRules,
  PrepareRules,
  RelationReads,
  RelationWriter,
} from '../relation-port.ts';
import { listTargetBuilds } from '../survey-store.ts';
import { extendIn, removeRuns } from './membership-store.ts';
import { createFileView, followCatalog, listSources, listUploads } from './view-store.ts';

/** Relations in the catalog's file, in the form in which the threads read and change them. */

/** Lets writing threads change relations in catalog files. */
export const openFileWriter = (files: CatalogFiles): RelationWriter => ({
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

/** Lets the serving thread read relations of catalog files. */
export function openFileReads(files: CatalogFiles): RelationReads {
  const read = performIn(files);
  const readMark = async (id: number) => ({ version: readVersionOfTurn(files.open(id)), scale: 0 });
  return { readMark, read, readForAnswers: read };
}

/** Lets the threads that answer relations read catalog files. */
export const fileCatalogs =
  (files: CatalogFiles, payloads: PayloadFiles): OpenRelationCatalogs =>
  (prepare) => {
    const rules = followRules(prepare);
    const shared = new SharedLists();
    const read = performIn(files);
    return {
      payloads,
      read(projectId, program, budget) {
        budget.check();
        return read(projectId, program);
      },
      async answer({ projectId, limit }, work) {
        const file = files.open(projectId);
        return file.snapshot(() => {
          const { prepared, changes } = rules(file);
          const view = createFileView(file, { limit, share: shared.of(changes, changes.watch) });
          return work(prepared, { ...view, findDocument: changes.findDocument });
        });
      },
      async inspect({ projectId, limit }, work) {
        const file = files.open(projectId);
        // Shares lists within a survey, which reads up to 10,000 sources. Many of them have the same values.
        const share = new SharedLists().of(file);
        return file.snapshot(() =>
          work(
            toInspected(limit, async (program) => file.perform(program), {
              version: readCatalogVersion(file),
              read: async (work, _, ownLimit = limit) =>
                work(createFileView(file, { limit: ownLimit, share })),
            }),
          ),
        );
      },
    };
  };

/**
 * @returns a function that prepares the rules of a file's present version unless they are cached; it runs on
 * the caller's snapshot
 */
function followRules<Prepared extends PreparedRules>(prepare: PrepareRules<Prepared>) {
  const followed = new WeakMap<
    CatalogFile,
    { readonly prepared: Prepared; readonly changes: ReturnType<typeof followCatalog> }
  >();
  return (file: CatalogFile) => {
    const version = readCatalogVersion(file);
    const last = followed.get(file);
    if (last?.prepared.version === version) return last;
    const { attributes } = file.perform(readOntology());
    const hasTargets = (build: number) => file.perform(listTargetBuilds([build])).length > 0;
    const rules = { version, attributes, relations: file.perform(listBuilt()), hasTargets };
    const changes = last?.changes.follow(version) ? last.changes : followCatalog(file, version);
    const present = { prepared: prepare(rules, last?.prepared), changes };
    followed.set(file, present);
    return present;
  };
}

/**
 * The limit in bytes. For a rule of four equalities, a million products have some 30,000 lists of 1 KB each.
 */
const SHARED = 64 * 1024 * 1024;

/** Reads whole catalogs in files. The thread must not run anything else in the meantime. */
export function createSqlitePasses(files: CatalogFiles): CatalogPasses {
  return {
    pass(projectId, work) {
      const file = files.open(projectId);
      return file.snapshot(() => {
        const share = new SharedLists(SHARED).of(file);
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
