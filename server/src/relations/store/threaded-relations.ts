import type { ChangedCatalog, ChangeOrder } from '../../catalog/catalog.ts';
import type { ByteCache, Operation, Program, ThreadPool } from '../../storage/storage.ts';
import type { RelateInput } from '../answers/answers.ts';
import { createKeptAnswers } from '../answers/answers.ts';
import type { Relation } from '../definitions/definitions.ts';
import type { BuildOrder } from '../memberships/memberships.ts';
import type {
  CatalogMark,
  LinkOrder,
  LinkResult,
  RelationStore,
  RemovedRelation,
  SavedRelation,
  StagedPiece,
} from '../port.ts';
import {
  bindRelations,
  deleteRelation,
  findRelation,
  listRelations,
  listUnbuilt,
  readListed,
  saveRelation,
} from './definition-store.ts';
import { applyLinks, beginLinks, freeLinks, readLinks, stageLinks } from './link-store.ts';
import { buildPage, type ChangedIndex, dropBuilds, findUnusedBuild } from './membership-store.ts';

/** How the serving thread reads. */
export interface RelationReads {
  readMark(projectId: number): Promise<CatalogMark>;
  /** For decisions, and to read what was just written: never from a replica. */
  read<Result>(projectId: number, program: Program<Result>): Promise<Result>;
  /** For answers: may lag as much as a replica may. */
  readForAnswers<Result>(projectId: number, program: Program<Result>): Promise<Result>;
}

export interface ListedRelations {
  readonly version: number;
  readonly relations: readonly Relation[];
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
  readonly cache: ByteCache;
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

/** The operations of the writing threads. Those that may have nothing to do check that without the catalog's lock. */
export function writerOperations({ read, change, apply }: RelationWriter): Record<string, Operation> {
  return {
    bindRelations: async ({ projectId, input }: WriterInput<number>) => ({
      output:
        (await read(projectId, listRelations())).length === 0
          ? []
          : await change(projectId, ({ catalog }) => bindRelations(catalog, input)),
    }),
    buildRelationPage: async ({ projectId, input }: WriterInput<BuildOrder>) => ({
      output: await change(projectId, (changed) => buildPage(changed, input)),
    }),
    deleteRelation: async ({ projectId, input }: WriterInput<RemovedRelation & { at: number }>) => ({
      output: await change(projectId, ({ catalog }) => deleteRelation(catalog, input)),
    }),
    dropRelationBuilds: async ({ projectId }: { projectId: number }) => ({
      output:
        (await read(projectId, findUnusedBuild())) !== undefined && (await change(projectId, dropBuilds)),
    }),
    applyLinks: async ({ projectId, input }: WriterInput<LinkOrder>) => ({
      output: await apply<LinkResult>(projectId, input, (catalog) => applyLinks(catalog, input)),
    }),
    beginLinks: async ({ projectId, input }: WriterInput<number>) => ({
      output: await change(projectId, ({ catalog }) => beginLinks(catalog, input)),
    }),
    freeLinks: async ({ projectId, input }: WriterInput<number>) => ({
      output: await change(projectId, () => freeLinks(input)),
    }),
    stageLinks: async ({ projectId, input }: WriterInput<StagedPiece>) => ({
      output: await change(projectId, () => stageLinks(input)),
    }),
    saveRelation: async ({ projectId, input }: WriterInput<SavedRelation>) => ({
      output: await change(projectId, ({ catalog }) => saveRelation(catalog, input)),
    }),
  };
}

interface WriterInput<Input> {
  readonly projectId: number;
  readonly input: Input;
}

const LISTED_PROJECTS = 1_000;

/** A store whose writes and long reads run on threads; answers are cached in memory here. */
export function createThreadedRelations(
  reads: RelationReads,
  { writers, readers, surveyors, relationMs: limitMs, cache }: RelationThreads,
): RelationStore {
  const write = <Output>(operation: string, projectId: number, input?: unknown) =>
    writers.run<Output>(operation, { projectId, input }, { key: projectId });
  const ask =
    (threads: ThreadPool) =>
    <Output>(operation: string, input: { readonly projectId: number } & object, signal: AbortSignal) =>
      threads.run<Output>(
        operation,
        { ...input, limitMs },
        { key: input.projectId, unordered: true, signal },
      );
  const read = ask(readers);
  const survey = ask(surveyors);
  const answers = createKeptAnswers(cache);
  const listed = new Map<number, ListedRelations>();

  return {
    list: (projectId) => reads.read(projectId, listRelations()),
    find: (projectId, id) => reads.read(projectId, findRelation(id)),
    listUnbuilt: (projectId) => reads.read(projectId, listUnbuilt()),
    /** Cached by catalog version: every request for related products reads them. */
    async lookAt(projectId) {
      const mark = await reads.readMark(projectId);
      const known = listed.get(projectId);
      if (known?.version === mark.version) return { mark, relations: known.relations };
      const found = await reads.readForAnswers(projectId, readListed());
      if (listed.size >= LISTED_PROJECTS) listed.clear();
      listed.set(projectId, found);
      return { mark: { ...mark, version: found.version }, relations: found.relations };
    },
    save: (projectId, saved) => write('saveRelation', projectId, saved),
    remove: (projectId, removed) => write('deleteRelation', projectId, removed),
    bind: (projectId, at) => write('bindRelations', projectId, at),
    buildPage: (projectId, order) => write('buildRelationPage', projectId, order),
    dropBuilds: (projectId) => write('dropRelationBuilds', projectId),
    acceptLinks: (projectId, sent) =>
      surveyors.run('acceptLinks', { projectId, ...sent }, { key: projectId, unordered: true }),
    beginLinks: (projectId, relationId) => write('beginLinks', projectId, relationId),
    stageLinks: (projectId, piece) => write('stageLinks', projectId, piece),
    applyLinks: (projectId, order) => write('applyLinks', projectId, order),
    freeLinks: (projectId, build) => write('freeLinks', projectId, build),
    readLinks: (projectId, page) => reads.read(projectId, readLinks(page)),
    tryDefinition: (projectId, tried, signal) => survey('tryRelation', { projectId, ...tried }, signal),
    survey: (projectId, id, signal) => survey('surveyRelation', { projectId, ...{ id } }, signal),
    explain: (request, signal) => read('explainRelation', request, signal),
    relateProduct: (request, signal) => read('relateProduct', request, signal),
    async relate(request, frame, { met, signal }) {
      const mark = met ?? (await reads.readMark(request.projectId));
      const find = (input: RelateInput) => read<never>('relate', { ...input, ...mark }, signal);
      return answers.relate(request, { version: mark.version, frame, read: find });
    },
  };
}
