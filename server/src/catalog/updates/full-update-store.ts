import { type InferResult, sql } from 'kysely';
import {
  type ControlTransaction,
  control,
  type Database,
  type Fields,
  toSnake,
} from '../../storage/storage.ts';

export interface FullUpdate extends BatchesState {
  readonly id: number;
  readonly projectId: number;
  readonly state: 'open' | 'committing' | 'committed' | 'discarded';
  /** The time when it was opened, or when it accepted its last batch. */
  readonly batchAt: number;
  readonly commitTaskId: string | undefined;
  /** The key or user that began it, by `nameCaller`; undefined if a task or an earlier version began it. */
  readonly openedBy: string | undefined;
  /** The id of the full update that discarded it. */
  readonly replacedBy: number | undefined;
  /**
   * The batches and products that it had when its commit began; undefined before that, or if an earlier version began
   * the commit.
   */
  readonly held: AcceptedBatches | undefined;
}

/** The counts of docs/interface §4.4 rule 29. */
export interface AcceptedBatches {
  readonly batches: number;
  readonly products: number;
}

/** The state of batches that a commit could lack. */
export interface BatchesState {
  readonly lastBatch: BatchState;
  /** Batches whose bodies are not completely received and stored, at all processes. */
  readonly arriving: number;
}

/**
 * The index of a state is its number in rows. `in doubt`: a process may have refused a batch and been unable to
 * record it.
 */
const BATCH_STATES = ['accepted', 'failed', 'in doubt'] as const;
type BatchState = (typeof BATCH_STATES)[number];
export const FAILED = 1;
export const IN_DOUBT = 2;

const selectFullUpdates = (read: Database['read']) =>
  read
    .selectFrom('full_update')
    .select(['id', 'project_id as projectId', 'state', 'last_batch_failed', 'batch_at as batchAt'])
    .select(['opened_by', 'replaced_by', 'batch_count', 'product_count'])
    .select([
      'commit_task_id',
      sql<number>`(select count(*) from arriving_batch a where a.project_id = full_update.project_id
        and a.full_update_id = full_update.id)`.as('arriving'),
    ]);
type FullUpdateRow = InferResult<ReturnType<typeof selectFullUpdates>>[number];

function readFullUpdate(row: FullUpdateRow): FullUpdate {
  const { last_batch_failed, commit_task_id, state, opened_by, replaced_by, ...rest } = row;
  const { batch_count: batches, product_count: products, ...same } = rest;
  return {
    ...same,
    state: state as FullUpdate['state'],
    lastBatch: BATCH_STATES[last_batch_failed] ?? 'failed',
    commitTaskId: commit_task_id ?? undefined,
    openedBy: opened_by ?? undefined,
    replacedBy: replaced_by ?? undefined,
    held: batches === null || products === null ? undefined : { batches, products },
  };
}

/** Identifies a full update. Ids are global, but the rows of a full update are stored by project. */
export type FullUpdateKey = Pick<FullUpdate, 'id' | 'projectId'>;

const rowOf = ({ id, projectId }: FullUpdateKey) => ({ projectId, id });
export const batchesOf = ({ id, projectId }: FullUpdateKey) => ({ projectId, fullUpdateId: id });

/** @returns whether the full update was still open, and so was changed */
export async function changeOpen(tx: ControlTransaction, key: FullUpdateKey, set: Fields<'full_update'>) {
  const where = { ...rowOf(key), state: 'open' };
  return (await control.update(tx, 'full_update', { where, set })) > 0;
}

/** Discards the open session and opens a new one. @returns the result of `inTransaction`, from the same transaction */
export const openFullUpdate = <Answer>(
  database: Database,
  { projectId, origin, openedBy, now }: OpenedFullUpdate,
  inTransaction: (tx: ControlTransaction, id: number) => Promise<Answer>,
): Promise<Answer> =>
  database.write(projectId, async (tx) => {
    const session = { projectId, origin, state: 'open' };
    const open = await control.find(tx, 'full_update', session);
    await control.update(tx, 'full_update', { where: session, set: { state: 'discarded' } });
    const opened = { ...session, openedBy, createdAt: now, batchAt: now };
    const { id } = await control.insert(tx, 'full_update', opened);
    if (open !== undefined)
      await control.update(tx, 'full_update', { where: { projectId, id: open.id }, set: { replacedBy: id } });
    return inTransaction(tx, id);
  });

interface OpenedFullUpdate {
  readonly projectId: number;
  readonly origin: string;
  readonly openedBy: string | null;
  readonly now: number;
}

/** The origin of full updates that callers fill. A project has at most one open full update of this origin. */
export const ORIGIN_OF_CALLERS = 'LIVE-API';

