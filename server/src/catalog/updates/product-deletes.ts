import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { mayBeStored } from '../../storage/storage.ts';
import type { PartRequest, Task, TaskDefinition, TaskRun } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import type { ChangeAuthor } from '../port.ts';
import { openPassage } from '../report-lines.ts';
import { acceptAnswered, type Recording } from './answered-task.ts';
import type { PartLimits } from './full-update-commit.ts';
import { undoLimitsOf } from './undoable-commits.ts';
import { answerToTask, SUCCESS_TEXTS, type TaskAccepted } from './update-answers.ts';

interface DeletePayload {
  readonly identifiers?: readonly string[];
  /** The names of payloads with JSON lists of identifiers, which are too long for the task. */
  readonly payloadNames?: readonly string[];
  readonly maxDeletePercent?: number;
  /** Absent if an earlier version accepted the deletion. */
  readonly author?: ChangeAuthor;
}

interface SentDelete extends Recording<TaskAccepted> {
  readonly project: ChosenProject;
  readonly author: ChangeAuthor;
}

const SEARCHED_AT_ONCE = 500;
/**
 * The serving thread parses the payload of a task several times, so a longer list of identifiers has its own payload.
 */
const MOST_BYTES_IN_TASK = 16 * 1024;
/** The caller waits for the answer, and many callers stop waiting after half a minute. */
const WAIT_MS = 10_000;

/** Deletes of products by identifier. Source: docs/interface §4.6. */
export class ProductDeletes {
  readonly task: TaskDefinition<DeletePayload>;
  private readonly parts: CatalogParts;

  constructor(parts: CatalogParts) {
    this.parts = parts;
    this.task = {
      kind: 'catalog.delete',
      name: 'delete products',
      increment: 'STEP_BASED',
      acceptedAs: 'RUNNING',
      isOrdered: true,
      run: (payload, run) => this.run(payload, run),
      async ended({ payloadNames = [] }, { projectId }) {
        for (const name of payloadNames) await parts.payloads.remove(projectId, name);
      },
    };
  }

  /**
   * Waits until everything that was accepted before has taken effect.
   * @returns whether the catalog then has one of these products; true if the wait takes too long
   */
  async mayGetAny(projectId: number, identifiers: readonly string[]): Promise<boolean> {
    const { store, tasks } = this.parts;
    // Lists the tasks first, because tasks that end after that are visible in the catalog.
    const accepted = (await tasks.listOpen(projectId)).filter(({ isOrdered }) => isOrdered);
    if (await store.hasAny(projectId, identifiers)) return true;
    const last = accepted.at(-1);
    if (last === undefined) return false;
    const { finishedAt } = await tasks.waitUntilEnded(last, WAIT_MS);
    return finishedAt === undefined || store.hasAny(projectId, identifiers);
  }

  /** @throws no_known_identifier */
  async remove(
    project: ChosenProject,
    identifiers: readonly string[],
    { author, record }: Omit<SentDelete, 'project'>,
  ): Promise<TaskAccepted> {
    const { store, tasks } = this.parts;
    const distinct = new Set<string>();
    // Without open tasks, the present state shows whether a product exists.
    let mayBeKnown = await tasks.hasOpenOrdered(project.id);
    // 10,000 identifiers of the greatest length take 50 ms, so other requests get turns in between.
    for (let start = 0; start < identifiers.length; start += SEARCHED_AT_ONCE) {
      const some = identifiers.slice(start, start + SEARCHED_AT_ONCE);
      for (const identifier of some) distinct.add(identifier);
      mayBeKnown ||= await store.hasAny(project.id, some);
      await nextTurn();
    }
    if (!mayBeKnown) {
      const details = identifiers
        .slice(0, 20)
        .map((identifier) => `no product has the identifier ${JSON.stringify(identifier)}`);
      throw new ServiceError('no_known_identifier', { details });
    }
    return this.accept({ project, author, record }, [...distinct]);
  }

  /** Deletes as a part of a task. @param payloadNames of payloads with JSON lists of identifiers */
  asPart(payloadNames: readonly string[], limits: PartLimits): PartRequest {
    return { definition: this.task, payload: { payloadNames, ...limits } satisfies DeletePayload };
  }

  private async accept(
    { author, ...order }: SentDelete,
    identifiers: readonly string[],
  ): Promise<TaskAccepted> {
    const { payloads } = this.parts;
    const projectId = order.project.id;
    const describe = (task: Task) => answerToTask(SUCCESS_TEXTS.delete, task);
    const accept = (payload: DeletePayload) =>
      acceptAnswered(this.parts, this.task, { ...order, payload, describe });
    const list = await writeList(identifiers);
    if (list.length <= MOST_BYTES_IN_TASK) return accept({ identifiers, author });
    const name = `${randomUUID()}.identifiers`;
    try {
      await payloads.write(projectId, name, list);
      return await accept({ payloadNames: [name], author });
    } catch (error) {
      if (!mayBeStored(error)) await payloads.remove(projectId, name);
      throw error;
    }
  }

  private async run(
    { payloadNames = [], identifiers, ...order }: DeletePayload,
    run: TaskRun,
  ): Promise<void> {
    const { store, payloads, clock, getSettings } = this.parts;
    const { projectId, number: taskNumber } = run.task;
    const settings = await getSettings(projectId);
    const lists =
      identifiers === undefined
        ? await Array.fromAsync(payloadNames, (name) => payloads.read(projectId, name))
        : [await writeList(identifiers)];
    const now = clock.now();
    const change = { ...order, taskNumber, at: now, lists, ...undoLimitsOf(settings, now) };
    const { deleted, unknown, report } = await run.takeEffect(() => store.deleteProducts(projectId, change));
    await openPassage(run).pass(report);
    await run.log(`deleted ${deleted} products; ${unknown} identifiers were unknown`);
    run.count({ deleted, unknown });
    this.parts.onProductsWritten(projectId, { deleted });
    this.parts.collectGarbage(projectId);
  }
}

/** @returns a JSON list; it is written in pieces, and other requests get turns between them */
async function writeList(identifiers: readonly string[]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let start = 0; start < identifiers.length; start += SEARCHED_AT_ONCE) {
    const some = identifiers.slice(start, start + SEARCHED_AT_ONCE);
    pieces.push(Buffer.from(`${start === 0 ? '[' : ','}${JSON.stringify(some).slice(1, -1)}`));
    if (start > 0) await nextTurn();
  }
  return Buffer.concat([...pieces, Buffer.from(pieces.length === 0 ? '[]' : ']')]);
}
