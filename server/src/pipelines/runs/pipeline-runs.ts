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
import type { ReadOrder } from './run-reading.ts';

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

/** What a source is read with: the stamp of the last run, unless the run is forced, and the file that was sent in. */
type ReadFrom = Pick<ReadOrder, 'last' | 'upload'>;

/** Writes that were accepted. */
interface Accepted {
  readonly parts: readonly Task[];
  readonly read: ReadSummary;
}

export type PipelineRuns = ReturnType<typeof createPipelineRuns>;

/** Runs of pipelines: they fetch, read, map and write. Source: docs/interface.md §13.2. */
export function createPipelineRuns({
  database,
  payloads,
  secrets,
  tasks,
  threads,
  catalog,
  relations,
}: PipelineRunParts) {
  const runTask: TaskDefinition<RunPayload> = {
    kind: 'pipelines.run',
    name: 'pipeline',
    increment: 'STEP_BASED',
    acceptedAs: 'RUNNING',
    isOrdered: false,
    atOnce: RUNS_AT_ONCE,
    run,
    eventOfEnd: ({ pipelineId }, { name, failure: error }) =>
      error && { type: 'pipeline.failed', data: { pipelineId, name, error } },
    /** What was gathered and not written goes, and so does the file that was sent in. */
    async ended(_, task) {
      await catalog.dropGathered(task);
      const { upload } = (await findRun(database, task)) ?? {};
      for (const piece of upload?.pieces ?? []) await payloads.remove(task.projectId, piece);
    },
  };
  tasks.define([runTask]);

  async function run({ pipelineId, isForced }: RunPayload, taskRun: TaskRun): Promise<void> {
    const stored = await findRun(database, taskRun.task);
    const accepted = (await resume(taskRun, stored?.read)) ?? (await begin());
    if (accepted !== undefined) await conclude(taskRun, pipelineId, accepted);

    async function begin(): Promise<Accepted | undefined> {
      taskRun.clearDoubt();
      const pipeline = await PIPELINES.find(database.read, { id: taskRun.task.projectId }, pipelineId);
      if (pipeline === undefined) throw new ServiceError('not_found');
      const last = isForced ? undefined : pipeline.state.stamp;
      return write(taskRun, pipeline, { last, upload: stored?.upload });
    }
  }

  /** @returns what a process that died since had accepted: what is left is to wait for it */
  async function resume(taskRun: TaskRun, read: ReadSummary | undefined): Promise<Accepted | undefined> {
    const parts = await tasks.parts.list(taskRun.task);
    if (parts.length === 0 || read === undefined) return undefined;
    await taskRun.passOn(async () => {});
    for (const line of read.report) taskRun.report(line);
    taskRun.leaveOut(read.unreported);
    return { parts, read };
  }

  /** @returns undefined when there is nothing new */
  async function write(taskRun: TaskRun, pipeline: Pipeline, from: ReadFrom): Promise<Accepted | undefined> {
    const { mode, maxDeletePercent } = pipeline.definition;
    const gathered = await gather(taskRun.task, pipeline.definition);
    const acceptance = new WatchedWrite();
    try {
      const read = await readSource(taskRun, pipeline, { ...from, gathered });
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

  async function gather(
    task: Task,
    { mode, relationId = 0, tableName = '' }: PipelineDefinition,
  ): Promise<GatheredWrites> {
    if (mode === 'table') return relations.tables.gather(task, tableName);
    return mode === 'links' ? relations.links.gather(task, relationId) : catalog.gatherWrites(task, mode);
  }

  /** @throws rows_rejected, products_too_few and what makes a source unreadable */
  async function readSource(
    taskRun: TaskRun,
    pipeline: Pipeline,
    { gathered, ...from }: ReadFrom & { readonly gathered: GatheredWrites },
  ): Promise<ReadSummary | undefined> {
    const { onRejectedRow, minProducts, ...tried } = openDefinition(PIPELINE_SECRETS, pipeline, secrets);
    await taskRun.log(`fetching ${describeSource(tried.source)}`);
    const read = await threads.read(
      { ...tried, ...from, projectId: pipeline.projectId, stopsAtProblem: onRejectedRow === 'stop' },
      {
        ...{ run: taskRun, onRejectedRow },
        onProducts: (bytes) => gathered.add({ bytes, encoding: 'identity' }),
      },
    );
    if (read === undefined) return undefined;
    const least = Math.max(1, minProducts);
    if (read.products < least) throw new ServiceError('products_too_few', { values: [read.products, least] });
    return { ...read, revision: pipeline.revision };
  }

  async function conclude(taskRun: TaskRun, pipelineId: number, { parts, read }: Accepted): Promise<void> {
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

  return {
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
      return tasks.accept(runTask, {
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
    },
  };
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
