import type { ChosenProject } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { ReportLine, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';

/**
 * A step of several builds. They run together because reading a document takes longer than applying a rule to
 * it.
 */
export interface BuildOrder {
  readonly relationIds: readonly number[];
  readonly now: number;
  /** The end of the previous page; absent for the first page. */
  readonly after?: WalkedPlace | undefined;
  readonly limit: number;
}

export interface WalkedPlace {
  /**
   * The builds of this walk. A relation that was changed meanwhile has another build, which its own task
   * makes.
   */
  readonly builds: readonly number[];
  readonly document: number;
}

export interface BuildPage {
  /** Undefined if the indexes are complete, or if no index is needed. */
  readonly next: WalkedPlace | undefined;
  /** The percentage of documents that have been walked. */
  readonly progress: number;
  /** Products for which only the first combinations of values count. */
  readonly report?: readonly ReportLine[];
}

/** The part of the store that builds use. */
interface BuildStore {
  listUnbuilt(projectId: number): Promise<readonly number[]>;
  /** Binds the relations to the present ontology. @returns the relations whose index must be built */
  bindRelations(projectId: number, now: number): Promise<readonly number[]>;
  buildPage(projectId: number, order: BuildOrder): Promise<BuildPage>;
  /** @returns whether more rows may remain */
  dropBuilds(projectId: number): Promise<boolean>;
}

/** The documents of a step for one relation: few enough that an update of the project hardly waits. */
const PAGE = 1_000;
/** The fewest documents of a step, if many relations are built together. */
const SMALLEST_PAGE = 200;

interface BuildParts {
  readonly store: BuildStore;
  readonly tasks: Tasks;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Builds the indexes of relations whose rule or attributes changed. Source: docs/interface §12.4 rule 2. */
export class RelationBuilds {
  private readonly parts: BuildParts;
  private readonly task: TaskDefinition<object> = {
    kind: 'relations.build',
    name: 'relation build',
    increment: 'STEP_BASED',
    acceptedAs: 'PENDING',
    isOrdered: false,
    run: (_, run) => this.run(run),
  };

  constructor(parts: BuildParts) {
    this.parts = parts;
    parts.tasks.define([this.task]);
  }

  private async run(run: TaskRun): Promise<void> {
    const { projectId } = run.task;
    const unbuilt = await this.parts.store.listUnbuilt(projectId);
    await this.build(run, unbuilt);
    await run.log(`built the index of ${unbuilt.length} relations`);
    await this.dropOld(projectId);
  }

  private async build(run: TaskRun, relationIds: readonly number[]): Promise<void> {
    if (relationIds.length === 0) return;
    const { store, clock } = this.parts;
    const limit = Math.max(Math.ceil(PAGE / relationIds.length), SMALLEST_PAGE);
    let after: WalkedPlace | undefined;
    do {
      run.signal.throwIfAborted();
      const page = await store.buildPage(run.task.projectId, { relationIds, after, now: clock.now(), limit });
      await run.progress(page.progress);
      for (const line of page.report ?? []) run.report(line);
      after = page.next;
    } while (after !== undefined);
  }

  /**
   * Removes the rows of builds that no relation uses. After a failure, the next build removes the remaining
   * rows.
   */
  async dropOld(projectId: number): Promise<void> {
    try {
      while (await this.parts.store.dropBuilds(projectId));
    } catch (error) {
      // Old builds only take space, because nothing reads them.
      const facts = { err: error, project: projectId };
      this.parts.logger.warn(
        facts,
        'removing the rows of old relation builds failed; the next build retries it',
      );
    }
  }

  /**
   * Makes a change that requires a build. The task of the build is stored first, so that a crash in between
   * does not lose it. It is held until the change is stored, and a refused change removes it.
   */
  async changeAndBuild<Result>(
    project: Pick<ChosenProject, 'id' | 'name' | 'origin'>,
    change: () => Promise<Result>,
  ): Promise<Result> {
    const { tasks } = this.parts;
    const newTask = { project, payload: {} };
    const task = await tasks.accept<object>(this.task, { ...newTask, isHeld: true });
    let isRefused = false;
    try {
      return await change();
    } catch (error) {
      // After a commit without an answer it is unknown whether the change is stored, so the task stays.
      isRefused = error instanceof ServiceError && error.code !== 'not_ready';
      throw error;
    } finally {
      if (isRefused) await tasks.withdraw(task);
      // The release fails if another process already runs the task, because this process seemed dead. That
      // task began before the change was stored, so a new task builds the index.
      else if (!(await tasks.release(task))) await tasks.accept<object>(this.task, newTask);
    }
  }

  /**
   * Builds after a change of the ontology, within the task that extracted the facts again. The answers
   * therefore change when that task ends (§11.5).
   */
  async follow(run: TaskRun): Promise<void> {
    const { store, clock } = this.parts;
    await this.build(run, await store.bindRelations(run.task.projectId, clock.now()));
    await this.dropOld(run.task.projectId);
  }
}
