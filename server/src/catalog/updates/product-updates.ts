import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordAnswer } from '../../http/answers/answers.ts';
import type { RawBody } from '../../http/bodies/bodies.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type ControlTransaction, mayBeStored } from '../../storage/storage.ts';
import type { PartRequest, Task, TaskDefinition, TaskRun } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import type { IngestSource } from '../ingest/ingest.ts';
import type { ChangeAuthor, RestoreOrder } from '../port.ts';
import { countRows } from '../products/documents/documents.ts';
import type { OnInvalid } from '../products/products.ts';
import { openPassage } from '../report-lines.ts';
import type { PartLimits } from './full-update-commit.ts';
import type { OntologyChanges } from './re-extraction.ts';
import { refusalOfRestore, refuseRestore, undoLimitsOf } from './undoable-commits.ts';
import {
  answerToTask,
  answerToUpdate,
  type ProductsAccepted,
  SUCCESS_TEXTS,
  type TaskAccepted,
} from './update-answers.ts';

type UpdatePayload = { readonly source: IngestSource };

interface DeletePayload {
  readonly identifiers?: readonly string[];
  /** JSON lists of identifiers that are too long for the task itself. */
  readonly payloadNames?: readonly string[];
  readonly maxDeletePercent?: number;
  /** Absent: accepted by an earlier version. */
  readonly author?: ChangeAuthor;
}

interface Recording<Answer> {
  readonly record: RecordAnswer<Answer>;
}

interface SentDelete extends Recording<TaskAccepted> {
  readonly project: ChosenProject;
  readonly author: ChangeAuthor;
}

interface UpdateOptions extends Recording<ProductsAccepted> {
  readonly partial: boolean;
  /** Default: as the project's setting. */
  readonly onInvalid: OnInvalid | undefined;
  /** The number of items in the form of an old plug-in. */
  readonly legacyItems?: number | undefined;
}

const ordered = { increment: 'STEP_BASED', acceptedAs: 'RUNNING', isOrdered: true } as const;
const SEARCHED_AT_ONCE = 500;
/** The serving thread parses the payload of a task several times, so a longer list of identifiers is a payload of its own. */
const MOST_BYTES_IN_TASK = 16 * 1024;
/** A caller waits for the answer, and many give up after half a minute. */
const WAIT_MS = 10_000;
/** An update is extracted again if the ontology changed meanwhile; more often than this, it waits. */
const ATTEMPTS = 10;

/** Incremental and partial updates, deletion and restore. Source: docs/interface §4.3, §4.5, §4.6. */
export type ProductUpdates = ReturnType<typeof createProductUpdates>;

