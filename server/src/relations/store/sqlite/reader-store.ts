import { readCatalogVersion, readOntology } from '../../../catalog/catalog.ts';
import type { CatalogFile, CatalogFiles, Operation, PayloadFiles } from '../../../storage/storage.ts';
import { CatalogRelations } from '../../answers/answers.ts';
import { KeptColumns } from '../../search/search.ts';
import { listBuilt } from '../definition-store.ts';
import { linkOperations } from '../link-reader.ts';
import { countList } from '../link-store.ts';
import { type RelationCatalogs, readerOperations } from '../relation-reader.ts';
import { createSharedLists } from '../shared-lists.ts';
import { countMembers, findUploads, listTargetBuilds, listUploads, sampleMembers } from '../survey-store.ts';
import { createFileView } from './search-store.ts';

/** The operations of the threads that answer relations, on catalog files. */
export function relationReaderOperations(
  files: CatalogFiles,
  payloads: PayloadFiles,
  kept = new KeptColumns(),
): Record<string, Operation> {
  return {
    ...readerOperations(openCatalogs(files), kept),
    ...linkOperations({
      payloads,
      read: async (projectId, program) => files.open(projectId).perform(program),
    }),
  };
}

function openCatalogs(files: CatalogFiles): RelationCatalogs {
  const known = new WeakMap<CatalogFile, CatalogRelations>();
  const shared = createSharedLists();
  return {
    async answer({ input, limit }, work) {
      const file = files.open(input.projectId);
      return file.snapshot(() => {
        const version = readCatalogVersion(file);
        let relations = known.get(file);
        if (relations?.version !== version) {
          relations = readRelations(file, version, relations);
          known.set(file, relations);
        }
        return work(relations, createFileView(file, { limit, share: shared.of(relations) }));
      });
    },
    async inspect({ projectId, limit }, work) {
      const file = files.open(projectId);
      return file.snapshot(() =>
        work({
          read: async (work, _, ownLimit = limit) => work(createFileView(file, { limit: ownLimit })),
          countMembers: async (build, side) => file.perform(countMembers(build, side)),
          sampleMembers: async (build, side, every) => file.perform(sampleMembers(build, side, every)),
          listAttributes: async () => file.perform(readOntology()).attributes,
          readVersion: async () => readCatalogVersion(file),
          listUploads: async (after, most) => file.perform(listUploads(after, most)),
          findUploads: async (identifiers) => file.perform(findUploads(identifiers)),
          findBuilt: async (id) => file.perform(listBuilt()).find((relation) => relation.id === id),
          listBuilt: async () => file.perform(listBuilt()),
          countList: async (build) => file.perform(countList(build)),
        }),
      );
    },
  };
}

const readRelations = (file: CatalogFile, version: number, earlier: CatalogRelations | undefined) =>
  new CatalogRelations(
    {
      version,
      attributes: file.perform(readOntology()).attributes,
      relations: file.perform(listBuilt()),
      hasTargets: (build) => file.perform(listTargetBuilds([build])).length > 0,
    },
    earlier,
  );
