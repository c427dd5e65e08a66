import type { ChangeOrder } from '../../catalog/catalog.ts';
import type { ChangedCatalog } from '../../catalog/store/store.ts';
import type { ExpectedStates, Program } from '../../storage/storage.ts';
import type { Operation, ThreadPool } from '../../storage/threads/threads.ts';
import type { MetRelateInput, RelateOutput } from '../answers/answers.ts';
import type { RemovedRelation, SavedRelation } from '../definitions/definitions.ts';
import type { FitInput } from '../fit/fit.ts';
import type {
  AcceptedLinks,
  LinkOrder,
  LinkPage,
  LinkResult,
  SentLinks,
  StagedPiece,
} from '../links/links.ts';
import type { BuildOrder } from '../memberships/memberships.ts';
import type { CatalogMark, ExplainInput, ProductRelationsInput } from '../search/search.ts';
import {
  bindRelations,
  deleteRelation,
  deleteTable,
  findRelation,
  type ListedRelations,
  listRelations,
  listUnbuilt,
  readListed,
  type SavedTable,
  saveRelation,
  saveTable,
} from './definition-store.ts';
import { applyLinks, beginLinks, freeLinks, readLinks, stageLinks } from './link-store.ts';
import { buildPage, type ChangedIndex, dropBuilds, findUnusedBuild } from './membership-store.ts';
import type { ReaderOperations, TriedRelation } from './relation-reader.ts';
import { findTable, listTables } from './table-store.ts';

/** How the serving thread reads. */
export interface RelationReads {
  readMark(projectId: number): Promise<CatalogMark>;
  /** For decisions, and to read what was just written: never from a replica. */
  read<Result>(projectId: number, program: Program<Result>): Promise<Result>;
  /** For answers: may lag as much as a replica may. */
  readForAnswers<Result>(projectId: number, program: Program<Result>): Promise<Result>;
}

export interface RelationThreads {
  /** Threads that write; one project's writes run one after another. */
  readonly writers: ThreadPool;
  /** Threads that answer relations. */
  readonly readers: ThreadPool;
  /** Threads for previews and health. */
  readonly surveyors: ThreadPool;
  /** Time limit of a question. */
  readonly relationMs: number;
}

/** How a writing thread reads and changes catalogs, in one transaction each. */
export interface RelationWriter {
  read<Result>(projectId: number, program: Program<Result>): Result | Promise<Result>;
  change<Result>(
    projectId: number,
    work: (changed: ChangedIndex) => Program<Result>,
  ): Result | Promise<Result>;
  /** Does the work of an ordered task once. */
  apply<Result extends object>(
    projectId: number,
    order: ChangeOrder,
    work: (catalog: ChangedCatalog) => Program<{ result: Result; isDone: boolean }>,
  ): Result | Promise<Result>;
}

/** What the writing threads do. Those that may have nothing to do check that without the catalog's lock. */
const WRITES = {
  async bind({ read, change }: RelationWriter, projectId: number, at: number) {
    const isAny = (await read(projectId, listRelations())).length > 0;
    return isAny ? change(projectId, ({ catalog }) => bindRelations(catalog, at)) : [];
  },
  buildPage: ({ change }: RelationWriter, projectId: number, order: BuildOrder) =>
    change(projectId, (changed) => buildPage(changed, order)),
  dropBuilds: async ({ read, change }: RelationWriter, projectId: number) =>
    (await read(projectId, findUnusedBuild())) !== undefined && change(projectId, dropBuilds),
  save: ({ change }: RelationWriter, projectId: number, saved: SavedRelation) =>
    change(projectId, ({ catalog }) => saveRelation(catalog, saved)),
  remove: (
    { change }: RelationWriter,
    projectId: number,
    removed: RemovedRelation & { readonly at: number },
  ) => change(projectId, ({ catalog }) => deleteRelation(catalog, removed)),
  saveTable: ({ change }: RelationWriter, projectId: number, saved: SavedTable) =>
    change(projectId, ({ catalog }) => saveTable(catalog, saved)),
  deleteTable: (
    { change }: RelationWriter,
    projectId: number,
    removed: { readonly name: string; readonly expected?: ExpectedStates | undefined },
  ) => change(projectId, ({ catalog }) => deleteTable(catalog, removed)),
  beginLinks: ({ change }: RelationWriter, projectId: number, relationId: number) =>
    change(projectId, ({ catalog }) => beginLinks(catalog, relationId)),
  stageLinks: ({ change }: RelationWriter, projectId: number, piece: StagedPiece) =>
    change(projectId, () => stageLinks(piece)),
  applyLinks: ({ apply }: RelationWriter, projectId: number, order: LinkOrder) =>
    apply<LinkResult>(projectId, order, (catalog) => applyLinks(catalog, order)),
  freeLinks: ({ change }: RelationWriter, projectId: number, build: number) =>
    change(projectId, () => freeLinks(build)),
};

