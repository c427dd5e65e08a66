import type { ChosenProject } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { ReportLine, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';

/** Builds that are made together: reading the documents takes longer than applying a rule to them. */
export interface BuildOrder {
  readonly relationIds: readonly number[];
  readonly at: number;
  /** Where the previous page ended; absent at the beginning. */
  readonly after?: WalkedPlace | undefined;
  readonly limit: number;
}

export interface WalkedPlace {
  /** A relation whose build is not among these was changed meanwhile, and that change builds it. */
  readonly builds: readonly number[];
  readonly document: number;
}

export interface BuildPage {
  /** undefined: the indexes are complete, or none is needed. */
  readonly next: WalkedPlace | undefined;
  /** Percentage of the documents. */
  readonly progress: number;
  /** Products for which only the first combinations of values count. */
  readonly report?: readonly ReportLine[];
}

/** Where builds are stored. */
interface BuildStore {
  listUnbuilt(projectId: number): Promise<readonly number[]>;
  /** Applies the present ontology. @returns relations whose index must be built */
  bindRelations(projectId: number, at: number): Promise<readonly number[]>;
  buildPage(projectId: number, order: BuildOrder): Promise<BuildPage>;
  /** @returns whether there may be more to remove */
  dropBuilds(projectId: number): Promise<boolean>;
}

/** Documents per step for one relation, few enough that an update of the project hardly waits for it. */
const PAGE = 1_000;
/** For many relations at once. */
const SMALLEST_PAGE = 200;

interface BuildParts {
  readonly store: BuildStore;
  readonly tasks: Tasks;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Builds the index of relations whose rule or attributes changed. Source: docs/interface §12.4 rule 2. */
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
      const page = await store.buildPage(run.task.projectId, { relationIds, after, at: clock.now(), limit });
      await run.progress(page.progress);
      for (const line of page.report ?? []) run.report(line);
      after = page.next;
    } while (after !== undefined);
  }

  /** Removes rows that nothing reads; if it fails, the rest is removed after the next build. */
  async dropOld(projectId: number): Promise<void> {
    try {
      while (await this.parts.store.dropBuilds(projectId));
    } catch (error) {
      // Nothing reads old builds; they only take space.
      const facts = { err: error, project: projectId };
      this.parts.logger.warn(facts, 'removing old relation builds failed, it goes on later');
    }
  }

  /**
   * Makes a change that requires a build. The build's task is stored first, so that a crash in between
   * loses none, and held until the change is stored; a refused change removes it.
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
      // If a commit got no answer, it is unknown whether the change is stored.
      isRefused = error instanceof ServiceError && error.code !== 'not_ready';
      throw error;
    } finally {
      if (isRefused) await tasks.withdraw(task);
      // The task began before the change was stored, because this process seemed to be gone.
      else if (!(await tasks.release(task))) await tasks.accept<object>(this.task, newTask);
    }
  }

  /** Applies a change of the ontology within the task that made its facts: answers change when it ends (§11.5). */
  async follow(run: TaskRun): Promise<void> {
    const { store, clock } = this.parts;
    await this.build(run, await store.bindRelations(run.task.projectId, clock.now()));
    await this.dropOld(run.task.projectId);
  }
}
