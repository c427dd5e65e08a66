/**
 * The door of definitions: how resources that people define are stored, paged, changed, audited, sealed, planned and
 * run, whatever their kind. The room that owns a kind provides a record of it, which is data and plain functions;
 * docs/decisions/0026-kinds-are-records.md says how to add one. Definitions never know what a kind is for.
 */

import { isDeepStrictEqual } from 'node:util';
import type { ChosenProject } from '../kernel/caller.ts';
import { type FailureCode, ServiceError } from '../kernel/errors.ts';
import {
  createResources,
  type ListPage,
  type PageRequest,
  type ResourceParts,
  readPlace,
  type Store,
  toPage,
  type Writer,
} from '../projects/projects.ts';
import type { SealedColumn, Secrets } from '../storage/secrets/secrets.ts';
import { type Base, type Chosen, type ControlTransaction, markOf, readNow } from '../storage/storage.ts';
import type { Task, Tasks } from '../tasks/tasks.ts';
import type { RunPlace, RunStore } from './definition-store.ts';

export {
  createRunStore,
  type DueTable,
  inProjectTable,
  moveDue,
  readDefined,
  toDefinedColumns,
} from './definition-store.ts';
export { checkSchedule, createSchedule, findNextRun, startOnce } from './schedule.ts';

/** A resource of a project: the definition that a person wrote, and what the service records beside it. */
export interface Defined<Definition, State> extends Sealable<Definition> {
  /** Starts at 1; each change raises it. */
  readonly revision: number;
  /** When the next run is due; undefined: never. */
  readonly dueAt: number | undefined;
  /** What the kind itself records. */
  readonly state: State;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type InProject = Pick<ChosenProject, 'id'>;

/** A kind of resources of projects. `Sent` is a definition as callers write it, `Seen` what an answer shows beside it. */
export interface DefinitionKind<Sent, Definition extends { readonly name: string }, State, Seen = undefined> {
  /** The name in texts and in the audit log, e.g. `pipeline`. */
  readonly type: string;
  readonly store: Store<Defined<Definition, State>, InProject>;
  /** @returns the definition with its defaults; *** is not filled in yet. @throws request_invalid with every mistake */
  check(sent: Sent, project: ChosenProject, signal: AbortSignal | undefined): Promise<Definition>;
  createState(): State;
  /** @returns the state to go with a new definition */
  changeState(before: Defined<Definition, State>, definition: Definition): State;
  readonly secrets?: SecretPart<Definition>;
  readonly trigger?: {
    of(definition: Definition): object;
    /** @returns when the first run is due; undefined: never */
    planNext(definition: Definition, now: number): number | undefined;
  };
  readonly runs?: RunStore & {
    /** The refusal to delete a resource with an open run. */
    readonly busy: FailureCode;
  };
  /** @returns by id what answers show besides definitions and last runs; all resources are of one project */
  see?(resources: readonly Defined<Definition, State>[]): Promise<ReadonlyMap<number, Seen | undefined>>;
  /** Removes rows that belong to a resource. @returns what to do once that is durable */
  removing?(tx: ControlTransaction, resource: Defined<Definition, State>): Promise<() => Promise<void>>;
}

/** A started run; its task has the counts. */
export interface Run extends Omit<RunPlace, 'taskNumber'> {
  readonly task: Task;
}

/** A resource with what an answer shows beside it. */
export interface Shown<Resource, Seen = undefined> {
  readonly resource: Resource;
  readonly lastRun: Run | undefined;
  readonly seen: Seen | undefined;
}

/** A change as a caller sends it; the signal aborts when the caller disconnects. */
export interface SentChange<Answered> extends Writer<Answered, ChosenProject> {
  readonly signal?: AbortSignal | undefined;
}

/** The limit for a kind in a project. */
const MOST = 1_000;

/** The lifecycle of a kind of resources of projects. */
export function createDefinitions<Sent, Definition extends { readonly name: string }, State, Seen>(
  parts: ResourceParts &
    Pick<Base, 'clock' | 'secrets'> & { readonly tasks: Pick<Tasks, 'listNumbered' | 'removeWithTask'> },
  kind: DefinitionKind<Sent, Definition, State, Seen>,
) {
  type Resource = Defined<Definition, State>;
  type Answered = Shown<Resource, Seen>;
  const { database, clock, secrets, tasks } = parts;
  const { type, store, runs: runStore, secrets: part } = kind;
  if (runStore) tasks.removeWithTask(runStore.name);
  const mask = (definition: Definition) => part?.mask(definition) ?? definition;
  const seal = (resource: Resource) => (part ? sealDefinition(part, resource, secrets) : resource);
  const resources = createResources<Resource, InProject>(parts, {
    store,
    lockOf: ({ id }) => id,
    markOf: markOfDefined,
    audit: ({ id, projectId, definition: { name } }) => ({ projectId, subject: { type, id, name } }),
    show: ({ definition }) => mask(definition),
  });

  async function withTasks(projectId: number, places: readonly RunPlace[]): Promise<Run[]> {
    const numbers = places.map(({ taskNumber }) => taskNumber);
    const found = new Map((await tasks.listNumbered(projectId, numbers)).map((task) => [task.number, task]));
    return places.flatMap(({ taskNumber, ...place }) => {
      const task = found.get(taskNumber);
      return task === undefined ? [] : { ...place, task };
    });
  }

  async function show(place: InProject, listed: readonly Resource[]): Promise<Answered[]> {
    const [from = 0, to = 0] = [listed[0]?.id, listed.at(-1)?.id];
    const places = (await runStore?.listLast(database.read, place.id, { from, to })) ?? [];
    const runs = new Map((await withTasks(place.id, places)).map((run) => [run.ownerId, run]));
    const seen = await kind.see?.(listed);
    return listed.map((resource) => ({
      resource,
      lastRun: runs.get(resource.id),
      seen: seen?.get(resource.id),
    }));
  }

  /** @throws not_found */
  async function getShown(place: InProject, id: number): Promise<Answered> {
    const resource = await resources.get(place, id);
    const [shown] = await show(place, [resource]);
    return shown ?? toAnswered(resource);
  }

  const toAnswered = (resource: Resource, { lastRun, seen }: Partial<Answered> = {}): Answered => ({
    resource,
    lastRun,
    seen,
  });
  /** @param answered what the answer shows beside the resource */
  const writerOf = ({ beside, author, place }: SentChange<Answered>, answered?: Answered) => ({
    author,
    place,
    beside: async (tx: ControlTransaction, resource: Resource) =>
      beside?.(tx, toAnswered(resource, answered)),
  });

  async function change(
    sent: SentChange<Answered>,
    chosen: Chosen & { readonly what: string },
    toNext: (shown: Answered) => Promise<(before: Resource, times: Times) => Resource>,
  ): Promise<Answered> {
    const shown = await getShown(sent.place, chosen.id);
    const plan = await toNext(shown);
    const resource = await resources.change(writerOf(sent, shown), chosen, async (tx, before) => {
      const updatedAt = Math.max(clock.now(), before.updatedAt + 1);
      return { after: plan(before, { now: await readNow(tx, database), updatedAt }) };
    });
    return toAnswered(resource, shown);
  }

  /** The planned time stays if the trigger does: a new name a second before a run must not skip it. */
  function toReplaced(before: Resource, definition: Definition, { now, updatedAt }: Times): Resource {
    const { trigger } = kind;
    const isSamePlan = isDeepStrictEqual(trigger?.of(before.definition), trigger?.of(definition));
    const dueAt = (isSamePlan ? before.dueAt : undefined) ?? trigger?.planNext(definition, now);
    const revision = before.revision + 1;
    return { ...before, definition, revision, dueAt, state: kind.changeState(before, definition), updatedAt };
  }

  return {
    /** @throws not_found */
    get: resources.get,
    getShown,
    /** Writes an entry of the audit log. */
    record: resources.record,

    /** By id. @throws query_invalid */
    async list(place: InProject, request: PageRequest): Promise<ListPage<Answered>> {
      const page = await resources.list(place, request);
      return { ...page, items: await show(place, page.items) };
    },

    /** Newest first. @throws not_found, query_invalid */
    async listRuns(place: InProject, id: number, request: PageRequest) {
      const at = readPlace(request);
      const owner = await resources.get(place, id);
      const places = (await runStore?.list(database.read, owner, at)) ?? [];
      const numbered = places.map((one) => ({ ...one, id: one.taskNumber }));
      const page = toPage(numbered, at);
      return { ...page, items: await withTasks(place.id, page.items) };
    },

    /** @throws request_invalid, rate_limited */
    async create(sent: SentChange<Answered>, body: Sent): Promise<Answered> {
      const { place, signal } = sent;
      const checked = await kind.check(body, place, signal);
      const definition = part?.fill(checked, undefined) ?? checked;
      const made = await resources.create(writerOf(sent), async (tx) => {
        if ((await store.count(tx, { projectId: place.id })) >= MOST) {
          const most = MOST.toLocaleString('en');
          throw new ServiceError('request_invalid', `a project has at most ${most} ${type}s`);
        }
        const dueAt = kind.trigger?.planNext(definition, await readNow(tx, database));
        const createdAt = clock.now();
        const added: Resource = {
          id: 0,
          projectId: place.id,
          definition: mask(definition),
          sealed: undefined,
          revision: 1,
          dueAt,
          state: kind.createState(),
          createdAt,
          updatedAt: createdAt,
        };
        const columns = { ...store.toColumns(added), projectId: place.id, createdAt };
        const inserted = await store.insert(tx, columns);
        // Secrets are bound to the id, which only exists now.
        const after = seal({ ...inserted, definition });
        if (after.sealed !== undefined) await store.update(tx, after);
        return { after };
      });
      return toAnswered(made);
    },

    /** @throws not_found, request_invalid, rate_limited, changed_meanwhile */
    replace: (sent: SentChange<Answered>, chosen: Chosen, body: Sent): Promise<Answered> =>
      change(sent, { ...chosen, what: 'changed' }, async () => {
        const checked = await kind.check(body, sent.place, sent.signal);
        return (before, times) => {
          const isNeeded = part?.hasMasked(checked) ?? false;
          const stored = part ? openStored(part, before, { secrets, isNeeded }) : before.definition;
          const definition = part?.fill(checked, stored) ?? checked;
          // A change that changes nothing keeps the ETag (§7.6 rule 1).
          if (isDeepStrictEqual(stored, definition)) return before;
          return seal(toReplaced({ ...before, definition: stored }, definition, times));
        };
      }),

    /** Changes what the kind records, such as the token of an address. @param what for the audit log. @throws not_found */
    renew: (
      sent: SentChange<Answered>,
      chosen: { readonly id: number; readonly what: string },
      toNext: (state: State) => State,
    ): Promise<Answered> =>
      change(sent, chosen, async () => (before, { updatedAt }) => ({
        ...before,
        state: toNext(before.state),
        updatedAt,
      })),

    /** @throws not_found, changed_meanwhile, and the refusal of the kind while a run is open */
    async remove(sent: SentChange<Answered>, chosen: Chosen): Promise<void> {
      const follow = await resources.remove(writerOf(sent), chosen, async (tx, resource) => {
        if (kind.runs && (await kind.runs.hasOpen(tx, resource))) throw new ServiceError(kind.runs.busy);
        return kind.removing?.(tx, resource);
      });
      await follow?.();
    },
  };
}

interface Times {
  readonly now: number;
  readonly updatedAt: number;
}

/** Covers what a person has written, as each change has its own instant. Source: docs/interface §7.6. */
export const markOfDefined = ({ id, updatedAt }: Pick<Defined<unknown, unknown>, 'id' | 'updatedAt'>) =>
  markOf([id, updatedAt]);

/** The secret part of a definition: sealed in a column of its own, with *** in the stored definition. */

/** A definition as stored, with its sealed part. */
interface Sealable<Definition> {
  readonly id: number;
  readonly projectId: number;
  /** With *** in place of sealed values. */
  readonly definition: Definition;
  /** Undefined if nothing is secret. */
  readonly sealed: string | undefined;
}

/** How a kind finds the secrets of its definitions. */
export interface SecretPart<Definition> {
  readonly column: SealedColumn;
  /** @returns the definition with *** in place of secrets */
  mask(definition: Definition): Definition;
  /** @returns the secrets; undefined if there are none, or only *** */
  pick(definition: Definition): object | undefined;
  /** @returns the masked definition with the picked secrets filled in */
  restore(masked: Definition, picked: never): Definition;
  /** @returns whether a received definition needs stored secrets */
  hasMasked(sent: Definition): boolean;
  /** Fills in what an answer masked. @throws request_invalid if there is no value to fill in */
  fill(sent: Definition, stored: Definition | undefined): Definition;
}

export const sealedColumnOf = (table: string) =>
  ({ table, column: 'secrets', key: ['project_id', 'id'] }) satisfies SealedColumn;

const placeOf = (
  { column }: { readonly column: SealedColumn },
  { projectId, id }: Pick<Sealable<unknown>, 'projectId' | 'id'>,
) => ({ ...column, row: [projectId, id] });

/** @returns the definition with its secrets. @throws secret_unreadable */
export function openDefinition<Definition>(
  part: SecretPart<Definition>,
  stored: Sealable<Definition>,
  secrets: Secrets,
): Definition {
  const { definition, sealed } = stored;
  if (sealed === undefined) return definition;
  return part.restore(definition, JSON.parse(secrets.unseal(sealed, placeOf(part, stored))) as never);
}

/**
 * @param isNeeded whether what was received needs the secrets
 * @returns the definition with its secrets; masked if they cannot be unsealed and are not needed
 * @throws secret_unreadable
 */
export function openStored<Definition>(
  part: SecretPart<Definition>,
  stored: Sealable<Definition>,
  { secrets, isNeeded }: { readonly secrets: Secrets; readonly isNeeded: boolean },
): Definition {
  try {
    return openDefinition(part, stored, secrets);
  } catch (error) {
    const isUnreadable = error instanceof ServiceError && error.code === 'secret_unreadable';
    if (!isUnreadable || isNeeded) throw error;
    return stored.definition;
  }
}

/** @returns the resource in its stored form. @throws secret_key_missing */
export function sealDefinition<Definition, Resource extends Sealable<Definition>>(
  part: SecretPart<Definition>,
  resource: Resource,
  secrets: Secrets,
): Resource {
  const picked = part.pick(resource.definition);
  if (picked === undefined) return { ...resource, sealed: undefined };
  const sealed = secrets.seal(JSON.stringify(picked), placeOf(part, resource));
  return { ...resource, definition: part.mask(resource.definition), sealed };
}
