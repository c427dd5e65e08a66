import type { RecordAnswer } from '../../http/answers/answers.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import { countAccepted, listBatches } from './batch-store.ts';
import type { FailedBatches } from './failed-batches.ts';
import type { FullUpdateEnd } from './full-update-end.ts';
import {
  type ChosenSession,
  discardOpen,
  findLatestFullUpdate,
  ORIGIN_OF_CALLERS,
  openFullUpdate,
} from './full-update-store.ts';
import type { SessionChoice } from './session-choice.ts';
import { type InitiateAnswered, SUCCESS_TEXTS } from './update-answers.ts';

interface SessionParts {
  readonly choice: SessionChoice;
  readonly failedBatches: FailedBatches;
  readonly ends: FullUpdateEnd;
}

interface OpenedSession {
  readonly projectId: number;
  readonly origin: string;
  readonly openedBy: string | null;
}

/** A task has its own origin, so its full updates and those of others never discard each other. */
const originOf = ({ origin, id }: Task) => `${origin} ${id}`;

/** The sessions of full updates. A caller or a task begins and discards them. Source: docs/interface §4.4. */
export class FullUpdateSessions {
  private readonly parts: CatalogParts;
  private readonly choice: SessionChoice;
  private readonly failedBatches: FailedBatches;
  private readonly ends: FullUpdateEnd;

  constructor(parts: CatalogParts, { choice, failedBatches, ends }: SessionParts) {
    this.parts = parts;
    this.choice = choice;
    this.failedBatches = failedBatches;
    this.ends = ends;
  }

  /** Begins a full update of the caller and discards an open one. */
  async initiate(
    { id: projectId }: ChosenProject,
    { caller, record }: { caller: string; record: RecordAnswer<InitiateAnswered> },
  ): Promise<InitiateAnswered> {
    const session = { projectId, origin: ORIGIN_OF_CALLERS, openedBy: caller };
    const answer = await this.open(session, async (tx, fullUpdateId) => {
      const initiated = { message: SUCCESS_TEXTS.initiate, status: 'success' as const, fullUpdateId };
      await record(tx, initiated);
      return initiated;
    });
    this.failedBatches.forget(projectId);
    await this.ends.closeDiscarded(projectId);
    return answer;
  }

  /** Opens a session that a task fills, and discards a session of an earlier run of the task. @returns its id */
  async openFor(task: Task): Promise<number> {
    const { projectId } = task;
    const session = { projectId, origin: originOf(task), openedBy: null };
    const id = await this.open(session, async (_, opened) => opened);
    await this.ends.closeDiscarded(projectId);
    return id;
  }

  private open<Answer>(
    session: OpenedSession,
    inTransaction: (tx: ControlTransaction, id: number) => Promise<Answer>,
  ): Promise<Answer> {
    const { database, clock } = this.parts;
    return openFullUpdate(database, { ...session, now: clock.now() }, inTransaction);
  }

  /**
   * Describes the open full update (rule 30).
   * @param chosen undefined: the open full update of any caller @throws the refusals of `SessionChoice.getShown`
   */
  async describe(projectId: number, chosen: ChosenSession | undefined) {
    const { choice } = this;
    const open =
      chosen === undefined ? await choice.getAny(projectId) : await choice.getShown(projectId, chosen);
    const batches = await listBatches(this.parts.database.read, open);
    return {
      status: 'success' as const,
      fullUpdateId: open.id,
      ...countAccepted(batches),
      arriving: open.arriving,
      lastBatch: open.lastBatch,
      lastBatchAt: open.batchAt,
    };
  }

  /**
   * Discards the open full update.
   * @throws full_update_missing, also if its commit has begun, and the refusals of `getOpen`
   */
  async giveUp(
    projectId: number,
    chosen: ChosenSession,
    record: RecordAnswer<{ status: 'success'; fullUpdateId: number }>,
  ) {
    const open = await this.choice.getOpen(projectId, chosen);
    const answer = { status: 'success' as const, fullUpdateId: open.id };
    if (!(await discardOpen(this.parts.database, open, (tx) => record(tx, answer))))
      throw new ServiceError('full_update_missing');
    await this.ends.closeDiscarded(projectId);
    this.failedBatches.forget(projectId);
    return answer;
  }

  /** Discards the full update that a task opened and did not commit; with an id, only if it has this id. */
  async discardOf(task: Task, id?: number): Promise<void> {
    const of = { projectId: task.projectId, origin: originOf(task) };
    const latest = await findLatestFullUpdate(this.parts.database, of);
    // Another process may run the task by now, and fill another full update.
    const isMeant = id === undefined || id === latest?.id;
    if (latest?.state === 'open' && isMeant) await this.ends.close(latest, 'discarded');
  }
}
