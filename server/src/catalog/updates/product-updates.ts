import type { RawBody } from '../../http/bodies/bodies.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { PartRequest, TaskDefinition, TaskRun } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import type { IngestSource } from '../ingest/ingest.ts';
import { countRows } from '../products/documents/documents.ts';
import type { OnInvalid } from '../products/products.ts';
import { openPassage } from '../report-lines.ts';
import { acceptAnswered, type Recording } from './answered-task.ts';
import { answerToUpdate, type ProductsAccepted, SUCCESS_TEXTS } from './update-answers.ts';

interface UpdatePayload {
  readonly source: IngestSource;
}

interface UpdateOptions extends Recording<ProductsAccepted> {
  readonly partial: boolean;
  /** Default: the setting of the project. */
  readonly onInvalid: OnInvalid | undefined;
  /** The number of items in the form of an old plug-in. */
  readonly legacyItems?: number | undefined;
}

/** How often an update is extracted again because the ontology has changed. Then it waits. */
const ATTEMPTS = 10;

/** Incremental and partial updates. Source: docs/interface §4.3. */
export class ProductUpdates {
  readonly task: TaskDefinition<UpdatePayload>;
  private readonly parts: CatalogParts;

  constructor(parts: CatalogParts) {
    const { ingest, payloads } = parts;
    this.parts = parts;
    this.task = {
      kind: 'catalog.update',
      name: 'incremental partial update',
      increment: 'STEP_BASED',
      acceptedAs: 'RUNNING',
      isOrdered: true,
      run: (payload, run) => this.run(payload, run),
      ended({ source }, { projectId }) {
        ingest.release(source);
        return payloads.remove(projectId, source.payloadName);
      },
    };
  }

  /** @throws every refusal of a body; then nothing is stored */
  async update(
    project: ChosenProject,
    body: RawBody,
    { partial, onInvalid, legacyItems, record }: UpdateOptions,
  ): Promise<ProductsAccepted> {
    const { ingest, getSettings } = this.parts;
    const { onInvalid: usual } = await getSettings(project.id);
    const form = partial ? 'patches' : 'products';
    const sent = { projectId: project.id, body, form, onInvalid: onInvalid ?? usual } as const;
    const { source, ...counts } = await ingest.accept(sent);
    const storing = acceptAnswered(this.parts, this.task, {
      project,
      payload: { source },
      record,
      describe: (task) => answerToUpdate(SUCCESS_TEXTS.update, task, { ...counts, legacyItems }),
    });
    return ingest.keepIfStored(project.id, source, storing);
  }

  /** Prepares an incremental or partial update as a part of a task. Its body was validated before. */
  asPart(source: IngestSource): PartRequest {
    return { definition: this.task, payload: { source } satisfies UpdatePayload };
  }

  private async run({ source }: UpdatePayload, run: TaskRun): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      run.signal.throwIfAborted();
      if (await this.apply(source, run)) return;
    }
    // The ontology or the relations change faster than products are extracted, so the task continues after a pause.
    throw new ServiceError('not_ready', { retryAfterSeconds: 1 });
  }

  /** @returns false if the ontology or the relations changed while the products were extracted */
  private async apply(source: IngestSource, run: TaskRun): Promise<boolean> {
    const { ingest, store, clock } = this.parts;
    const { projectId, number: taskNumber } = run.task;
    const extracted = await ingest.extract(projectId, { source });
    const { packed, revision, derivationRevision, report, unknownIdentifiers, loan } = extracted;
    const rows = countRows(packed);
    const change = { taskNumber, at: clock.now(), packed, revision, derivationRevision };
    const applying = run.takeEffect(() => loan.until(store.applyProducts(projectId, change)));
    // A task that was cancelled, or that another process took over, does not write.
    const result = await applying.finally(() => loan.giveBack());
    if ('stale' in result) return false;
    const passage = openPassage(run);
    await passage.pass(report);
    const warnings = await passage.end();
    const { created, changed, unchanged } = result;
    const unknown = unknownIdentifiers > 0 ? `; ${unknownIdentifiers} identifiers were unknown` : '';
    await run.log(
      `${rows} products: created ${created}, changed ${changed}, unchanged ${unchanged}${unknown}`,
    );
    run.count({ created, changed, unchanged, unknown: unknownIdentifiers, ...warnings });
    this.parts.onProductsWritten(projectId, { created, changed });
    this.parts.collectGarbage(projectId);
    return true;
  }
}
