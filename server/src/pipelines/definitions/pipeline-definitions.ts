import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type ListPage, type PageWish, readPlace, toPage } from '../../projects/projects.ts';
import {
  type ControlTransaction,
  type Database,
  type ExpectedStates,
  readNow,
  refuseOtherState,
  type Secrets,
} from '../../storage/storage.ts';
import type { Task, Tasks } from '../../tasks/tasks.ts';
import type { Asker } from '../account-places.ts';
import type { TextChecks } from '../mapping/mapping.ts';
import { listMaskedMembers, maskSource, type Source } from '../sources/sources.ts';
import { markOfPipeline, type Pipeline, type PipelineDefinition } from './pipeline.ts';
import { checkPipeline, fillSecrets } from './pipeline-check.ts';
import { listLastRuns, listRunPlaces, type RunPlace } from './pipeline-history-store.ts';
import { hasOpenRun } from './pipeline-run-store.ts';
import { findNextRun } from './pipeline-schedule.ts';
import type { SentPipeline } from './pipeline-schemas.ts';
import { openSource, sealPipeline } from './pipeline-secrets.ts';
import {
  countPipelines,
  findPipeline,
  insertPipeline,
  listPipelines,
  type PipelineKey,
  removePipeline,
  updatePipeline,
} from './pipeline-store.ts';

/** A run that was started; its task has the counts. */
export interface PipelineRun extends Omit<RunPlace, 'taskNumber'> {
  readonly task: Task;
}

/** A pipeline with its newest run. */
export interface PipelineState {
  readonly pipeline: Pipeline;
  readonly lastRun: PipelineRun | undefined;
}

/** A pipeline, and the state that a change expects to replace. */
type ExpectedPipeline = PipelineKey & { readonly expected?: ExpectedStates };

/** A definition as sent, and its author. */
export interface SentDefinition extends Asker {
  readonly sent: SentPipeline;
}

/** Written in the transaction of a change: its author and its answer. */
export type AlongsideChange = (tx: ControlTransaction, after: Pipeline, before?: Pipeline) => Promise<void>;

const PIPELINES = 1_000;
/** 192 bits, which nobody can guess. */
const TRIGGER_ID_BYTES = 24;

const makeTriggerId = () => randomBytes(TRIGGER_ID_BYTES).toString('base64url');

/** The pipelines of all projects. */
export function createPipelineLists({
  database,
  tasks,
}: {
  readonly database: Database;
  readonly tasks: Tasks;
}) {
  async function get(key: PipelineKey): Promise<Pipeline> {
    const pipeline = await findPipeline(database.read, key);
    if (pipeline === undefined) throw new ServiceError('not_found');
    return pipeline;
  }

  /** @returns the newest run of each pipeline of that range of ids */
  async function findLastRuns(
    projectId: number,
    range: { from: number; to: number },
  ): Promise<ReadonlyMap<number, PipelineRun>> {
    const places = await listLastRuns(database.read, projectId, range);
    const runs = await withTasks(projectId, places);
    return new Map(runs.map((run) => [run.pipelineId, run]));
  }

  async function withTasks(projectId: number, places: readonly RunPlace[]): Promise<PipelineRun[]> {
    const found = await tasks.listNumbered(
      projectId,
      places.map(({ taskNumber }) => taskNumber),
    );
    const byNumber = new Map(found.map((task) => [task.number, task]));
    return places.flatMap(({ taskNumber, ...place }) => {
      const task = byNumber.get(taskNumber);
      return task === undefined ? [] : { ...place, task };
    });
  }

  return {
    /** @throws not_found */
    get,
    /** @throws not_found */
    async getState(key: PipelineKey): Promise<PipelineState> {
      const { projectId, id } = key;
      const pipeline = await get(key);
      const found = await findLastRuns(projectId, { from: id, to: id });
      return { pipeline, lastRun: found.get(id) };
    },

    /** By id. @throws query_invalid */
    async list(projectId: number, wish: PageWish): Promise<ListPage<PipelineState>> {
      const place = readPlace(wish);
      const page = toPage(await listPipelines(database.read, projectId, place), place);
      const [from = 0, to = 0] = [page.items[0]?.id, page.items.at(-1)?.id];
      const last = await findLastRuns(projectId, { from, to });
      return { ...page, items: page.items.map((pipeline) => ({ pipeline, lastRun: last.get(pipeline.id) })) };
    },

    /** Newest first. @throws not_found, query_invalid */
    async listRuns(key: PipelineKey, wish: PageWish): Promise<ListPage<PipelineRun>> {
      const place = readPlace(wish);
      await get(key);
      const places = await listRunPlaces(database.read, key, place);
      const page = toPage(
        places.map((one) => ({ ...one, id: one.taskNumber })),
        place,
      );
      return { ...page, items: await withTasks(key.projectId, page.items) };
    },
  };
}

