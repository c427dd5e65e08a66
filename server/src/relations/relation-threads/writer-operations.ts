import { applyFromOutside, changeFromOutside } from '../../catalog/store/store.ts';
import { mapTable, type Program } from '../../storage/programs/programs.ts';
import type { Operation } from '../../storage/threads/threads.ts';
import type { LinkOrder, StagedPiece } from '../links/links.ts';
import {
  applyLinks,
  beginLinks,
  bindRelations,
  buildPage,
  type ChangedIndex,
  deleteRelation,
  deleteTable,
  dropBuilds,
  findUnusedBuild,
  freeLinks,
  listRelations,
  type RelationWriter,
  replaceTable,
  saveRelation,
  saveTable,
  stageLinks,
} from '../relation-store/relation-store.ts';

/** Changes of a catalog by the writing threads; each runs in one transaction. */
export const CHANGES = {
  bindRelations,
  buildPage,
  dropBuilds,
  saveRelation,
  deleteRelation,
  saveTable,
  replaceTable,
  deleteTable,
  beginLinks,
  stageLinks: (_: ChangedIndex, piece: StagedPiece) => stageLinks(piece),
  freeLinks: (_: ChangedIndex, build: number) => freeLinks(build),
};

/** The operations of the writing threads. */
export function writerOperations({ read, transact }: RelationWriter): Record<string, Operation> {
  const change = <Result>(projectId: number, work: (changed: ChangedIndex) => Program<Result>) =>
    transact(projectId, (index) => changeFromOutside((catalog) => work({ ...catalog, ...index })));
  return {
    ...mapTable(
      CHANGES,
      (program: (changed: ChangedIndex, ...input: never[]) => Program<unknown>) =>
        ([projectId, ...input]: [number, ...never[]]) =>
          change(projectId, (changed) => program(changed, ...input)),
    ),
    applyLinks: ([projectId, order]: [number, LinkOrder]) =>
      transact(projectId, () => applyFromOutside(order, (catalog) => applyLinks(catalog, order))),
    // These changes may have nothing to do, so they check that before they lock the catalog.
    async bindRelations([projectId, now]: [number, number]) {
      const isAny = (await read(projectId, listRelations())).length > 0;
      return isAny ? change(projectId, (changed) => bindRelations(changed, now)) : [];
    },
    dropBuilds: async ([projectId]: [number]) =>
      (await read(projectId, findUnusedBuild())) !== undefined && change(projectId, dropBuilds),
  };
}
