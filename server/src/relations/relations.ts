/**
 * The door of relations: what goes with what, by rules that people write. A relation is a join index beside
 * the products, changed in the transaction that changes them, so an answer never shows a product that does
 * not exist. When a rule or the ontology has changed, a task walks the products again, while the old answers
 * stay. Relations know the catalog; the catalog never knows them.
 */
import type { ChosenProject } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import { type Recognisable, recognise } from '../kernel/recognise.ts';
import { type Base, type ExpectedStates, refuseOtherState } from '../storage/storage.ts';
import type { Tasks } from '../tasks/tasks.ts';
import { createRelatedAnswers, type RelatedAnswerParts } from './answers/answers.ts';
import {
  type Explanation,
  isIndexed,
  listTables,
  markOfRelation,
  markOfTable,
  type Relation,
  type RelationDefinition,
  type RemovedRelation,
  ruleOf,
  type SentTable,
  type StoredTable,
} from './definitions/definitions.ts';
import type { FitSelection } from './fit/fit.ts';
import { createTableTasks, RelationLinks } from './links/links.ts';
import { createRelationBuilds } from './memberships/memberships.ts';
import type { ExplainInput, ProductRelationsInput } from './search/search.ts';
import type { RelationStore, SavedTable, TriedRelation } from './store/store.ts';

export interface RelationParts
  extends Omit<RelatedAnswerParts, 'store'>,
    Pick<Base, 'clock' | 'logger' | 'payloads'> {
  readonly store: RelationStore;
  readonly tasks: Tasks;
  /** Largest list of links. */
  readonly uploadMaxMib: number;
  /** The settings of a project for its links (§14.2). */
  getSettings(projectId: number): Promise<{ readonly maxDeletePercent: number }>;
}

export type Relations = ReturnType<typeof createRelations>;

/** A question whose caller may leave out the locale. */
type InLocale<Question> = Omit<Question, 'locale'> & { readonly locale?: string | undefined };

/** @throws not_found */
function known<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new ServiceError('not_found');
  return found;
}

