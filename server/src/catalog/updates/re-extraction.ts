import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { refuseOtherState } from '../../storage/storage.ts';
import type { TaskDefinition, TaskRun } from '../../tasks/tasks.ts';
import { isInPlace, isSameOntology, markOfOntology, type RequestedOntology } from '../ontology/ontology.ts';
import type { CatalogParts } from '../parts.ts';
import { ReportPassage } from '../report-lines.ts';

/** Changes of the ontology, and re-extraction, the task that follows them. Source: docs/interface.md §11.5. */
export type OntologyChanges = ReturnType<typeof createOntologyChanges>;

export function createOntologyChanges({ store, tasks, ingest, clock, onOntologyFollowed }: CatalogParts) {
  const extractionTask: TaskDefinition<object> = {
    kind: 'catalog.extract',
    name: 're-extraction',
    increment: 'STEP_BASED',
    acceptedAs: 'PENDING',
    isOrdered: false,
    run: runExtraction,
  };

  async function runExtraction(_: object, run: TaskRun): Promise<void> {
    // Pages take effect one after another, so the task cannot be cancelled without effect after the first.
    const done = await run.takeEffect(() => followAll(run));
    await onOntologyFollowed(run);
    await run.log(`looked at the facts of ${done} products`);
  }

  async function followAll(run: TaskRun): Promise<number> {
    const { projectId, number: taskNumber } = run.task;
    const total = await store.countProducts(projectId);
    const passage = new ReportPassage(run);
    let done = 0;
    for (let after = 0; ; ) {
      run.signal.throwIfAborted();
      const { report, lastId, ...followed } = await ingest.follow(projectId, after);
      if (followed.products.length === 0) break;
      done += followed.products.length;
      after = lastId;
      await store.followOntology(projectId, { ...followed, taskNumber, at: clock.now() });
      await passage.pass(report);
      await run.progress((done / Math.max(total, 1)) * 100);
    }
    run.count(await passage.end());
    return done;
  }

  /**
   * `mayBeRepeated`: it came with an idempotency key that has no answer yet.
   * @returns `changed` false when nothing differs @throws changed_meanwhile
   */
  async function replace(
    project: ChosenProject,
    { mayBeRepeated, ...requested }: RequestedOntology & { readonly mayBeRepeated: boolean },
  ) {
    try {
      return await replaceExpected(project, requested);
    } catch (error) {
      if (!mayBeRepeated || !isOtherState(error)) throw error;
      // The answer is stored after the ontology, in another transaction: when only that was lost, this is what the caller made.
      const present = await store.getOntology(project.id);
      if (!isInPlace(present, requested)) throw error;
      // Its entry in the audit log was to be stored with the answer, so that is missing too.
      return { ontology: present, changed: true };
    }
  }

  async function replaceExpected(project: ChosenProject, requested: RequestedOntology) {
    const present = await store.getOntology(project.id);
    // The store compares again in its transaction; here it spares a task that would extract nothing.
    refuseOtherState(requested.expected, markOfOntology(present));
    // Comparing what would be stored is the store's; this only spares a task when a client puts back what it got.
    if (isSameOntology(present, requested)) return { ontology: present, changed: false };
    // The task first: an ontology that changed without it would leave no report and old relations after a crash. It is
    // held until the ontology is stored; when it began before all the same, there is another.
    const task = await tasks.accept<object>(extractionTask, { project, payload: {}, isHeld: true });
    try {
      return await store.replaceOntology(project.id, requested);
    } finally {
      if (!(await tasks.release(task))) await startExtraction(project);
    }
  }

  /** Starts the task for all products whose facts followed an older ontology. */
  async function startExtraction(project: Pick<ChosenProject, 'id' | 'name' | 'origin'>): Promise<void> {
    await tasks.accept<object>(extractionTask, { project, payload: {} });
  }

  return { definitions: [extractionTask] as const, replace, startExtraction };
}

const isOtherState = (error: unknown) => error instanceof ServiceError && error.code === 'changed_meanwhile';
