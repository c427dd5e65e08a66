import type { ChosenProject } from '../../kernel/caller.ts';
import type { Author } from '../../projects/projects.ts';
import type { Task, TaskDefinition, TaskRun } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import { type Renames, renameUses } from '../ontology/changes/changes.ts';
import { openPassage } from '../report-lines.ts';

/** Renamed attributes. The definitions that name them follow the change. */
export interface Renamed {
  readonly renames: Renames;
  readonly author: Author;
  readonly project: ChosenProject;
}

interface FollowUp {
  readonly renamed?: Renamed;
}

/**
 * The task that follows a change of the ontology and extracts the facts of all products again. Source: docs/interface
 * §11.5.
 */
export class ReExtraction {
  readonly task: TaskDefinition<FollowUp>;
  private readonly parts: CatalogParts;

  constructor(parts: CatalogParts) {
    this.parts = parts;
    this.task = {
      kind: 'catalog.extract',
      name: 're-extraction',
      increment: 'STEP_BASED',
      acceptedAs: 'PENDING',
      isOrdered: false,
      run: (followUp, run) => this.run(followUp, run),
    };
  }

  /** Starts the task for all products whose facts follow an older ontology. */
  async start(project: Pick<ChosenProject, 'id' | 'name' | 'origin'>): Promise<void> {
    await this.parts.tasks.accept(this.task, { project, payload: {} });
  }

  /** Accepts the task before the change that it follows. The task is held until the change is stored. */
  hold(project: ChosenProject, followUp: FollowUp): Promise<Task> {
    return this.parts.tasks.accept(this.task, { project, payload: followUp, isHeld: true });
  }

  async followRenames({ renames, author, project }: Renamed): Promise<void> {
    await renameUses(await this.parts.listNaming(project), renames, author);
  }

  private async run({ renamed }: FollowUp, run: TaskRun): Promise<void> {
    // Runs again after a crash, because definitions that were renamed already remain unchanged.
    if (renamed) await this.followRenames(renamed);
    // Pages take effect one after another, so after the first page a cancellation could not undo them.
    const count = await run.takeEffect(() => this.followAll(run));
    await this.parts.onOntologyFollowed(run);
    await run.log(`extracted the facts of ${count} products again`);
  }

  /** @returns the number of products whose facts were extracted */
  private async followAll(run: TaskRun): Promise<number> {
    const { store, ingest, clock } = this.parts;
    const { projectId, number: taskNumber } = run.task;
    const total = await store.countProducts(projectId);
    const passage = openPassage(run);
    let count = 0;
    for (let after = 0; ; ) {
      run.signal.throwIfAborted();
      const { report, lastId, ...followed } = await ingest.follow(projectId, after);
      if (followed.products.length === 0) break;
      count += followed.products.length;
      after = lastId;
      await store.followOntology(projectId, { ...followed, taskNumber, at: clock.now() });
      await passage.pass(report);
      await run.progress((count / Math.max(total, 1)) * 100);
    }
    run.count(await passage.end());
    return count;
  }
}
