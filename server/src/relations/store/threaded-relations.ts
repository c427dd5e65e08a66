import type { ByteCache, Operation, ThreadPool } from '../../storage/storage.ts';
import type { RelateInput } from '../answers/answers.ts';
import { createKeptAnswers } from '../answers/answers.ts';
import type { Relation } from '../definitions/definitions.ts';
import type { BuildOrder, BuildPage } from '../memberships/memberships.ts';
import type { CatalogMark, RelationStore, RemovedRelation, SavedRelation } from '../port.ts';

/** What the serving thread reads itself. */
export interface RelationReads {
  readMark(projectId: number): Promise<CatalogMark>;
  /** The relations with the version that they are of. */
  readListed(projectId: number): Promise<ListedRelations>;
  list(projectId: number): Promise<readonly Relation[]>;
  find(projectId: number, id: number): Promise<Relation | undefined>;
  listUnbuilt(projectId: number): Promise<readonly number[]>;
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
  /** Those that say how relations do on whole catalogs. */
  readonly surveyors: ThreadPool;
  /** How long a question may be worked on. */
  readonly relationMs: number;
  readonly cache: ByteCache;
}

/** What the writing threads do, whichever store they write to; each is one transaction. */
export interface RelationWrites {
  bind(projectId: number): Promise<number[]> | number[];
  buildPage(projectId: number, order: BuildOrder): Promise<BuildPage> | BuildPage;
  remove(projectId: number, removed: RemovedRelation): Promise<boolean> | boolean;
  dropBuilds(projectId: number): Promise<boolean> | boolean;
  save(projectId: number, saved: SavedRelation): Promise<Relation | undefined> | Relation | undefined;
}

export function writerOperations(writes: RelationWrites): Record<string, Operation> {
  const operation =
    <Input, Output>(work: (projectId: number, input: Input) => Output) =>
    async ({ projectId, input }: { projectId: number; input: Input }) => ({
      output: await work(projectId, input),
    });
  return {
    bindRelations: operation(writes.bind),
    buildRelationPage: operation(writes.buildPage),
    deleteRelation: operation(writes.remove),
    dropRelationBuilds: operation(writes.dropBuilds),
    saveRelation: operation(writes.save),
  };
}

const LISTED_PROJECTS = 1_000;

/** A store whose writes and long reads are work of threads; what was answered is kept in memory here. */
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
    list: reads.list,
    find: reads.find,
    listUnbuilt: reads.listUnbuilt,
    /** Every request for related products asks for them; they change with the catalog's version. */
    async lookAt(projectId) {
      const mark = await reads.readMark(projectId);
      const known = listed.get(projectId);
      if (known?.version === mark.version) return { mark, relations: known.relations };
      const found = await reads.readListed(projectId);
      if (listed.size >= LISTED_PROJECTS) listed.clear();
      listed.set(projectId, found);
      return { mark: { ...mark, version: found.version }, relations: found.relations };
    },
    save: (projectId, saved) => write('saveRelation', projectId, saved),
    remove: (projectId, removed) => write('deleteRelation', projectId, removed),
    bind: (projectId) => write('bindRelations', projectId),
    buildPage: (projectId, order) => write('buildRelationPage', projectId, order),
    dropBuilds: (projectId) => write('dropRelationBuilds', projectId),
    tryDefinition: (projectId, definition, signal) =>
      survey('tryRelation', { projectId, ...{ definition } }, signal),
    survey: (projectId, id, signal) => survey('surveyRelation', { projectId, ...{ id } }, signal),
    explain: (wanted, signal) => read('explainRelation', wanted, signal),
    relateProduct: (wanted, signal) => read('relateProduct', wanted, signal),
    async relate(wanted, frame, { met, signal }) {
      const mark = met ?? (await reads.readMark(wanted.projectId));
      const find = (input: RelateInput) => read<never>('relate', { ...input, ...mark }, signal);
      return answers.relate(wanted, { version: mark.version, frame, read: find });
    },
  };
}
