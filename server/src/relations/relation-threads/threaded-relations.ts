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
  type RelationReads,
  readLinks,
  readListed,
} from '../relation-store/relation-store.ts';
import type { ReaderOperations } from './reader-operations.ts';
import { CHANGES } from './writer-operations.ts';

export interface RelationThreads {
  /** Threads that write; one project's writes run one after another. */
  readonly writers: ThreadPool;
  /** Threads that answer relations. */
  readonly readers: QuestionPool;
  /** Threads for previews and health. */
  readonly surveyors: QuestionPool;
  /** Time limit of a question. */
  readonly relationMs: number;
}

/** A survey reads the catalog in six times the time of a search, searches in it, and describes what it found. */
const SURVEY_TIMES = 8;
/** For a list of links of the largest body. */
const ACCEPT_MS = 600_000;
/** Projects whose relations the serving thread caches. */
const LISTED_PROJECTS = 1_000;

/** Relations and their join index are stored with the catalog, so that both change at the same instant. */
export type RelationStore = ReturnType<typeof createThreadedRelations>;

/** A store whose writes and long reads run in threads. Questions end when their `signal` is aborted. */
export const createThreadedRelations = (reads: RelationReads, threads: RelationThreads) => ({
  ...changesIn(threads),
  ...readsOf(reads),
  ...questionsTo(threads),
});

/** Each change as the serving thread calls it. */
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
    listUnbuilt: (projectId: number) => reads.read(projectId, listUnbuilt()),
    readLinks: (projectId: number, page: LinkPage) => reads.read(projectId, readLinks(page)),
    /** @returns the relations for an answer, as old as answers may be; cached by catalog version, as every answer needs them */
    async open(projectId: number) {
      const mark = await reads.readMark(projectId);
      const known = listed.get(projectId);
      if (known?.version === mark.version) return { mark, relations: known.relations };
      const found = await reads.readForAnswers(projectId, readListed());
      listed.set(projectId, found);
      return { mark: { ...mark, version: found.version }, relations: found.relations };
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
    /** Tries a definition on the catalog. @returns its health, or why it cannot work @throws search_too_long */
    tryDefinition: survey(surveyors, 'tryRelation'),
    /** @returns the health of a relation; undefined if it is not built */
    survey: survey(surveyors, 'surveyRelation'),
    /** @returns undefined if the relation is not built, the identifier if a product does not exist @throws search_too_long */
    explain: ask(readers, 'explainRelation'),
    /** @returns what each built relation finds for a product; undefined if that does not exist @throws search_too_long */
    relateProduct: ask(readers, 'relateProduct'),
    /** Alternatives are looked for among the products that previews read. @returns the answer as JSON @throws request_invalid, search_too_long */
    judgeFit: (input: FitInput, signal: AbortSignal) =>
      ask(input.alternatives > 0 ? surveyors : readers, 'judgeFit')(input, signal),
    /** @returns attributes whose missing values leave verdicts unknown @throws search_too_long */
    surveyMissing: survey(surveyors, 'surveyMissing'),
    /** @throws search_too_long */
    relate: ask(readers, 'relate'),
  };
}
