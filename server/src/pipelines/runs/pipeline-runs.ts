import { type Catalog, openPassage } from '../../catalog/catalog.ts';
import type { GatheredWrites } from '../../catalog/updates/updates.ts';
import { openDefinition } from '../../definitions/definitions.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Relations } from '../../relations/relations.ts';
import { type Base, type ControlTransaction, WatchedWrite } from '../../storage/storage.ts';
import type { Task, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';
import { isOfPairs } from '../mapping/mapping.ts';
import {
  findRun,
  NO_COUNTS,
  PIPELINE_SECRETS,
  PIPELINES,
  type Pipeline,
  type PipelineDefinition,
  type ReadSummary,
  RUNS,
  type RunCounts,
  type RunStart,
  saveRead,
  saveStamp,
  type UploadedFile,
} from '../pipeline-definitions/pipeline-definitions.ts';
import { describeSource, takesFile } from '../sources/sources.ts';
import type { RunThreads } from './run-client.ts';
import type { ReadOrder } from './run-reading.ts';

export interface RunRequest {
  readonly startedBy: RunStart;
  readonly upload?: UploadedFile | undefined;
  /** Reads the source even if it is unchanged since the last run. */
  readonly isForced?: boolean | undefined;
  /** Called in the transaction that accepts the run. */
  readonly alongside?: (tx: ControlTransaction, task: Task) => Promise<void>;
}

export interface PipelineRunParts extends Pick<Base, 'database' | 'payloads' | 'secrets'> {
  readonly tasks: Tasks;
  readonly threads: RunThreads;
  readonly catalog: Pick<Catalog, 'gatherWrites' | 'dropGathered'>;
  readonly relations: Pick<Relations, 'links' | 'tables'>;
}

interface RunPayload extends Pick<RunRequest, 'isForced'> {
  readonly pipelineId: number;
}

/**
 * How long a caller should wait while a run is in progress, because its end is not known. Source: docs/interface §4.9.
 */
export const RUNNING_SECONDS = 30;

/** Inputs of reading a source: the stamp of the last run, unless the run is forced, and the uploaded file. */
type ReadFrom = Pick<ReadOrder, 'last' | 'upload'>;

/** The accepted writes of a run. */
interface Accepted {
  readonly parts: readonly Task[];
  readonly read: ReadSummary;
}

/** Runs of pipelines fetch, read, map and write. Source: docs/interface §13.2. */
export class PipelineRuns {
  readonly #parts: PipelineRunParts;
  readonly #task: TaskDefinition<RunPayload>;

  constructor(parts: PipelineRunParts) {
    this.#parts = parts;
    this.#task = {
      kind: 'pipelines.run',
      name: 'pipeline',
      increment: 'STEP_BASED',
      acceptedAs: 'RUNNING',
      isOrdered: false,
      /** Each run has its own thread. The limits leave room for others if a project or account has slow sources. */
      atOnce: { inProcess: 6, inAccount: 4, inProject: 3 },
      run: (payload, taskRun) => this.#run(payload, taskRun),
      eventOfEnd: ({ pipelineId }, { name, failure: error }) =>
        error && { type: 'pipeline.failed', data: { pipelineId, name, error } },
      ended: (_, task) => this.#removeLeftovers(task),
    };
    parts.tasks.define([this.#task]);
  }

  /** @throws pipeline_running, pipeline_file_missing; then `alongside` has written nothing */
  start(
    { id, projectId, definition }: Pipeline,
    project: Pick<ChosenProject, 'id' | 'name'>,
    { startedBy, upload, isForced = false, alongside }: RunRequest,
  ): Promise<Task> {
    // Started by a schedule or a webhook, the run itself fails, because no caller can send a file.
    const isByCaller = startedBy === 'manual' || startedBy === 'upload';
    if (takesFile(definition.source) && upload === undefined && isByCaller)
      throw new ServiceError('pipeline_file_missing');
    return this.#parts.tasks.accept(this.#task, {
      project,
      payload: { pipelineId: id, isForced },
      origin: 'PIPELINE',
      // Each pipeline has its own lane, so that a slow source delays no other pipeline.
      lane: String(id),
      name: definition.name,
      async alongside(tx, task) {
        if (await RUNS.hasOpen(tx, { projectId, id }))
          throw new ServiceError('pipeline_running', 'a run of this pipeline is in progress', {
            retryAfterSeconds: RUNNING_SECONDS,
          });
        await RUNS.insert(tx, task, { ownerId: id, startedBy, upload: upload && JSON.stringify(upload) });
        await alongside?.(tx, task);
      },
    });
  }

  async #run({ pipelineId, isForced }: RunPayload, taskRun: TaskRun): Promise<void> {
    const { database } = this.#parts;
    const stored = await findRun(database, taskRun.task);
    let accepted = await this.#resume(taskRun, stored?.read);
    if (accepted === undefined) {
      taskRun.clearDoubt();
      const pipeline = await PIPELINES.find(database.read, { id: taskRun.task.projectId }, pipelineId);
      if (pipeline === undefined) throw new ServiceError('not_found');
      const last = isForced ? undefined : pipeline.state.stamp;
      accepted = await this.#write(taskRun, pipeline, { last, upload: stored?.upload });
    }
    if (accepted !== undefined) await this.#conclude(taskRun, pipelineId, accepted);
  }

  /** @returns the writes that a process accepted before it died, so that only waiting for them remains */
  async #resume(taskRun: TaskRun, read: ReadSummary | undefined): Promise<Accepted | undefined> {
    const parts = await this.#parts.tasks.parts.list(taskRun.task);
    if (parts.length === 0 || read === undefined) return undefined;
    await taskRun.passOn(async () => {});
    for (const line of read.report) taskRun.report(line);
    taskRun.leaveOut(read.unreported);
    return { parts, read };
  }

  /** @returns undefined if the source has not changed */
  async #write(taskRun: TaskRun, pipeline: Pipeline, from: ReadFrom): Promise<Accepted | undefined> {
    const { mode, maxDeletePercent } = pipeline.definition;
    const gathered = await this.#gather(taskRun.task, pipeline.definition);
    const acceptance = new WatchedWrite();
    try {
      const read = await this.#readSource(taskRun, pipeline, { ...from, gathered });
      if (read === undefined) {
        await gathered.discard();
        await taskRun.log('nothing new: the source is what it was at the last run');
        taskRun.count({ ...NO_COUNTS, nothingNew: true } satisfies RunCounts);
        return undefined;
      }
      const things = isOfPairs(mode) ? 'sources' : 'products';
      await taskRun.log(`writing ${read.products} ${things}, mode ${mode}`);
      const note = (tx: ControlTransaction) => saveRead(tx, taskRun.task, read);
      const accept = () => acceptance.run(() => gathered.accept({ maxDeletePercent, note }));
      return { parts: await taskRun.passOn(accept), read };
    } catch (error) {
      if (!acceptance.mayBeStored) await gathered.discard();
      throw error;
    }
  }

  async #gather(task: Task, { mode, relationId = 0, tableName = '' }: PipelineDefinition) {
    const { catalog, relations } = this.#parts;
    if (mode === 'table') return relations.tables.gather(task, tableName);
    return mode === 'links' ? relations.links.gather(task, relationId) : catalog.gatherWrites(task, mode);
  }

  /** @throws rows_rejected, products_too_few, and all refusals of an unreadable source */
  async #readSource(
    taskRun: TaskRun,
    pipeline: Pipeline,
    { gathered, ...from }: ReadFrom & { readonly gathered: GatheredWrites },
  ): Promise<ReadSummary | undefined> {
    const { threads, secrets } = this.#parts;
    const { onRejectedRow, minProducts, ...tried } = openDefinition(PIPELINE_SECRETS, pipeline, secrets);
    await taskRun.log(`fetching ${describeSource(tried.source)}`);
    const read = await threads.read(
      { ...tried, ...from, projectId: pipeline.projectId, stopsAtProblem: onRejectedRow === 'stop' },
      { run: taskRun, onRejectedRow, onProducts: (bytes) => gathered.add({ bytes, encoding: 'identity' }) },
    );
    if (read === undefined) return undefined;
    const least = Math.max(1, minProducts);
    if (read.products < least) throw new ServiceError('products_too_few', { values: [read.products, least] });
    return { ...read, revision: pipeline.revision };
  }

  async #conclude(taskRun: TaskRun, pipelineId: number, { parts, read }: Accepted): Promise<void> {
    const { tasks, database } = this.#parts;
    const ended = await tasks.parts.waitFor(taskRun, parts);
    const passage = openPassage(taskRun);
    for (const part of ended) {
      await tasks.parts.tell(taskRun, part, passage.pass);
      passage.takeNotes(part.result ?? {});
    }
    taskRun.count({ ...sumCounts(read, ended), ...(await passage.end()) });
    const { projectId } = taskRun.task;
    await saveStamp(database, { projectId, id: pipelineId, revision: read.revision }, read.stamp);
  }

  /** Removes products that were gathered but not written, and the uploaded file. */
  async #removeLeftovers(task: Task): Promise<void> {
    const { database, payloads, catalog } = this.#parts;
    await catalog.dropGathered(task);
    const { upload } = (await findRun(database, task)) ?? {};
    for (const piece of upload?.pieces ?? []) await payloads.remove(task.projectId, piece);
  }
}

function sumCounts({ rows, products, filtered, rejected }: ReadSummary, parts: readonly Task[]): RunCounts {
  const written = { created: 0, changed: 0, unchanged: 0, deleted: 0 };
  for (const { result } of parts) {
    const counts = (result ?? {}) as Partial<typeof written>;
    for (const key of ['created', 'changed', 'unchanged', 'deleted'] as const)
      written[key] += counts[key] ?? 0;
  }
  return { rows, products, filtered, rejected, ...written };
}