/** The full updates of a project that callers, or one task, fill. */
interface FullUpdatesOf {
  readonly projectId: number;
  readonly origin: string;
}

const selectOf = (database: Database, { projectId, origin }: FullUpdatesOf) =>
  selectFullUpdates(database.read)
    .where((is) => is.and({ project_id: projectId, origin }))
    .orderBy('id', 'desc')
    .limit(1);

/** @returns the newest full update of this origin that is open or was started, whatever the result of its commit */
export async function findLatestFullUpdate(
  database: Database,
  of: FullUpdatesOf,
): Promise<FullUpdate | undefined> {
  const row = await selectOf(database, of)
    .where((is) => is.or([is('state', '!=', 'discarded'), is('commit_task_id', 'is not', null)]))
    .executeTakeFirst();
  return row && readFullUpdate(row);
}

/**
 * @returns the newest full update that the caller began, in any state; one without a known caller belongs to every
 * caller
 */
export async function findLatestOfCaller(
  database: Database,
  { caller, ...of }: FullUpdatesOf & { caller: string },
): Promise<FullUpdate | undefined> {
  const row = await selectOf(database, of).where(ofCaller(caller)).executeTakeFirst();
  return row && readFullUpdate(row);
}

export const ofCaller = (caller: string) => sql<boolean>`(opened_by is null or opened_by = ${caller})`;

/** @returns whether the full update was still open */
export const discardOpen = (
  database: Database,
  key: FullUpdateKey,
  inTransaction: (tx: ControlTransaction) => Promise<void>,
): Promise<boolean> =>
  database.write(key.projectId, async (tx) => {
    const isOpen = await changeOpen(tx, key, { state: 'discarded' });
    if (isOpen) await inTransaction(tx);
    return isOpen;
  });

/** @returns whether the caller began another full update after this one */
export async function hasBegunAnotherSince(
  database: Database,
  { id, projectId, origin, caller }: FullUpdateKey & { origin: string; caller: string },
): Promise<boolean> {
  const row = await database.read
    .selectFrom('full_update')
    .select('id')
    .where((is) => is.and({ project_id: projectId, origin }))
    .where('id', '>', id)
    .where(ofCaller(caller))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function findFullUpdate(read: Database['read'], key: FullUpdateKey) {
  const row = await selectFullUpdates(read)
    .where((is) => is.and(toSnake(rowOf(key))))
    .executeTakeFirst();
  return row && readFullUpdate(row);
}

/** @returns the full updates whose staged products are still needed */
export async function listLiveFullUpdates(database: Database, projectId: number): Promise<number[]> {
  const rows = await database.read
    .selectFrom('full_update')
    .select('id')
    .where('project_id', '=', projectId)
    .where('state', 'in', ['open', 'committing'])
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * Begins a commit. From here until the transaction ends no batch can begin, because `expectBatch` waits for the row.
 * @returns the full update whose commit begins now, in its present state; otherwise the task that began it before
 */
export async function beginCommit(
  tx: ControlTransaction,
  { taskId, ...key }: FullUpdateKey & { taskId: string },
): Promise<{ begun: FullUpdate | undefined; commitTaskId: string | undefined }> {
  const isBegun = await changeOpen(tx, key, { state: 'committing', commitTaskId: taskId });
  // A separate statement, because a statement that waited for a row counts the rows from before the wait.
  const present = await findFullUpdate(tx, key);
  return { begun: isBegun ? present : undefined, commitTaskId: present?.commitTaskId };
}

/** Records the counts of a full update, for a repeated start. */
export async function noteHeld(
  tx: ControlTransaction,
  key: FullUpdateKey,
  { batches, products }: AcceptedBatches,
): Promise<void> {
  const set = { batchCount: batches, productCount: products };
  await control.update(tx, 'full_update', { where: rowOf(key), set });
}

/** Ends a full update and deletes its batches. */
export const closeFullUpdate = (database: Database, key: FullUpdateKey, state: 'committed' | 'discarded') =>
  database.write(key.projectId, async (tx) => {
    await control.update(tx, 'full_update', { where: rowOf(key), set: { state } });
    await control.remove(tx, 'full_update_batch', batchesOf(key));
  });

/** @returns full updates of all projects that accept no more batches but still have batches */
export async function listUnclosed(database: Database): Promise<FullUpdate[]> {
  const rows = await selectFullUpdates(database.read)
    .where('state', '!=', 'open')
    .where('id', 'in', database.read.selectFrom('full_update_batch').select('full_update_id'))
    .execute();
  return rows.map(readFullUpdate);
}

/** The full update that a call concerns: the named one, otherwise the one that its caller began. */
export interface ChosenSession {
  readonly fullUpdateId?: number | undefined;
  /** The caller, by `nameCaller`. */
  readonly caller: string;
}