export function createRelations(parts: RelationParts) {
  const { store, tasks, clock, logger, uploadMaxMib: maxMib } = parts;
  const builds = createRelationBuilds({ store, tasks, clock, logger });
  const gather = createTableTasks({
    tasks,
    payloads: parts.payloads,
    follow: builds.follow,
    replace: (projectId, table) => store.replaceTable(projectId, { ...table, at: clock.now() }),
  });
  const links = new RelationLinks({ ...parts, maxMib, dropOld: builds.dropOld });

  async function save(
    project: ChosenProject,
    definition: RelationDefinition,
    { id, expected }: Partial<RemovedRelation> = {},
  ): Promise<Relation> {
    const present = id === undefined ? undefined : await findExpected(project.id, { id, expected });
    const keep = () => store.saveRelation(project.id, { id, expected, definition, at: clock.now() });
    if (present !== undefined) refuseOtherKind(present.definition, definition);
    return known(await (isBuilt(present, definition) ? keep() : builds.changeAndBuild(project, keep)));
  }

  /** Sentences are in the locale of the project, unless the caller chose another. */
  const withLocale = async <Question extends { projectId: number; locale?: string | undefined }>(
    question: Question,
  ) => ({ ...question, locale: question.locale ?? (await parts.recallLocale(question.projectId)) });

  const find = async (projectId: number, id: number) => known(await store.find(projectId, id));

  /** The store checks again in its transaction; here it saves a task that would build nothing. */
  async function findExpected(projectId: number, { id, expected }: RemovedRelation): Promise<Relation> {
    const relation = await find(projectId, id);
    refuseOtherState(expected, markOfRelation(relation));
    return relation;
  }

  /** Builds the relations that use it anew. @throws not_found, table_exists, changed_meanwhile */
  async function saveTable(project: ChosenProject, saved: Omit<SavedTable, 'at' | 'isFollowed'>) {
    const keep = (isFollowed: boolean) =>
      store.saveTable(project.id, { ...saved, isFollowed, at: clock.now() });
    const { isUsed, table } = await keep(false);
    return known(isUsed ? (await builds.changeAndBuild(project, () => keep(true))).table : table);
  }

  return {
    list: (projectId: number) => store.list(projectId),
    /** @returns the version of the catalog, which may be as old as answers may be */
    readVersion: async (projectId: number) => (await store.open(projectId)).mark.version,
    /** @throws not_found */
    get: find,
    create: (project: ChosenProject, definition: RelationDefinition) => save(project, definition),
    /** @throws not_found, changed_meanwhile */
    replace: (
      project: ChosenProject,
      { definition, ...replaced }: RemovedRelation & { readonly definition: RelationDefinition },
    ) => save(project, definition, replaced),
    /** @throws not_found, changed_meanwhile */
    async remove(projectId: number, removed: RemovedRelation): Promise<void> {
      if (!(await store.deleteRelation(projectId, { ...removed, at: clock.now() })))
        throw new ServiceError('not_found');
      void builds.dropOld(projectId);
    },

    /**
     * Replaces the whole list: relations missing from it are deleted.
     * @returns the resulting relations @throws request_invalid for an id that two entries have
     */
    async importAll(project: ChosenProject, sent: readonly SentRelation[]): Promise<readonly Relation[]> {
      refuseRepeatedIds(sent);
      const present = await store.list(project.id);
      const { met, missing } = recognise(
        sent.map(identityOf),
        present.map((one) => ({ ...identityOf(one), relationId: one.id })),
      );
      for (const [at, { definition }] of sent.entries())
        await save(project, definition, { id: met[at]?.relationId });
      for (const { relationId: id } of missing)
        await store.deleteRelation(project.id, { id, at: clock.now() });
      void builds.dropOld(project.id);
      return store.list(project.id);
    },

    follow: builds.follow,
    links,
    tables: {
      /** @returns a page ordered by name, beginning after `after` */
      list: store.listTables,
      /** @throws not_found */
      get: async (projectId: number, name: string) => known(await store.findTable(projectId, name)),
      save: saveTable,
      gather,
      /** @returns only the tables that the relations name */
      async listUsed(projectId: number, used: readonly Relation[]): Promise<StoredTable[]> {
        const names = new Set(used.flatMap(({ definition }) => listTables(ruleOf(definition))));
        // One after another: all at once would take every connection of the process.
        const found = await Array.fromAsync(names, (name) => store.findTable(projectId, name));
        return found.filter((table) => table !== undefined);
      },
      /** Creates the table, or replaces the one with its name if that differs. */
      async put(project: ChosenProject, table: SentTable): Promise<void> {
        const present = await store.findTable(project.id, table.name);
        if (present !== undefined && markOfTable(present) === markOfTable(table)) return;
        await saveTable(project, { table, isNew: present === undefined });
      },
      /** @throws not_found, table_in_use, changed_meanwhile */
      async remove(projectId: number, removed: { name: string; expected?: ExpectedStates }) {
        if (!(await store.deleteTable(projectId, removed))) throw new ServiceError('not_found');
      },
    },
    /** Tries a definition on the present catalog, and stores nothing. */
    tryDefinition: async (tried: InLocale<TriedRelation>, signal: AbortSignal) =>
      store.tryDefinition(await withLocale(tried), signal),
    /** @throws not_found, relation_not_ready while its index is made */
    survey: async (projectId: number, id: number, signal: AbortSignal) =>
      (await store.survey({ projectId, id }, signal)) ?? describeProblem(await find(projectId, id)),
    /** @throws not_found for the relation or a product, relation_not_ready, search_too_long */
    async explain(request: InLocale<ExplainInput>, signal: AbortSignal): Promise<Explanation> {
      const explained = await store.explain(await withLocale(request), signal);
      if (explained === undefined) return refuseUnbuilt(await find(request.projectId, request.id));
      if (!('unknown' in explained)) return explained;
      throw new ServiceError('not_found', `no product ${JSON.stringify(explained.unknown)}`);
    },

    /** @returns all relations of the project, with what the built ones find for a product @throws not_found */
    async relateProduct(request: InLocale<ProductRelationsInput>, signal: AbortSignal) {
      const related = await store.relateProduct(await withLocale(request), signal);
      if (related === undefined) throw new ServiceError('not_found');
      const byId = new Map(related.map((one) => [one.id, one]));
      return (await store.list(request.projectId)).map((relation) => ({
        relation,
        related: byId.get(relation.id),
      }));
    },

    /** @returns the answer as JSON @throws request_invalid, search_too_long */
    judgeFit: async (question: FitSelection, signal: AbortSignal) =>
      store.judgeFit(
        { ...(await withLocale(question)), ...(await parts.recallSettings(question.projectId)) },
        signal,
      ),

    /** @returns attributes whose missing values leave verdicts unknown @throws search_too_long */
    surveyMissing: store.surveyMissing,

    /** @throws bad_request, query_invalid before the first step; search_too_long in any */
    answer: createRelatedAnswers(parts),
  };
}

/** Whether a definition needs no new index; a list is complete from the beginning. */
const isBuilt = (present: Relation | undefined, definition: RelationDefinition) =>
  !isIndexed(definition) ||
  (present?.state === 'ready' &&
    JSON.stringify(ruleOf(present.definition)) === JSON.stringify(ruleOf(definition)));

const kindOf = ({ kind = 'rule' }: RelationDefinition) => kind;

/** Its links would be lost, or the fate of its rule would be undefined. */
function refuseOtherKind(present: RelationDefinition, definition: RelationDefinition): void {
  if (kindOf(present) === kindOf(definition)) return;
  const detail = '/kind cannot change: delete the relation, or create another one';
  throw new ServiceError('request_invalid', detail);
}

function describeProblem(relation: Relation): { readonly problem: string } {
  return relation.problem === undefined ? refuseUnbuilt(relation) : { problem: relation.problem };
}

function refuseUnbuilt({ problem }: Relation): never {
  throw new ServiceError('relation_not_ready', problem ?? 'its index is being made');
}

interface SentRelation {
  readonly id: number | undefined;
  readonly definition: RelationDefinition;
}

/** The id or name of a relation of another kind means a different relation, as a kind cannot change. */
function identityOf({ id, definition }: SentRelation): Recognisable {
  const kind = kindOf(definition);
  const name = JSON.stringify([kind, definition.name, definition.tag]);
  return { id: id === undefined ? undefined : `${kind} ${id}`, name };
}

/** @throws request_invalid that names the entries with a repeated id */
function refuseRepeatedIds(sent: readonly SentRelation[]): void {
  const details = sent.flatMap(({ id }, at) => {
    const first = sent.findIndex((one) => one.id === id);
    if (id === undefined || first === at) return [];
    return [`/relations/${at} has the id ${id} of /relations/${first}`];
  });
  if (details.length > 0) throw new ServiceError('request_invalid', { details: details.slice(0, 100) });
}
