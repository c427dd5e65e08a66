import type { RecordAnswer } from '../../http/answers/answers.ts';
import type { RawBody } from '../../http/bodies/bodies.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Task, TaskDefinition } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import type { AcceptedBody } from '../ingest/ingest.ts';
import type { OnInvalid } from '../products/products.ts';
import { type ArrivingBatch, addBatch } from './batch-store.ts';
import type { FailedBatches } from './failed-batches.ts';
import type { ChosenSession } from './full-update-store.ts';
import type { SessionChoice } from './session-choice.ts';
import type { Staging } from './staging.ts';
import { answerToUpdate, type ProductsAccepted, SUCCESS_TEXTS } from './update-answers.ts';

interface AcceptanceParts {
  readonly choice: SessionChoice;
  readonly failedBatches: FailedBatches;
  readonly staging: Staging;
}

interface UploadOptions extends ChosenSession {
  /** The batch that was counted when its upload began; undefined if no full update was open then. */
  readonly arriving: ArrivingBatch | undefined;
  /** Default: the setting of the project. */
  readonly onInvalid?: OnInvalid;
  readonly record: RecordAnswer<ProductsAccepted>;
}

interface SentBatch {
  readonly fullUpdateId: number;
  readonly project: Pick<ChosenProject, 'id' | 'name'>;
  readonly record: RecordAnswer<ProductsAccepted>;
  readonly onInvalid?: OnInvalid;
  readonly arriving?: ArrivingBatch;
  /** The task that fills the full update; undefined if a caller fills it. */
  readonly parent?: Task;
}

const UPLOAD: TaskDefinition<{ fullUpdateId: number }> = {
  kind: 'catalog.upload',
  name: '',
  increment: 'ITEM_BASED',
  acceptedAs: 'PENDING',
  isOrdered: false,
};

/**
 * Accepts the batches of full updates. It checks and writes a body; then one transaction stores the batch with its
 * task and its answer; then it passes the batch to staging. Source: docs/interface §4.4.
 */
export class BatchAcceptance {
  readonly task = UPLOAD;
  private readonly parts: CatalogParts;
  private readonly choice: SessionChoice;
  private readonly failedBatches: FailedBatches;
  private readonly staging: Staging;

  constructor(parts: CatalogParts, { choice, failedBatches, staging }: AcceptanceParts) {
    this.parts = parts;
    this.choice = choice;
    this.failedBatches = failedBatches;
    this.staging = staging;
  }

  /** Counts a batch that is about to be read. @throws full_update_replaced, full_update_foreign, full_update_other */
  async expect(projectId: number, chosen: ChosenSession): Promise<ArrivingBatch | undefined> {
    const arriving = await this.failedBatches.expect(projectId, chosen);
    if (arriving === undefined) await this.choice.refuseForeign(projectId, chosen);
    return arriving;
  }

  /** @throws the refusals of `SessionChoice.getOpen` and every refusal of a body; then nothing is stored */
  async upload(
    project: ChosenProject,
    body: RawBody,
    { caller, fullUpdateId, arriving, onInvalid, record }: UploadOptions,
  ): Promise<ProductsAccepted> {
    const chosen = { caller, fullUpdateId: arriving?.id ?? fullUpdateId };
    const { id } = await this.choice.getOpen(project.id, chosen);
    // The full update may have been opened during the upload. It does not count this batch, so its commit would not
    // wait for it.
    if (arriving === undefined) throw new ServiceError('full_update_missing');
    const { onInvalid: usual } = await this.parts.getSettings(project.id);
    const sent = { fullUpdateId: id, project, record, onInvalid: onInvalid ?? usual, arriving };
    const answer = await this.accept(sent, body);
    this.failedBatches.forget(project.id);
    return answer;
  }

  /** Adds a batch to a full update that a task fills. @throws every refusal of a body; then nothing is stored */
  async addFor(task: Task, fullUpdateId: number, body: RawBody): Promise<void> {
    const project = { id: task.projectId, name: task.projectName };
    await this.accept({ fullUpdateId, project, record: async () => {}, parent: task }, body);
  }

  /** @returns the answer, once the batch is durable and staging can take another one */
  private async accept(sent: SentBatch, body: RawBody): Promise<ProductsAccepted> {
    const { ingest } = this.parts;
    const { fullUpdateId, project, onInvalid = 'refuse' } = sent;
    const form = { form: 'products', onInvalid, isDigested: true } as const;
    const accepted = await ingest.accept({ projectId: project.id, body, ...form });
    const { batch, answer } = await ingest.keepIfStored(
      project.id,
      accepted.source,
      this.store(sent, accepted),
    );
    await this.staging.add(project.id, fullUpdateId, { batch, source: accepted.source });
    return answer;
  }

  /**
   * Stores the task of the upload, the batch, and the answer for a repeated request in one transaction.
   * @throws full_update_missing
   */
  private store(
    { fullUpdateId, project, record, parent, arriving }: SentBatch,
    { source, digest, ...counts }: AcceptedBody,
  ): Promise<{ batch: number; answer: ProductsAccepted }> {
    const { tasks, clock } = this.parts;
    const { payloadName, encoding } = source;
    const request = {
      project,
      payload: { fullUpdateId },
      ...(parent && { parent, origin: parent.origin }),
    };
    return tasks.acceptWith(UPLOAD, request, async (tx, task) => {
      const batch = await addBatch(
        tx,
        { projectId: project.id, id: fullUpdateId },
        {
          taskId: task.id,
          payloadName,
          encoding,
          productCount: counts.parsed,
          digest: digest ?? null,
          arriving,
          now: clock.now(),
        },
      );
      if (batch === undefined) throw new ServiceError('full_update_missing');
      const answer = answerToUpdate(SUCCESS_TEXTS.upload, task, counts);
      await record(tx, answer);
      return { batch, answer };
    });
  }
}
