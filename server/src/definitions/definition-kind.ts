import type { ChosenProject } from '../kernel/caller.ts';
import type { FailureCode } from '../kernel/errors.ts';
import type { Store, Writer } from '../projects/projects.ts';
import { type ControlTransaction, markOf } from '../storage/storage.ts';
import type { Task } from '../tasks/tasks.ts';
import type { RunRow, RunStore } from './definition-store.ts';
import type { Sealable, SecretPart } from './sealed-definitions.ts';

/** A resource of a project: the definition that a person wrote, and the state that the service records with it. */
export interface Defined<Definition, State> extends Sealable<Definition> {
  /** Starts at 1; each change raises it. */
  readonly revision: number;
  /** When the next run is due; undefined if no run is planned. */
  readonly dueAt: number | undefined;
  /** The fields that only this kind has. */
  readonly state: State;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type InProject = Pick<ChosenProject, 'id'>;

/**
 * A kind of resource in projects. `Sent` is the definition in a request. `Seen` is the content that an answer shows
 * besides the definition and the last run.
 */
export interface DefinitionKind<Sent, Definition extends { readonly name: string }, State, Seen = undefined> {
  /** The name in texts and in the audit log, e.g. `pipeline`. */
  readonly type: string;
  readonly store: Store<Defined<Definition, State>, InProject>;
  /**
   * @returns the definition with its defaults; *** is not yet replaced by stored secrets
   * @throws request_invalid that lists every mistake
   */
  check(sent: Sent, project: ChosenProject, signal: AbortSignal | undefined): Promise<Definition>;
  createState(): State;
  /** @returns the state for the new definition */
  changeState(before: Defined<Definition, State>, definition: Definition): State;
  readonly secrets?: SecretPart<Definition>;
  readonly trigger?: {
    of(definition: Definition): object;
    /** @returns when the first run is due; undefined if it has none */
    planNext(definition: Definition, now: number): number | undefined;
  };
  readonly runs?: RunStore & {
    /** The code that refuses to delete a resource with an open run. */
    readonly busy: FailureCode;
  };
  /** @param resources all of one project. @returns `Seen` by the id of the resource */
  see?(resources: readonly Defined<Definition, State>[]): Promise<ReadonlyMap<number, Seen | undefined>>;
  /** Removes the rows that belong to a resource. @returns a function to call once the removal is durable */
  removing?(tx: ControlTransaction, resource: Defined<Definition, State>): Promise<() => Promise<void>>;
}

/** A run with its task, which has the counts. */
export interface Run extends Omit<RunRow, 'taskNumber'> {
  readonly task: Task;
}

/** A resource with the content that an answer shows besides the definition. */
export interface Shown<Resource, Seen = undefined> {
  readonly resource: Resource;
  readonly lastRun: Run | undefined;
  readonly seen: Seen | undefined;
}

/** `Shown` of a resource of a kind. */
export type ShownDefinition<Definition, State, Seen> = Shown<Defined<Definition, State>, Seen>;

/** A change that a caller requests. The signal aborts when the caller disconnects. */
export interface SentChange<Answered> extends Writer<Answered, ChosenProject> {
  readonly signal?: AbortSignal | undefined;
}

/** Differs after each change by a person, because each change has its own `updatedAt`. Source: docs/interface §7.6. */
export const markOfDefined = ({ id, updatedAt }: Pick<Defined<unknown, unknown>, 'id' | 'updatedAt'>) =>
  markOf([id, updatedAt]);
