import { type Catalog, openPassage } from '../../catalog/catalog.ts';
import type { GatheredWrites } from '../../catalog/updates/updates.ts';
import { openDefinition } from '../../definitions/definitions.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Relations } from '../../relations/relations.ts';
import { type Base, type ControlTransaction, WatchedWrite } from '../../storage/storage.ts';
import type { Task, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';
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
} from '../definitions/definitions.ts';
import { isOfPairs } from '../mapping/mapping.ts';
import { describeSource, takesFile } from '../sources/sources.ts';
import type { RunThreads } from './run-client.ts';

export interface RunRequest {
  readonly startedBy: RunStart;
  readonly upload?: UploadedFile | undefined;
  /** Reads the source although it is what it was at the last run. */
  readonly isForced?: boolean | undefined;
  /** Written in the transaction that accepts the run. */
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

/** Each has a thread of its own; one project or account with slow sources leaves room for others. */
const RUNS_AT_ONCE = { inProcess: 6, inAccount: 4, inProject: 3 } as const;
/** While a run is going on a caller has to wait, for an unknown time. Source: docs/interface.md §4.9. */
export const RUNNING_SECONDS = 30;

/** Runs of pipelines: they fetch, read, map and write. Source: docs/interface.md §13.2. */
export class PipelineRuns {
  readonly definitions: readonly TaskDefinition<never>[];
  private readonly parts: PipelineRunParts;
  private readonly runTask: TaskDefinition<RunPayload> = {
    kind: 'pipelines.run',
    name: 'pipeline',
    increment: 'STEP_BASED',
    acceptedAs: 'RUNNING',
    isOrdered: false,
    atOnce: RUNS_AT_ONCE,
    run: (payload, run) => this.run(payload, run),
    eventOfEnd: ({ pipelineId }, { name, failure: error }) =>
      error && { type: 'pipeline.failed', data: { pipelineId, name, error } },
    ended: (_, task) => this.tidy(task),
  };

  constructor(parts: PipelineRunParts) {
    this.parts = parts;
    this.definitions = [this.runTask];
  }

  /** @throws pipeline_running, pipeline_file_missing; then what stands `alongside` is not written */
  start(
    { id, projectId, definition }: Pipeline,
    project: Pick<ChosenProject, 'id' | 'name'>,
    { startedBy, upload, isForced = false, alongside }: RunRequest,
  ): Promise<Task> {
    // With a schedule or a webhook the run fails: no caller is there to send a file.
    const isByCaller = startedBy === 'manual' || startedBy === 'upload';
    if (takesFile(definition.source) && upload === undefined && isByCaller)
      throw new ServiceError('pipeline_file_missing');
    return this.parts.tasks.accept(this.runTask, {
      project,
      payload: { pipelineId: id, isForced },
      origin: 'PIPELINE',
      // A slow source holds up no other pipeline.
      lane: String(id),
      name: definition.name,
      async alongside(tx, task) {
        if (await RUNS.hasOpen(tx, { projectId, id }))
          throw new ServiceError('pipeline_running', {
            details: ['a run of this pipeline is going on'],
            retryAfterSeconds: RUNNING_SECONDS,
          });
        await RUNS.insert(tx, task, { ownerId: id, startedBy, upload: upload && JSON.stringify(upload) });
        await alongside?.(tx, task);
      },
    });
  }

  private async run({ pipelineId, isForced }: RunPayload, run: TaskRun): Promise<void> {
    const { tasks, database } = this.parts;
    const { projectId } = run.task;
    const known = await tasks.parts.list(run.task);
    const stored = await findRun(database, run.task);
    // A process that died since had accepted the writes: what is left is to wait for them.
    if (known.length > 0 && stored?.read !== undefined) {
      await run.passOn(async () => {});
      for (const line of stored.read.report) run.report(line);
      run.leaveOut(stored.read.unreported);
      return this.conclude(run, { pipelineId, parts: known, read: stored.read });
    }
    run.clearDoubt();
    const found = await PIPELINES.find(database.read, { id: projectId }, pipelineId);
    if (found === undefined) throw new ServiceError('not_found');
    const pipeline = isForced ? { ...found, state: { ...found.state, stamp: undefined } } : found;
    const done = await this.prepare(run, pipeline, stored?.upload);
    if (done === undefined) return;
    await this.conclude(run, { pipelineId, ...done });
  }

