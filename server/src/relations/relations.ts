/**
 * The door of relations: which products go together, by rules and lists that people write. The join index of
 * a relation is beside the products and changes in the same transaction, so an answer never shows a product
 * that does not exist. After a change of a rule or of the ontology, a task builds the index again; until it
 * ends, the old answers stay. Relations import the catalog, but the catalog never imports relations.
 */
import type { ChosenProject } from '../kernel/caller.ts';
import type { Base } from '../storage/storage.ts';
import type { TaskRun, Tasks } from '../tasks/tasks.ts';
import { createRelatedAnswers, type RelatedAnswerParts } from './answering/answering.ts';
import { createTableTasks, RelationLinks } from './links/links.ts';
import { RelationBuilds } from './memberships/memberships.ts';
import { RelationChanges, type SentRelation } from './relation-changes.ts';
import type { RelationDefinition, RemovedRelation } from './relation-definitions/relation-definitions.ts';
import { createRelationQuestions } from './relation-questions.ts';
import type { RelationStore } from './relation-threads/relation-threads.ts';
import { ValueTables } from './value-tables.ts';

export interface RelationParts
  extends Omit<RelatedAnswerParts, 'store'>,
    Pick<Base, 'clock' | 'logger' | 'payloads'> {
  readonly store: RelationStore;
  readonly tasks: Tasks;
  /** The limit of a list of links, in MiB. */
  readonly uploadMaxMib: number;
  /** Reads the settings of a project that apply to its links (§14.2). */
  getSettings(projectId: number): Promise<{ readonly maxDeletePercent: number }>;
}

export type Relations = ReturnType<typeof createRelations>;

export function createRelations(parts: RelationParts) {
  const { store, tasks, clock, logger, uploadMaxMib: maxMib } = parts;
  const builds = new RelationBuilds({ store, tasks, clock, logger });
  const follow = (run: TaskRun) => builds.follow(run);
  const gather = createTableTasks({
    tasks,
    payloads: parts.payloads,
    follow,
    replace: (projectId, table) => store.replaceTable(projectId, { ...table, now: clock.now() }),
  });
  const dropOld = (projectId: number) => builds.dropOld(projectId);
  const definitions = new RelationChanges({ store, builds, clock });
  return {
    list: (projectId: number) => store.list(projectId),
    /** @returns the version of the catalog, which may lag as far as answers may */
    readVersion: async (projectId: number) => (await store.open(projectId)).mark.version,
    /** @throws not_found */
    get: (projectId: number, id: number) => definitions.get(projectId, id),
    create: (project: ChosenProject, definition: RelationDefinition) => definitions.save(project, definition),
    /** @throws not_found, changed_meanwhile */
    replace: (
      project: ChosenProject,
      { definition, ...replaced }: RemovedRelation & { readonly definition: RelationDefinition },
    ) => definitions.save(project, definition, replaced),
    /** @throws not_found, changed_meanwhile */
    remove: (projectId: number, removed: RemovedRelation) => definitions.remove(projectId, removed),
    /** @returns the relations after the import @throws request_invalid for an id that two entries have */
    importAll: (project: ChosenProject, sent: readonly SentRelation[]) =>
      definitions.importAll(project, sent),
    follow,
    links: new RelationLinks({ ...parts, maxMib, dropOld }),
    tables: new ValueTables({ store, builds, clock, gather }),
    ...createRelationQuestions({ ...parts, definitions }),
    /** @throws query_invalid before the first step, search_too_long in any step */
    answer: createRelatedAnswers(parts),
  };
}
