import { listUploads, readOntology } from '../../catalog/store/store.ts';
import type { Program } from '../../storage/programs/programs.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import type { SignedPage } from '../fit/fit.ts';
import type { Side } from '../relation-definitions/relation-definitions.ts';
import type { SurveyedCatalog, TriedCatalog } from '../surveys/surveys.ts';
import { countList } from './link-store.ts';
import { listBuilt, listRelations } from './relation-definition-store.ts';
import { findNewestDocument, hasAnyDocument, listSigned } from './signed-store.ts';
import { countMembers, findUploads, listCut, sampleMembers } from './survey-store.ts';
import { findTables } from './table-store.ts';

/** Runs programs on one state of a catalog. */
export type Perform = <Result>(program: Program<Result>) => Promise<Result>;

export type InspectedCatalog = ReturnType<typeof toInspected>;

/** @returns the reads of a question; the budget of the question must allow each read */
export const toInspected = (
  budget: Budget,
  perform: Perform,
  { version, read }: Pick<SurveyedCatalog & TriedCatalog, 'version' | 'read'>,
) => ({ version, read, ...budget.meter(listReads(perform)) });

const listReads = (perform: Perform) => ({
  countMembers: (build: number, side: Side) => perform(countMembers(build, side)),
  sampleMembers: (build: number, side: Side, every: number) => perform(sampleMembers(build, side, every)),
  listCut: (build: number) => perform(listCut(build)),
  listUploads: (after: number, limit: number) => perform(listUploads(after, limit)),
  findUploads: (identifiers: readonly string[]) => perform(findUploads(identifiers)),
  listAttributes: async () => (await perform(readOntology())).attributes,
  listRelations: () => perform(listRelations()),
  findTables: (names: readonly string[]) => perform(findTables(names)),
  findNewestDocument: () => perform(findNewestDocument()),
  listSigned: (page: SignedPage) => perform(listSigned(page)),
  hasAnyDocument: (documents: readonly number[]) => perform(hasAnyDocument(documents)),
  /** @returns a well configured, built relation, which may be disabled */
  findBuilt: async (id: number) => (await perform(listBuilt())).find((relation) => relation.id === id),
  listBuilt: () => perform(listBuilt()),
  countList: (build: number) => perform(countList(build)),
});
