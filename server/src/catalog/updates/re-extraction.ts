import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Author } from '../../projects/projects.ts';
import { refuseOtherState } from '../../storage/storage.ts';
import type { TaskDefinition, TaskRun } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import {
  applyRenames,
  checkOntology,
  isInPlace,
  isSameOntology,
  listUses,
  markOfOntology,
  type Renames,
  type RequestedAttribute,
  type RequestedOntology,
  renameUses,
} from '../ontology/changes/changes.ts';
import type { SentAttribute, SentOntology } from '../ontology/ontology.ts';
import { openPassage } from '../report-lines.ts';

/** Changes of the ontology, and re-extraction, the task that follows them. Source: docs/interface §11.5. */
export type OntologyChanges = ReturnType<typeof createOntologyChanges>;

interface FollowUp {
  readonly renamed?: Renamed;
}

interface Renamed {
  readonly renames: Renames;
  readonly author: Author;
  readonly project: ChosenProject;
}

interface SentChange extends SentOntology, Pick<RequestedOntology, 'expected'> {
  readonly author: Author;
  /** It came with an idempotency key that has no answer yet. */
  readonly mayBeRepeated: boolean;
}

export function createOntologyChanges(parts: CatalogParts) {
  const { store, tasks, ingest, clock, onOntologyFollowed } = parts;
  const extractionTask: TaskDefinition<FollowUp> = {
    kind: 'catalog.extract',
    name: 're-extraction',
    increment: 'STEP_BASED',
    acceptedAs: 'PENDING',
    isOrdered: false,
    run: runExtraction,
  };

  async function runExtraction({ renamed }: FollowUp, run: TaskRun): Promise<void> {
    // Repeated after a crash: what the change itself has done is not done again.
    if (renamed) await followRenames(renamed);
    // Pages take effect one by one, so after the first the task cannot be cancelled without effect.
    const done = await run.takeEffect(() => followAll(run));
    await onOntologyFollowed(run);
    await run.log(`looked at the facts of ${done} products`);
  }

  async function followRenames({ renames, author, project }: Renamed): Promise<void> {
    await renameUses(await parts.listNaming(project), renames, author);
  }

  async function followAll(run: TaskRun): Promise<number> {
    const { projectId, number: taskNumber } = run.task;
    const total = await store.countProducts(projectId);
    const passage = openPassage(run);
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

  /** Only a request that renames something needs to know what exists. @throws request_invalid */
  async function rename(project: ChosenProject, attributes: readonly SentAttribute[]) {
    const isRenaming = attributes.some(({ renameTo }) => renameTo !== undefined);
    return applyRenames(isRenaming ? (await store.getOntology(project.id)).attributes : [], attributes);
  }

  /** @returns `changed` is false if nothing differs @throws changed_meanwhile */
  async function replace(project: ChosenProject, { mayBeRepeated, author, ...sent }: SentChange) {
    const { attributes, renames } = await rename(project, sent.attributes);
    const requested = { ...sent, attributes };
    checkOntology(requested);
    const renamed = { renames, author, project };
    try {
      return await replaceExpected(project, requested, renamed);
    } catch (error) {
      const isOtherState = error instanceof ServiceError && error.code === 'changed_meanwhile';
      if (!mayBeRepeated || !isOtherState) throw error;
      // The answer is stored after the ontology, in another transaction: if only that was lost, the change is the caller's own.
      const present = await store.getOntology(project.id);
      if (!isInPlace(present, requested)) throw error;
      // Its audit entry would have been stored with the answer, so that is missing too.
      return { ontology: present, changed: true };
    }
  }

  async function replaceExpected(project: ChosenProject, requested: RequestedOntology, renamed: Renamed) {
    const present = await store.getOntology(project.id);
    // The store compares again in its transaction; here it saves a task that would extract nothing.
    refuseOtherState(requested.expected, markOfOntology(present));
    // The store compares what would be stored; this only saves a task if a client puts back what it got.
    if (isSameOntology(present, requested)) return { ontology: present, changed: false };
    // The task first: an ontology changed without it would leave no report and old relations after a crash. It is held until
    // the ontology is stored; if it began before nevertheless, another one is accepted.
    const isRenaming = Object.keys(renamed.renames).length > 0;
    const payload = isRenaming ? { renamed } : {};
    const task = await tasks.accept<FollowUp>(extractionTask, { project, payload, isHeld: true });
    try {
      const replaced = await store.replaceOntology(project.id, requested);
      if (isRenaming) await followRenames(renamed);
      return replaced;
    } finally {
      if (!(await tasks.release(task))) await startExtraction(project);
    }
  }

  /** @returns an attribute as it would be, and, if it would be renamed, what names it. @throws request_invalid */
  async function planRename(project: ChosenProject, sent: SentAttribute) {
    const { attributes, renames } = await rename(project, [sent]);
    const attribute = attributes[0] as RequestedAttribute;
    if (sent.renameTo === undefined) return { attribute };
    return { attribute, uses: listUses(await parts.listNaming(project), renames) };
  }

  /** Starts the task for all products whose facts follow an older ontology. */
  async function startExtraction(project: Pick<ChosenProject, 'id' | 'name' | 'origin'>): Promise<void> {
    await tasks.accept<FollowUp>(extractionTask, { project, payload: {} });
  }

  return { definitions: [extractionTask] as const, replace, planRename, startExtraction };
}