/** Each operation as the serving thread calls it. */
type Called<Operations> = {
  readonly [Name in keyof Operations]: Operations[Name] extends (
    writer: RelationWriter,
    ...sent: infer Sent
  ) => infer Result
    ? (...sent: Sent) => Promise<Awaited<Result>>
    : never;
};

/** The threads that write have operations of catalogs, too. */
const threadNameOf = (name: string) => `relations.${name}`;

/** The operations of the writing threads. */
export const writerOperations = (writer: RelationWriter): Record<string, Operation> =>
  Object.fromEntries(
    Object.entries(WRITES).map(([name, operate]) => [
      threadNameOf(name),
      (sent: readonly never[]) => (operate as (...all: unknown[]) => unknown)(writer, ...sent),
    ]),
  );

const callWriters = (writers: ThreadPool): Called<typeof WRITES> =>
  Object.fromEntries(
    Object.keys(WRITES).map((name) => [
      name,
      (...sent: [number, ...unknown[]]) => writers.run(threadNameOf(name), sent, { key: sent[0] }),
    ]),
  ) as Called<typeof WRITES>;

const LISTED_PROJECTS = 1_000;

/** Relations and their join index are stored with the catalog, so that both change in one instant. */
export type RelationStore = ReturnType<typeof createThreadedRelations>;

/** A store whose writes and long reads run on threads. Questions end when their `signal` is aborted. */
export function createThreadedRelations(
  reads: RelationReads,
  { writers, readers, surveyors, relationMs: limitMs }: RelationThreads,
) {
  const ask = <Name extends keyof ReaderOperations>(
    threads: ThreadPool,
    name: Name,
    { input, signal }: { input: Omit<Parameters<ReaderOperations[Name]>[0], 'limitMs'>; signal: AbortSignal },
  ) =>
    threads.run<Awaited<ReturnType<ReaderOperations[Name]>>>(
      name,
      { ...input, limitMs },
      { key: (input as { projectId: number }).projectId, unordered: true, signal },
    );
  const listed = new Map<number, ListedRelations>();

  return {
    ...callWriters(writers),
    list: (projectId: number) => reads.read(projectId, listRelations()),
    find: (projectId: number, id: number) => reads.read(projectId, findRelation(id)),
    findTable: (projectId: number, name: string) => reads.read(projectId, findTable(name)),
    listTables: (projectId: number, after: string, limit: number) =>
      reads.read(projectId, listTables(after, limit)),
    listUnbuilt: (projectId: number) => reads.read(projectId, listUnbuilt()),
    /** @returns the relations for an answer, as old as answers may be; cached by catalog version: every answer needs them */
    async open(projectId: number) {
      const mark = await reads.readMark(projectId);
      const known = listed.get(projectId);
      if (known?.version === mark.version) return { mark, relations: known.relations };
      const found = await reads.readForAnswers(projectId, readListed());
      if (listed.size >= LISTED_PROJECTS) listed.clear();
      listed.set(projectId, found);
      return { mark: { ...mark, version: found.version }, relations: found.relations };
    },
    acceptLinks: (projectId: number, sent: SentLinks) =>
      surveyors.run<AcceptedLinks>(
        'acceptLinks',
        { projectId, ...sent },
        { key: projectId, unordered: true },
      ),
    readLinks: (projectId: number, page: LinkPage) => reads.read(projectId, readLinks(page)),
    /** Tries a definition on the catalog. @returns how it does, or why it cannot work @throws search_too_long */
    tryDefinition: (projectId: number, tried: Omit<TriedRelation, 'projectId'>, signal: AbortSignal) =>
      ask(surveyors, 'tryRelation', { input: { projectId, ...tried }, signal }),
    /** @returns how a relation does; undefined when it is not built */
    survey: (projectId: number, id: number, signal: AbortSignal) =>
      ask(surveyors, 'surveyRelation', { input: { projectId, id }, signal }),
    /** @returns undefined when the relation is not built, the identifier when a product is not there @throws search_too_long */
    explain: (input: ExplainInput, signal: AbortSignal) => ask(readers, 'explainRelation', { input, signal }),
    /** @returns what each relation that is built does with a product; undefined when that is not there @throws search_too_long */
    relateProduct: (input: ProductRelationsInput, signal: AbortSignal) =>
      ask(readers, 'relateProduct', { input, signal }),
    /** @returns the answer as JSON @throws request_invalid, search_too_long */
    judgeFit: (input: FitInput, signal: AbortSignal) =>
      // Alternatives are looked for among the products that previews read.
      ask(input.alternatives > 0 ? surveyors : readers, 'judgeFit', { input, signal }),
    /** @returns attributes whose missing values leave verdicts unknown @throws search_too_long */
    surveyMissing: (projectId: number, signal: AbortSignal) =>
      ask(surveyors, 'surveyMissing', { input: { projectId }, signal }),
    /** @throws search_too_long */
    relate: (input: MetRelateInput, signal: AbortSignal): Promise<RelateOutput> =>
      ask(readers, 'relate', { input, signal }),
  };
}
