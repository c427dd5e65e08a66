import type { Resources } from '../projects/projects.ts';
import { type ListPage, type PageRequest, readPlace, toPage } from '../projects/projects.ts';
import type { Database } from '../storage/storage.ts';
import type { Tasks } from '../tasks/tasks.ts';
import type { Defined, DefinitionKind, InProject, Run, ShownDefinition } from './definition-kind.ts';
import type { RunRow } from './definition-store.ts';

interface ViewParts<Resource extends { readonly id: number }> {
  readonly database: Database;
  readonly tasks: Pick<Tasks, 'listNumbered'>;
  readonly resources: Resources<Resource, InProject>;
}

type ViewedKind<Definition extends { readonly name: string }, State, Seen> = Pick<
  DefinitionKind<unknown, Definition, State, Seen>,
  'runs' | 'see'
>;

/** Reads resources of a kind with the content that answers show: the last run of each, and `Seen` of the kind. */
export class DefinitionViews<Definition extends { readonly name: string }, State, Seen> {
  private readonly parts: ViewParts<Defined<Definition, State>>;
  private readonly kind: ViewedKind<Definition, State, Seen>;

  constructor(parts: ViewParts<Defined<Definition, State>>, kind: ViewedKind<Definition, State, Seen>) {
    this.parts = parts;
    this.kind = kind;
  }

  /** @throws not_found */
  async get(project: InProject, id: number): Promise<ShownDefinition<Definition, State, Seen>> {
    const resource = await this.parts.resources.get(project, id);
    const [shown] = await this.show(project, [resource]);
    return shown ?? { resource, lastRun: undefined, seen: undefined };
  }

  /** Ordered by id. @throws query_invalid */
  async list(
    project: InProject,
    request: PageRequest,
  ): Promise<ListPage<ShownDefinition<Definition, State, Seen>>> {
    const page = await this.parts.resources.list(project, request);
    return { ...page, items: await this.show(project, page.items) };
  }

  /** Newest first. @throws not_found, query_invalid */
  async listRuns(project: InProject, id: number, request: PageRequest): Promise<ListPage<Run>> {
    const { database, resources } = this.parts;
    const requested = readPlace(request);
    const owner = await resources.get(project, id);
    const runs = (await this.kind.runs?.list(database.read, owner, requested)) ?? [];
    const numbered = runs.map((run) => ({ ...run, id: run.taskNumber }));
    const page = toPage(numbered, requested);
    return { ...page, items: await this.withTasks(project.id, page.items) };
  }

  private async show(project: InProject, listed: readonly Defined<Definition, State>[]) {
    const { kind } = this;
    const [from = 0, to = 0] = [listed[0]?.id, listed.at(-1)?.id];
    const last = (await kind.runs?.listLast(this.parts.database.read, project.id, { from, to })) ?? [];
    const runs = new Map((await this.withTasks(project.id, last)).map((run) => [run.ownerId, run]));
    const seen = await kind.see?.(listed);
    return listed.map((resource) => ({
      resource,
      lastRun: runs.get(resource.id),
      seen: seen?.get(resource.id),
    }));
  }

  /** Skips runs whose task has been deleted. */
  private async withTasks(projectId: number, runs: readonly RunRow[]): Promise<Run[]> {
    const numbers = runs.map(({ taskNumber }) => taskNumber);
    const tasks = await this.parts.tasks.listNumbered(projectId, numbers);
    const byNumber = new Map(tasks.map((task) => [task.number, task]));
    return runs.flatMap(({ taskNumber, ...run }) => {
      const task = byNumber.get(taskNumber);
      return task === undefined ? [] : { ...run, task };
    });
  }
}