export function createProductUpdates(
  parts: CatalogParts,
  { startExtraction }: Pick<OntologyChanges, 'startExtraction'>,
) {
  const { store, tasks, ingest, payloads, clock, getSettings } = parts;
  const updateTask: TaskDefinition<UpdatePayload> = {
    kind: 'catalog.update',
    name: 'incremental partial update',
    ...ordered,
    run: runUpdate,
    ended({ source }, { projectId }) {
      ingest.release(source);
      return payloads.remove(projectId, source.payloadName);
    },
  };
  const deleteTask: TaskDefinition<DeletePayload> = {
    kind: 'catalog.delete',
    name: 'delete products',
    ...ordered,
    run: runDelete,
    async ended({ payloadNames = [] }, { projectId }) {
      for (const name of payloadNames) await payloads.remove(projectId, name);
    },
  };
  const restoreTask: TaskDefinition<RestoreOrder> = {
    ...ordered,
    kind: 'catalog.restore',
    name: 'restore',
    run: runRestore,
  };

  /** @throws every refusal of a body; then nothing is stored */
  async function update(
    project: ChosenProject,
    body: RawBody,
    { partial, onInvalid, legacyItems, record }: UpdateOptions,
  ): Promise<ProductsAccepted> {
    const { onInvalid: usual } = await getSettings(project.id);
    const form = partial ? 'patches' : 'products';
    return ingest.acceptWith(
      { projectId: project.id, body, form, onInvalid: onInvalid ?? usual },
      ({ source, ...counts }) =>
        accept(updateTask, { project, payload: { source }, record }, (task) =>
          answerToUpdate(SUCCESS_TEXTS.update, task, { ...counts, legacyItems }),
        ),
    );
  }

  /**
   * Whether the catalog has one of these products once everything accepted before has taken effect, which it
   * waits for. If that takes too long, it may have one.
   */
  async function mayGetAny(projectId: number, identifiers: readonly string[]): Promise<boolean> {
    // Listed first: tasks that end in between are in the catalog then.
    const accepted = (await tasks.listOpen(projectId)).filter(({ isOrdered }) => isOrdered);
    if (await store.hasAny(projectId, identifiers)) return true;
    const last = accepted.at(-1);
    if (last === undefined) return false;
    const { finishedAt } = await tasks.waitUntilEnded(last, WAIT_MS);
    return finishedAt === undefined || store.hasAny(projectId, identifiers);
  }

  /** @throws no_known_identifier */
  async function remove(
    project: ChosenProject,
    identifiers: readonly string[],
    { author, record }: { readonly author: ChangeAuthor } & Recording<TaskAccepted>,
  ): Promise<TaskAccepted> {
    const distinct = new Set<string>();
    // The present state can only be judged if nothing is pending.
    let mayBeKnown = await tasks.hasOpenOrdered(project.id);
    // 10,000 of the greatest length take 50 ms, so other requests get turns in between.
    for (let at = 0; at < identifiers.length; at += SEARCHED_AT_ONCE) {
      const some = identifiers.slice(at, at + SEARCHED_AT_ONCE);
      for (const identifier of some) distinct.add(identifier);
      mayBeKnown ||= await store.hasAny(project.id, some);
      await nextTurn();
    }
    if (!mayBeKnown) {
      const details = identifiers.slice(0, 20).map((one) => `${JSON.stringify(one)} is not known`);
      throw new ServiceError('no_known_identifier', { details });
    }
    return acceptDelete({ project, author, record }, [...distinct]);
  }

  async function acceptDelete(
    { author, ...order }: SentDelete,
    identifiers: readonly string[],
  ): Promise<TaskAccepted> {
    const projectId = order.project.id;
    const describe = (task: Task) => answerToTask(SUCCESS_TEXTS.delete, task);
    const list = await writeList(identifiers);
    if (list.length <= MOST_BYTES_IN_TASK)
      return accept(deleteTask, { ...order, payload: { identifiers, author } }, describe);
    const name = `${randomUUID()}.identifiers`;
    try {
      await payloads.write(projectId, name, list);
      return await accept(deleteTask, { ...order, payload: { payloadNames: [name], author } }, describe);
    } catch (error) {
      if (!mayBeStored(error)) await payloads.remove(projectId, name);
      throw error;
    }
  }

  /** @throws nothing_to_restore, changed_meanwhile */
  async function restore(
    project: ChosenProject,
    { record, ...order }: RestoreOrder & Recording<TaskAccepted>,
  ): Promise<TaskAccepted> {
    if (!(await tasks.hasOpenOrdered(project.id)))
      refuseRestore(await store.listUndoableCommits(project.id), order);
    return accept(restoreTask, { project, payload: order, record }, (task) =>
      answerToTask(SUCCESS_TEXTS.restore, task),
    );
  }

  /** Stores the task and its answer in one transaction. @returns the answer */
  async function accept<Payload extends object, Answer>(
    definition: TaskDefinition<Payload>,
    { record, ...request }: { project: ChosenProject; payload: Payload } & Recording<Answer>,
    describe: (task: Task) => Answer,
  ): Promise<Answer> {
    const alongside = (tx: ControlTransaction, task: Task) => record(tx, describe(task));
    return describe(await tasks.accept(definition, { ...request, alongside }));
  }

  async function runUpdate({ source }: UpdatePayload, run: TaskRun): Promise<void> {
    const { projectId, number: taskNumber } = run.task;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      run.signal.throwIfAborted();
      const extracted = await ingest.extract(projectId, { source });
      const { packed, revision, derivationRevision, report, unknownIdentifiers, loan } = extracted;
      const rows = countRows(packed);
      const change = { taskNumber, at: clock.now(), packed, revision, derivationRevision };
      const applying = run.takeEffect(() => loan.until(store.applyProducts(projectId, change)));
      // A task that was cancelled or taken over does not begin to write.
      const result = await applying.finally(() => loan.giveBack());
      if ('stale' in result) continue;
      const passage = openPassage(run);
      await passage.pass(report);
      const warnings = await passage.end();
      const { created, changed, unchanged } = result;
      const unknown = unknownIdentifiers > 0 ? `, ${unknownIdentifiers} identifiers were not known` : '';
      await run.log(
        `${rows} products: created ${created}, changed ${changed}, unchanged ${unchanged}${unknown}`,
      );
      run.count({ created, changed, unchanged, unknown: unknownIdentifiers, ...warnings });
      parts.onProductsWritten(projectId, { created, changed });
      parts.collectGarbage(projectId);
      return;
    }
    // The ontology or the relations change faster than products are extracted: the task continues after a pause.
    throw new ServiceError('not_ready', { retryAfterSeconds: 1 });
  }

  async function runDelete(payload: DeletePayload, run: TaskRun): Promise<void> {
    const { projectId, number: taskNumber } = run.task;
    const settings = await getSettings(projectId);
    const { payloadNames = [], identifiers, ...order } = payload;
    const lists =
      identifiers === undefined
        ? await Array.fromAsync(payloadNames, (name) => payloads.read(projectId, name))
        : [await writeList(identifiers)];
    const at = clock.now();
    const change = { ...order, taskNumber, at, lists, ...undoLimitsOf(settings, at) };
    const { deleted, unknown, report } = await run.takeEffect(() => store.deleteProducts(projectId, change));
    await openPassage(run).pass(report);
    await run.log(`deleted ${deleted} products, ${unknown} identifiers were not known`);
    run.count({ deleted, unknown });
    parts.onProductsWritten(projectId, { deleted });
    parts.collectGarbage(projectId);
  }

  async function runRestore(order: RestoreOrder, run: TaskRun): Promise<void> {
    const { projectId, projectName, number: taskNumber } = run.task;
    const change = { ...order, taskNumber, at: clock.now() };
    const { result } = await run.takeEffect(() => store.restore(projectId, change));
    if (result === null || 'last' in result) throw refusalOfRestore(result?.last, order);
    const message = 'the product was changed after the commit or delete, that change is overwritten';
    for (const identifier of result.overwritten)
      run.report({ identifier, code: 'overwritten_later', message });
    await run.log(
      `restored ${result.restored} products, overwrote ${result.overwritten.length} later changes`,
    );
    parts.onProductsWritten(projectId, {});
    if (result.needsExtraction) await startExtraction({ id: projectId, name: projectName });
    parts.collectGarbage(projectId);
  }

  return {
    definitions: [updateTask, deleteTask, restoreTask] as const,
    update,
    remove,
    restore,
    mayGetAny,
    /** An incremental or partial update with a body validated before, as a part of a task. */
    updateAsPart: (source: IngestSource): PartRequest => ({
      definition: updateTask,
      payload: { source } satisfies UpdatePayload,
    }),
    /** `payloadNames`: JSON lists of identifiers. */
    deleteAsPart: (payloadNames: readonly string[], limits: PartLimits): PartRequest => ({
      definition: deleteTask,
      payload: { payloadNames, ...limits } satisfies DeletePayload,
    }),
  };
}

/** @returns a JSON list, written in pieces between which other requests get turns */
async function writeList(identifiers: readonly string[]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < identifiers.length; at += SEARCHED_AT_ONCE) {
    const some = identifiers.slice(at, at + SEARCHED_AT_ONCE);
    pieces.push(Buffer.from(`${at === 0 ? '[' : ','}${JSON.stringify(some).slice(1, -1)}`));
    if (at > 0) await nextTurn();
  }
  return Buffer.concat([...pieces, Buffer.from(pieces.length === 0 ? '[]' : ']')]);
}
