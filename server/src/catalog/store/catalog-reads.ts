import { listCatalogEvents } from '../../events/events.ts';
import type { Program } from '../../storage/storage.ts';
import type { CatalogStore } from '../port.ts';
import type { CatalogSnapshot } from '../snapshot.ts';
import { listKeptChanges, listProductChanges } from './kept-change-store.ts';
import { findCategoryIds, findCategoryPath, listCategoryPaths } from './ontology-store.ts';
import { listStagedDocuments } from './preview-store.ts';
import {
  countKnown,
  countProducts,
  countRange,
  hasAny,
  listById,
  listRange,
  measureDocuments,
  readLargestId,
} from './product-list-store.ts';
import { weighRestore } from './restore-effect-store.ts';
import { countHits, findLiving, listDocuments, listHits, listTail, readSearchState } from './search-store.ts';
import { listStagedBatches } from './staged-store.ts';
import { readCatalogVersion, readOntology, readPastOntology } from './state-store.ts';
import { listKeptCommits } from './undo-store.ts';

/** How an engine runs read-only programs. */
export interface CatalogReads {
  read<Result>(projectId: number, program: Program<Result>): Promise<Result>;
  /** Runs several statements on one state of the catalog. */
  readState<Result>(projectId: number, program: Program<Result>): Promise<Result>;
}

/** The reads of a catalog store that are the same for both engines. */
export const createCatalogReads = ({
  read,
}: Pick<CatalogReads, 'read'>): Pick<
  CatalogStore,
  | 'countKnown'
  | 'countProducts'
  | 'getOntology'
  | 'hasAny'
  | 'listEvents'
  | 'listKeptCommits'
  | 'listRange'
  | 'listStagedBatches'
  | 'measureDocuments'
  | 'readVersion'
> => ({
  readVersion: (projectId) => read(projectId, readCatalogVersion()),
  listRange: (projectId, range) => read(projectId, listRange(range)),
  measureDocuments: (projectId, identifiers) => read(projectId, measureDocuments(identifiers)),
  listEvents: (projectId, limit) => read(projectId, listCatalogEvents(limit)),
  countProducts: (projectId) => read(projectId, countProducts()),
  countKnown: (projectId, identifiers) => read(projectId, countKnown(identifiers)),
  hasAny: (projectId, identifiers) => read(projectId, hasAny(identifiers)),
  getOntology: (projectId) => read(projectId, readOntology()),
  listStagedBatches: (projectId, fullUpdateId) => read(projectId, listStagedBatches(fullUpdateId)),
  listKeptCommits: (projectId) => read(projectId, listKeptCommits()),
});

/** The same for a snapshot. */
export const createSnapshotReads = (
  read: <Result>(program: Program<Result>) => Promise<Result>,
): Pick<
  CatalogSnapshot,
  | 'countHits'
  | 'countRange'
  | 'findCategories'
  | 'findCategoryPath'
  | 'findLiving'
  | 'listById'
  | 'listCategoryPaths'
  | 'listDocuments'
  | 'listHits'
  | 'listKeptChanges'
  | 'listProductChanges'
  | 'listRange'
  | 'listTail'
  | 'listStagedDocuments'
  | 'measureDocuments'
  | 'readCatalogVersion'
  | 'readLargestId'
  | 'readOntology'
  | 'readPastOntology'
  | 'readSearchState'
  | 'weighRestore'
> => ({
  readOntology: () => read(readOntology()),
  readCatalogVersion: () => read(readCatalogVersion()),
  listStagedDocuments: (wanted) => read(listStagedDocuments(wanted)),
  readPastOntology: (revision) => read(readPastOntology(revision)),
  findCategories: (paths) => read(findCategoryIds(paths)),
  listRange: (range) => read(listRange(range)),
  countRange: (range) => read(countRange(range)),
  listById: (query) => read(listById(query)),
  listCategoryPaths: (range) => read(listCategoryPaths(range)),
  findCategoryPath: (id) => read(findCategoryPath(id)),
  findLiving: (sought) => read(findLiving(sought)),
  readLargestId: () => read(readLargestId()),
  readSearchState: () => read(readSearchState()),
  listHits: (wanted) => read(listHits(wanted)),
  countHits: (counted) => read(countHits(counted)),
  listTail: (after) => read(listTail(after)),
  measureDocuments: (identifiers) => read(measureDocuments(identifiers)),
  listDocuments: (documents) => read(listDocuments(documents)),
  listKeptChanges: (wanted) => read(listKeptChanges(wanted)),
  listProductChanges: (identifier) => read(listProductChanges(identifier)),
  weighRestore: (commit) => read(weighRestore(commit)),
});
