import type { ChosenProject } from '../kernel/caller.ts';
import type { FailureCode } from '../kernel/errors.ts';
import type { Store, Writer } from '../projects/projects.ts';
import { type ControlTransaction, markOf } from '../storage/storage.ts';
import type { Task } from '../tasks/tasks.ts';
import type { RunPlace, RunStore } from './definition-store.ts';
import type { Sealable, SecretPart } from './sealed-definitions.ts';

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

/** A resource of a kind with what an answer shows beside it. */
export type ShownDefinition<Definition, State, Seen> = Shown<Defined<Definition, State>, Seen>;

/** A change as a caller sends it; the signal aborts when the caller disconnects. */
export interface SentChange<Answered> extends Writer<Answered, ChosenProject> {
  readonly signal?: AbortSignal | undefined;
}

/** Covers what a person has written, as each change has its own instant. Source: docs/interface §7.6. */
export const markOfDefined = ({ id, updatedAt }: Pick<Defined<unknown, unknown>, 'id' | 'updatedAt'>) =>
  markOf([id, updatedAt]);
