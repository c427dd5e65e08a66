import type { Task, TaskDefinition } from './task.ts';
import type { RunnableKind } from './task-lease-store.ts';

/** The kinds of tasks that this program knows, by name. */
export class TaskKinds {
  private readonly definitions = new Map<string, TaskDefinition<object>>();

  define(added: readonly TaskDefinition<object>[]): void {
    for (const definition of added) this.definitions.set(definition.kind, definition);
  }

  find({ kind }: Pick<Task, 'kind'>): TaskDefinition<object> | undefined {
    return this.definitions.get(kind);
  }

  list(): readonly string[] {
    return [...this.definitions.keys()];
  }

  /** Kinds that run by themselves, and not with a task that carries them. */
  listRunnable(): readonly string[] {
    return [...this.definitions.values()].filter(({ run }) => run !== undefined).map(({ kind }) => kind);
  }

  isCarried(task: Task): boolean {
    const definition = this.find(task);
    return definition !== undefined && definition.run === undefined;
  }

  /** @returns the kinds of which this process may run another task in addition to its `running` ones */
  listFree(running: readonly Task[]): readonly RunnableKind[] {
    return this.listRunnable().flatMap((kind) => {
      const atOnce = this.definitions.get(kind)?.atOnce;
      if (atOnce === undefined) return { kind };
      const { inProcess, ...limits } = atOnce;
      const ofKind = running.filter((task) => task.kind === kind);
      const busyProjects = ofKind.map(({ projectId }) => projectId);
      return ofKind.length >= inProcess ? [] : { kind, limits: { ...limits, busyProjects } };
    });
  }
}