/** Changes of definitions, each in one transaction with its entry in the audit log. */
export function createPipelineChanges({
  database,
  clock,
  secrets,
  textChecks,
}: {
  readonly database: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly textChecks: TextChecks;
}) {
  const check = ({ sent, ...asker }: SentDefinition) =>
    checkPipeline(sent, { now: clock.now(), checkTexts: textChecks(asker) });

  /** @throws not_found */
  async function change(
    { expected, ...key }: ExpectedPipeline,
    toNext: (before: Pipeline, times: { now: number; updatedAt: number }) => Pipeline,
    alongside: AlongsideChange,
  ): Promise<void> {
    await database.write(
      async (tx) => {
        const before = await findPipeline(tx, key);
        if (before === undefined) throw new ServiceError('not_found');
        refuseOtherState(expected, markOfPipeline(before));
        const updatedAt = Math.max(clock.now(), before.updatedAt + 1);
        const after = toNext(before, { now: await readNow(tx, database), updatedAt });
        await updatePipeline(tx, after);
        await alongside(tx, after, before);
      },
      { of: key.projectId },
    );
  }

  return {
    /** @throws request_invalid, rate_limited */
    async create(project: ChosenProject, sent: SentDefinition, alongside: AlongsideChange): Promise<void> {
      const checked = await check(sent);
      const definition = fillSecrets(checked, undefined);
      await database.write(
        async (tx) => {
          await refuseMore(tx, project.id);
          const nextRunAt = planNext(definition, await readNow(tx, database));
          const plan = { nextRunAt, triggerId: makeTriggerId(), createdAt: clock.now() };
          const masked = { ...definition, source: maskSource(definition.source) };
          const added = await insertPipeline(tx, { projectId: project.id, definition: masked, ...plan });
          // Bound to its id, which it has only now.
          const sealed = sealPipeline({ ...added, definition }, secrets);
          if (sealed.sealed !== undefined) await updatePipeline(tx, sealed);
          await alongside(tx, sealed);
        },
        { of: project.id },
      );
    },

    /** @throws not_found, request_invalid, rate_limited, changed_meanwhile */
    async replace(key: ExpectedPipeline, sent: SentDefinition, alongside: AlongsideChange): Promise<void> {
      // Before mistakes in the body are reported.
      if ((await findPipeline(database.read, key)) === undefined) throw new ServiceError('not_found');
      const checked = await check(sent);
      await change(
        key,
        (before, times) => {
          const stored = openStored(before, secrets, checked.source);
          const definition = fillSecrets(checked, stored);
          const opened = { ...before, definition: { ...before.definition, source: stored } };
          const after = toReplaced(opened, definition, times);
          return after === opened ? before : sealPipeline(after, secrets);
        },
        alongside,
      );
    },

    /** Gives the webhook another URL; the old one is 404 from then on. @throws not_found */
    renewTriggerId: (key: PipelineKey, alongside: AlongsideChange) =>
      change(
        key,
        (before, { updatedAt }) => ({ ...before, triggerId: makeTriggerId(), updatedAt }),
        alongside,
      ),

    /** @throws not_found, changed_meanwhile, pipeline_busy while a run is going on */
    async remove({ expected, ...key }: ExpectedPipeline, alongside: AlongsideChange): Promise<void> {
      await database.write(
        async (tx) => {
          const pipeline = await findPipeline(tx, key);
          if (pipeline === undefined) throw new ServiceError('not_found');
          refuseOtherState(expected, markOfPipeline(pipeline));
          if (await hasOpenRun(tx, key)) throw new ServiceError('pipeline_busy');
          await removePipeline(tx, key);
          await alongside(tx, pipeline);
        },
        { of: key.projectId },
      );
    },
  };
}

/**
 * @returns the stored source with its secrets; masked, where they cannot be unsealed and nothing that was sent needs them
 * @throws secret_unreadable
 */
export function openStored(stored: Pipeline, secrets: Secrets, sent: Source): Source {
  try {
    return openSource(stored, secrets);
  } catch (error) {
    const isUnreadable = error instanceof ServiceError && error.code === 'secret_unreadable';
    if (!isUnreadable || listMaskedMembers(sent).length > 0) throw error;
    return stored.definition.source;
  }
}

/** @returns a definition without what is secret, for the audit log */
export const showDefinition = ({ definition }: Pipeline): object => ({
  ...definition,
  source: maskSource(definition.source),
});

async function refuseMore(tx: ControlTransaction, projectId: number): Promise<void> {
  if ((await countPipelines(tx, projectId)) < PIPELINES) return;
  const details = [`a project has at most ${PIPELINES.toLocaleString('en')} pipelines`];
  throw new ServiceError('request_invalid', { details });
}

function planNext({ trigger }: PipelineDefinition, now: number): number | undefined {
  return trigger.type === 'schedule' ? findNextRun(trigger, now) : undefined;
}

/** What was planned stays where the schedule stays: who changes the name a second before misses no run. */
function toReplaced(
  before: Pipeline,
  definition: PipelineDefinition,
  { now, updatedAt }: { now: number; updatedAt: number },
): Pipeline {
  // What changes nothing is no change: its ETag stays (§7.6 rule 1).
  if (isDeepStrictEqual(before.definition, definition)) return before;
  const isSamePlan = isDeepStrictEqual(before.definition.trigger, definition.trigger);
  const reading = ({ source, format, mapping, mode }: PipelineDefinition) => [source, format, mapping, mode];
  const isSameReading = isDeepStrictEqual(reading(before.definition), reading(definition));
  return {
    ...before,
    definition,
    revision: before.revision + 1,
    nextRunAt: isSamePlan ? before.nextRunAt : planNext(definition, now),
    stamp: isSameReading ? before.stamp : undefined,
    updatedAt,
  };
}
