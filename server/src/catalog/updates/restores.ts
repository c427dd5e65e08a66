import type { ChosenProject } from '../../kernel/caller.ts';
import type { TaskDefinition, TaskRun } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import type { RestoreOrder } from '../port.ts';
import { acceptAnswered, type Recording } from './answered-task.ts';
import type { ReExtraction } from './re-extraction.ts';
import { refusalOfRestore, refuseRestore } from './undoable-commits.ts';
import { answerToTask, SUCCESS_TEXTS, type TaskAccepted } from './update-answers.ts';

/** Restores, which undo the last commits and deletes. Source: docs/interface §4.5. */
export class Restores {
  readonly task: TaskDefinition<RestoreOrder>;
  private readonly parts: CatalogParts;
  private readonly reExtraction: ReExtraction;

  constructor(parts: CatalogParts, reExtraction: ReExtraction) {
    this.parts = parts;
    this.reExtraction = reExtraction;
    this.task = {
      kind: 'catalog.restore',
      name: 'restore',
      increment: 'STEP_BASED',
      acceptedAs: 'RUNNING',
      isOrdered: true,
      run: (order, run) => this.run(order, run),
    };
  }

  /** @throws nothing_to_restore, changed_meanwhile */
  async restore(
    project: ChosenProject,
    { record, ...order }: RestoreOrder & Recording<TaskAccepted>,
  ): Promise<TaskAccepted> {
    const { store, tasks } = this.parts;
    if (!(await tasks.hasOpenOrdered(project.id)))
      refuseRestore(await store.listUndoableCommits(project.id), order);
    return acceptAnswered(this.parts, this.task, {
      project,
      payload: order,
      record,
      describe: (task) => answerToTask(SUCCESS_TEXTS.restore, task),
    });
  }

  private async run(order: RestoreOrder, run: TaskRun): Promise<void> {
    const { store, clock } = this.parts;
    const { projectId, projectName, number: taskNumber } = run.task;
    const change = { ...order, taskNumber, at: clock.now() };
    const { result } = await run.takeEffect(() => store.restore(projectId, change));
    if (result === null || 'last' in result) throw refusalOfRestore(result?.last, order);
    const message =
      'the product was changed after the commit or delete, and the restore overwrote that change';
    for (const identifier of result.overwritten)
      run.report({ identifier, code: 'overwritten_later', message });
    await run.log(
      `restored ${result.restored} products, overwrote ${result.overwritten.length} later changes`,
    );
    this.parts.onProductsWritten(projectId, {});
    if (result.needsExtraction) await this.reExtraction.start({ id: projectId, name: projectName });
    this.parts.collectGarbage(projectId);
  }
}
