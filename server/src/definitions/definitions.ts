/**
 * The door of definitions: it stores, pages, changes, audits, seals, schedules and runs the resources that people
 * define, of all kinds. The room that owns a kind provides a record of data and plain functions;
 * docs/decisions/0026-kinds-are-records.md says how to add one. This room does not depend on any single kind.
 */

import { type PageRequest, type ResourceParts, Resources } from '../projects/projects.ts';
import type { Base, Chosen } from '../storage/storage.ts';
import type { Tasks } from '../tasks/tasks.ts';
import { DefinitionChanges } from './definition-changes.ts';
import {
  type Defined,
  type DefinitionKind,
  type InProject,
  markOfDefined,
  type SentChange,
  type ShownDefinition,
} from './definition-kind.ts';
import { DefinitionViews } from './definition-views.ts';

export {
  type Defined,
  type DefinitionKind,
  type InProject,
  markOfDefined,
  type Run,
  type SentChange,
  type Shown,
} from './definition-kind.ts';
export {
  createRunStore,
  type DueTable,
  inProjectTable,
  moveDue,
  readDefined,
  toDefinedColumns,
} from './definition-store.ts';
export { checkSchedule, createSchedule, findNextRun, startOnce } from './schedule.ts';
export {
  openDefinition,
  openStored,
  type SecretPart,
  sealDefinition,
  sealedColumnOf,
} from './sealed-definitions.ts';

interface DefinitionParts extends ResourceParts, Pick<Base, 'clock' | 'secrets'> {
  readonly tasks: Pick<Tasks, 'listNumbered' | 'removeWithTask'>;
}

/** Makes the operations on the resources of one kind. */
export function createDefinitions<Sent, Definition extends { readonly name: string }, State, Seen>(
  parts: DefinitionParts,
  kind: DefinitionKind<Sent, Definition, State, Seen>,
) {
  const { type, store, runs, secrets: part } = kind;
  if (runs) parts.tasks.removeWithTask(runs.name);
  const resources = new Resources<Defined<Definition, State>, InProject>(parts, {
    store,
    lockOf: ({ id }) => id,
    markOf: markOfDefined,
    audit: ({ id, projectId, definition: { name } }) => ({ projectId, subject: { type, id, name } }),
    show: ({ definition }) => part?.mask(definition) ?? definition,
  });
  const views = new DefinitionViews({ ...parts, resources }, kind);
  const changes = new DefinitionChanges({ ...parts, resources, views }, kind);

  type Answered = ShownDefinition<Definition, State, Seen>;
  return {
    /** @throws not_found */
    get: (project: InProject, id: number) => resources.get(project, id),
    /** @throws not_found */
    getShown: (project: InProject, id: number) => views.get(project, id),
    /** Ordered by id. @throws query_invalid */
    list: (project: InProject, request: PageRequest) => views.list(project, request),
    /** Newest first. @throws not_found, query_invalid */
    listRuns: (project: InProject, id: number, request: PageRequest) => views.listRuns(project, id, request),
    /** Writes an entry to the audit log. */
    record: (...entry: Parameters<typeof resources.record>) => resources.record(...entry),
    /** @throws request_invalid, rate_limited */
    create: (sent: SentChange<Answered>, body: Sent) => changes.create(sent, body),
    /** @throws not_found, request_invalid, rate_limited, changed_meanwhile */
    replace: (sent: SentChange<Answered>, chosen: Chosen, body: Sent) => changes.replace(sent, chosen, body),
    /**
     * Changes the state that the kind records, such as the token of an address.
     * @param what the action in the audit log
     * @throws not_found
     */
    renew: (
      sent: SentChange<Answered>,
      chosen: { readonly id: number; readonly what: string },
      toNext: (state: State) => State,
    ) => changes.renew(sent, chosen, toNext),
    /** @throws not_found, changed_meanwhile, and `busy` of the kind while a run is open */
    remove: (sent: SentChange<Answered>, chosen: Chosen) => changes.remove(sent, chosen),
  };
}
