import { BoundedMap } from '../../kernel/bounded-map.ts';
import { mapTable, type Program } from '../../storage/programs/programs.ts';
import type { BudgetTerms, QuestionPool, ThreadPool } from '../../storage/threads/threads.ts';
import type { FitInput } from '../fit/fit.ts';
import type { LinkOrder, LinkPage, LinkResult, SentLinks } from '../links/links.ts';
import {
  type ChangedIndex,
  findRelation,
  findTable,
  type InProject,
  type ListedRelations,
  listRelations,
  listTables,
  listUnbuilt,
  measureTables,
  type RelationReads,
  readLinks,
  readListed,
} from '../relation-store/relation-store.ts';
import type { ReaderOperations } from './reader-operations.ts';
import { CHANGES } from './writer-operations.ts';

export interface RelationThreads {
  /** The writing threads. They run the writes of one project one after another. */
  readonly writers: ThreadPool;
  /** The threads that answer relations. */
  readonly readers: QuestionPool;
  /** The threads that run previews and health. */
  readonly surveyors: QuestionPool;
  /** The time limit of one question, in milliseconds. */
  readonly relationMs: number;
}

/**
 * How many times the limit of a question a survey may take: 6 to read the catalog, 1 to search and 1 to
 * describe the results.
 */
const SURVEY_TIMES = 8;
/** Enough time for a list of links in a body of the largest size. */
const ACCEPT_MS = 600_000;
/** For how many projects the serving thread caches relations. */
const LISTED_PROJECTS = 1_000;

/**
 * The store of relations. Relations and their join index are stored with the catalog, so that both change at
 * the same instant.
 */
export type RelationStore = ReturnType<typeof createThreadedRelations>;

/**
 * Creates the store whose writes and long reads run in threads. A question ends when its `signal` is aborted.
 */
export const createThreadedRelations = (reads: RelationReads, threads: RelationThreads) => ({
  ...changesIn(threads),
  ...readsOf(reads),
  ...questionsTo(threads),
});

/** Each change with the signature that the serving thread uses. */
type Changes = {
  readonly [Name in keyof typeof CHANGES]: (typeof CHANGES)[Name] extends (
    changed: ChangedIndex,
    ...input: infer Input
  ) => Program<infer Result>
    ? (projectId: number, ...input: Input) => Promise<Result>
    : never;
};

function changesIn({ writers }: RelationThreads) {
  const write =
    <Result>(name: string) =>
    (projectId: number, ...input: unknown[]) =>
      writers.run<Result>(name, [projectId, ...input], { key: projectId });
  return {
    ...(mapTable(CHANGES, (_, name) => write(name)) as Changes),
    applyLinks: (projectId: number, order: LinkOrder) => write<LinkResult>('applyLinks')(projectId, order),
  };
}

function readsOf(reads: RelationReads) {
  const listed = new BoundedMap<number, ListedRelations>({ most: LISTED_PROJECTS });
  return {
    list: (projectId: number) => reads.read(projectId, listRelations()),
    find: (projectId: number, id: number) => reads.read(projectId, findRelation(id)),
    findTable: (projectId: number, name: string) => reads.read(projectId, findTable(name)),
    listTables: (projectId: number, after: string, limit: number) =>
      reads.read(projectId, listTables(after, limit)),
    measureTables: (projectId: number, names: readonly string[]) =>
      reads.read(projectId, measureTables(names)),
    listUnbuilt: (projectId: number) => reads.read(projectId, listUnbuilt()),
    readLinks: (projectId: number, page: LinkPage) => reads.read(projectId, readLinks(page)),
    /**
     * @returns the relations for an answer, which may be as old as answers may be. They are cached by catalog
     * version because every answer needs them.
     */
    async open(projectId: number) {
      const mark = await reads.readMark(projectId);
      const cached = listed.get(projectId);
      if (cached?.version === mark.version) return { mark, relations: cached.relations };
      const fresh = await reads.readForAnswers(projectId, readListed());
      listed.set(projectId, fresh);
      return { mark: { ...mark, version: fresh.version }, relations: fresh.relations };
    },
  };
}

function questionsTo({ readers, surveyors, relationMs: limitMs }: RelationThreads) {
  const asking =
    (terms: BudgetTerms) =>
    <Name extends keyof ReaderOperations>(threads: QuestionPool, name: Name) =>
    (input: Omit<Parameters<ReaderOperations[Name]>[0], 'limitMs'> & InProject, signal?: AbortSignal) =>
      threads.ask<Awaited<ReturnType<ReaderOperations[Name]>>>(
        name,
        { ...input, limitMs },
        { key: input.projectId, terms, signal },
      );
  const ask = asking({ ms: limitMs, refusal: 'search_too_long' });
  const survey = asking({ ms: limitMs * SURVEY_TIMES, refusal: 'search_too_long' });
  const accept = asking({ ms: ACCEPT_MS, refusal: 'question_too_long' });
  return {
    acceptLinks: (projectId: number, sent: SentLinks) =>
      accept(surveyors, 'acceptLinks')({ projectId, ...sent }),
    /**
     * Tries a definition on the catalog.
     * @returns its health, or the reason why it cannot work
     * @throws search_too_long
     */
    tryDefinition: survey(surveyors, 'tryRelation'),
    /** @returns the health of a relation; undefined if it is not built */
    survey: survey(surveyors, 'surveyRelation'),
    /**
     * @returns undefined if the relation is not built, or the identifier of a product that does not exist
     * @throws search_too_long
     */
    explain: ask(readers, 'explainRelation'),
    /**
     * @returns what each built relation finds for a product; undefined if the product does not exist
     * @throws search_too_long
     */
    relateProduct: ask(readers, 'relateProduct'),
    /**
     * Surveying threads find the alternatives, because they cache the products that previews read.
     * @returns the answer as JSON
     * @throws request_invalid, search_too_long
     */
    judgeFit: (input: FitInput, signal: AbortSignal) =>
      ask(input.alternatives > 0 ? surveyors : readers, 'judgeFit')(input, signal),
    /** @returns the attributes whose missing values leave verdicts unknown @throws search_too_long */
    surveyMissing: survey(surveyors, 'surveyMissing'),
    /** @throws search_too_long */
    relate: ask(readers, 'relate'),
  };
}