  /** @returns the accepted writes; undefined when there is nothing new */
  private async prepare(
    run: TaskRun,
    pipeline: Pipeline,
    upload: UploadedFile | undefined,
  ): Promise<{ parts: readonly Task[]; read: ReadSummary } | undefined> {
    const { mode, maxDeletePercent } = pipeline.definition;
    const gathered = await this.gather(run.task, pipeline.definition);
    const acceptance = new WatchedWrite();
    try {
      const read = await this.read(run, { pipeline, upload, gathered });
      if (read === undefined) {
        await gathered.discard();
        await run.log('nothing new: the source is what it was at the last run');
        run.count({ ...NO_COUNTS, nothingNew: true } satisfies RunCounts);
        return undefined;
      }
      const things = isOfPairs(mode) ? 'sources' : 'products';
      await run.log(`writing ${read.products} ${things}, mode ${mode}`);
      const note = (tx: ControlTransaction) => saveRead(tx, run.task, read);
      const parts = await run.passOn(() => acceptance.run(() => gathered.accept({ maxDeletePercent, note })));
      return { parts, read };
    } catch (error) {
      if (!acceptance.mayBeStored) await gathered.discard();
      throw error;
    }
  }

  private async gather(
    task: Task,
    { mode, relationId = 0, tableName = '' }: PipelineDefinition,
  ): Promise<GatheredWrites> {
    const { catalog, relations } = this.parts;
    if (mode === 'table') return relations.tables.gather(task, tableName);
    return mode === 'links' ? relations.links.gather(task, relationId) : catalog.gatherWrites(task, mode);
  }

  /** @throws rows_rejected, products_too_few and what makes a source unreadable */
  private async read(
    run: TaskRun,
    {
      pipeline,
      upload,
      gathered,
    }: { pipeline: Pipeline; upload: UploadedFile | undefined; gathered: GatheredWrites },
  ): Promise<ReadSummary | undefined> {
    const { projectId, definition, revision, state } = pipeline;
    const { format, mapping, mode, onRejectedRow, minProducts } = definition;
    const { source } = openDefinition(PIPELINE_SECRETS, pipeline, this.parts.secrets);
    await run.log(`fetching ${describeSource(source)}`);
    const order = { projectId, source, format, mapping, mode, last: state.stamp, upload };
    const read = await this.parts.threads.read(
      { ...order, stopsAtProblem: onRejectedRow === 'stop' },
      { run, onRejectedRow, onProducts: (bytes) => gathered.add({ bytes, encoding: 'identity' }) },
    );
    if (read === undefined) return undefined;
    const least = Math.max(1, minProducts);
    if (read.products < least) throw new ServiceError('products_too_few', { values: [read.products, least] });
    return { ...read, revision };
  }

  private async conclude(
    run: TaskRun,
    { pipelineId, parts, read }: { pipelineId: number; parts: readonly Task[]; read: ReadSummary },
  ): Promise<void> {
    const { tasks, database } = this.parts;
    const ended = await tasks.parts.waitFor(run, parts);
    const passage = openPassage(run);
    for (const part of ended) {
      await tasks.parts.tell(run, part, passage.pass);
      passage.takeNotes(part.result ?? {});
    }
    run.count({ ...sumCounts(read, ended), ...(await passage.end()) });
    const { projectId } = run.task;
    await saveStamp(database, { projectId, id: pipelineId, revision: read.revision }, read.stamp);
  }

  /** What was gathered and not written goes, and so does the file that was sent in. */
  private async tidy(task: Task): Promise<void> {
    await this.parts.catalog.dropGathered(task);
    const { upload } = (await findRun(this.parts.database, task)) ?? {};
    for (const piece of upload?.pieces ?? []) await this.parts.payloads.remove(task.projectId, piece);
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
