import { sql } from 'kysely';
import type { ControlTransaction, Database } from '../storage/storage.ts';

/**
 * Lanes with pending deliveries. Whoever sends a lane's deliveries holds its lease, so that they go out one after another,
 * whichever process sends them; a lease that ran out says that its process is gone.
 */
export interface Lane {
  readonly endpointId: number;
  /** A project; 0: replays and tests. */
  readonly lane: number;
}

export interface ClaimedLane extends Lane {
  /** Failed attempts of its first delivery. */
  readonly tries: number;
}

/** Longer than an attempt may take. */
const LEASE_MS = 30_000;

const leaseUntil = ({ now }: Database) => sql<number>`${now} + ${sql.lit(LEASE_MS)}`;

/** Lets deliveries that were just added go out; a lane that waits after a failure goes on waiting. */
export async function openLanes(
  tx: ControlTransaction,
  lanes: readonly Lane[],
  dueAt: number,
): Promise<void> {
  for (const { endpointId, lane } of lanes) {
    await tx
      .insertInto('webhook_queue')
      .values({ endpoint_id: endpointId, lane, due_at: dueAt, tries: 0 })
      // Locks the row: whoever is about to remove it as empty sees the new deliveries first.
      .onConflict((present) =>
        present
          .columns(['endpoint_id', 'lane'])
          .doUpdateSet(({ ref }) => ({ due_at: ref('webhook_queue.due_at') })),
      )
      .execute();
  }
}

export interface ClaimWish {
  readonly owner: string;
  readonly now: number;
  readonly limit: number;
  /** Of each endpoint, together with those that are running. */
  readonly perEndpoint: number;
  /** Lanes of the owner by their endpoint. */
  readonly running: ReadonlyMap<number, number>;
}

/** Claims lanes that are due. */
export async function claimLanes(database: Database, wish: ClaimWish): Promise<ClaimedLane[]> {
  const { owner, now, limit } = wish;
  const isFree = sql<boolean>`(lease_until is null or lease_until <= ${database.now})`;
  const ranked = database.read
    .selectFrom('webhook_queue')
    .select(['endpoint_id', 'lane', 'due_at'])
    .select(sql<number>`row_number() over (partition by endpoint_id order by due_at, lane)`.as('place'))
    .where('due_at', '<=', now)
    .where(isFree)
    .as('ranked');
  const due = database.read
    .selectFrom(ranked)
    .select(['endpoint_id', 'lane'])
    .where('place', '<=', roomOf(wish))
    .orderBy('due_at')
    .limit(limit);
  // Mostly there is nothing, and a write would wait for the disk.
  const found = await due.execute();
  const claimed: ClaimedLane[] = [];
  for (const { endpoint_id, lane } of found) {
    const row = await database.write(
      (tx) =>
        tx
          .updateTable('webhook_queue')
          .set({ leased_by: owner, lease_until: leaseUntil(database) })
          .where('endpoint_id', '=', endpoint_id)
          .where('lane', '=', lane)
          .where('due_at', '<=', now)
          .where(isFree)
          .returning('tries')
          .executeTakeFirst(),
      { of: 'rows' },
    );
    if (row !== undefined) claimed.push({ endpointId: endpoint_id, lane, tries: row.tries });
  }
  return claimed;
}

/** How many lanes of its endpoint may be claimed. */
function roomOf({ perEndpoint, running }: ClaimWish) {
  const whole = sql<number>`cast(${perEndpoint} as integer)`;
  if (running.size === 0) return whole;
  const taken = [...running].map(([id, lanes]) => sql`when ${id} then ${lanes}`);
  return sql<number>`${whole} - case endpoint_id ${sql.join(taken, sql` `)} else 0 end`;
}

/** When a lane goes on, after an attempt or for another process. */
export interface LaneState {
  readonly tries: number;
  readonly dueAt: number;
  /** Whether the owner goes on with it. */
  readonly isHeld: boolean;
}

/** @returns false when the owner does not hold the lane any more */
export async function saveLane(
  database: Database,
  tx: ControlTransaction,
  { owner, endpointId, lane, tries, dueAt, isHeld }: Lane & LaneState & { owner: string },
): Promise<boolean> {
  const result = await tx
    .updateTable('webhook_queue')
    .set({
      tries,
      due_at: dueAt,
      leased_by: isHeld ? owner : null,
      lease_until: isHeld ? leaseUntil(database) : null,
    })
    .where('endpoint_id', '=', endpointId)
    .where('lane', '=', lane)
    .where('leased_by', '=', owner)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Removes a lane that has no deliveries. @returns false when it has some by now */
export async function closeLane(
  database: Database,
  { owner, endpointId, lane }: Lane & { owner: string },
): Promise<boolean> {
  return database.write(
    async (tx) => {
      const held = await tx
        .selectFrom('webhook_queue')
        .select('lane')
        .where('endpoint_id', '=', endpointId)
        .where('lane', '=', lane)
        .where('leased_by', '=', owner)
        .$if(database.isShared, (query) => query.forUpdate())
        .executeTakeFirst();
      if (held === undefined) return true;
      const pending = await tx
        .selectFrom('webhook_delivery')
        .select('id')
        .where('endpoint_id', '=', endpointId)
        .where('lane', '=', lane)
        .where('status', '=', 'pending')
        .limit(1)
        .executeTakeFirst();
      if (pending !== undefined) return false;
      await removeLanes(tx, endpointId, lane);
      return true;
    },
    { of: 'rows' },
  );
}

export async function removeLanes(tx: ControlTransaction, endpointId: number, lane?: number): Promise<void> {
  await tx
    .deleteFrom('webhook_queue')
    .where('endpoint_id', '=', endpointId)
    .where('lane', lane === undefined ? '<>' : '=', lane ?? 0)
    .execute();
}

/** Lets every lane of an endpoint go on at once, for example to another address. */
export async function hurryLanes(tx: ControlTransaction, endpointId: number, now: number): Promise<void> {
  await tx
    .updateTable('webhook_queue')
    .set({ due_at: now, tries: 0 })
    .where('endpoint_id', '=', endpointId)
    .execute();
}

/** Lets other processes claim what an owner holds, or, without one, what anybody does. */
export async function releaseLanes(database: Database, owner?: string): Promise<void> {
  await database.write(
    (tx) =>
      tx
        .updateTable('webhook_queue')
        .set({ leased_by: null, lease_until: null })
        .where('leased_by', owner === undefined ? 'is not' : '=', owner ?? null)
        .execute(),
    { of: 'rows' },
  );
}
