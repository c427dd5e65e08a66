import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../kernel/errors.ts';
import type { PostgresSettings } from './connection-pool.ts';
import { openPostgres, type Postgres } from './open-postgres.ts';

/** How a thread reaches the primary, and the replicas that may serve its reads. */
export interface ReplicatedSettings extends PostgresSettings {
  readonly replicaUrls: readonly string[];
  readonly replicaMaxDelayMs: number;
}

const BEAT_EVERY_MS = 200;
/** Without replicas, the beat only shows other commands that a process is running (move.ts). */
const IDLE_BEAT_MS = 5_000;
/** If the beat is younger than this, another process has just raised it. */
const BEAT_AGE_MS = 150;
const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

interface Replica {
  readonly postgres: Postgres;
  beat: number;
  isNear: boolean;
  checking: boolean;
}

/**
 * Chooses read replicas. The primary's row `service` has a beat, an instant that every process raises. A replica that
 * shows an old beat lags, and it is not used until it has caught up. Replication keeps the order of commits, so a
 * replica with a given beat shows everything that was committed before that beat.
 */
export class Readers {
  private readonly primary: Postgres;
  private readonly maxDelayMs: number;
  private readonly replicas: readonly Replica[];
  private readonly timer: NodeJS.Timeout;
  private turn = 0;
  private beat = 0;

  constructor(primary: Postgres, { replicaUrls, replicaMaxDelayMs, ...settings }: ReplicatedSettings) {
    this.primary = primary;
    this.maxDelayMs = replicaMaxDelayMs;
    this.replicas = replicaUrls.map((url): Replica => {
      return { postgres: openPostgres({ ...settings, url }), beat: 0, isNear: false, checking: false };
    });
    const everyMs = replicaUrls.length === 0 ? IDLE_BEAT_MS : BEAT_EVERY_MS;
    this.timer = setInterval(() => void this.check(), everyMs).unref();
    void this.check();
  }

  /**
   * @returns the next replica, or the primary when all replicas lag too much; a replica that fails is no longer used
   */
  pick(): Postgres {
    const near = this.replicas.filter((replica) => this.isUsable(replica));
    this.turn += 1;
    const chosen = near[this.turn % Math.max(near.length, 1)];
    return chosen === undefined ? this.primary : withFallback(chosen, this.primary);
  }

  /** Waits until every replica that any process reads from shows everything committed so far. */
  async catchUp(): Promise<void> {
    const { replicas } = this;
    if (replicas.length === 0) return;
    const newest = await raiseBeat(this.primary, 0);
    // After this time every process has noticed that a replica without this beat lags too far behind.
    const until = performance.now() + this.maxDelayMs + 3 * BEAT_EVERY_MS;
    while (replicas.some(({ beat }) => beat < newest) && performance.now() < until) {
      await delay(20);
      await Promise.race([this.checkAll(), delay(BEAT_EVERY_MS)]);
    }
  }

  /** Lists the delays in the order of the settings. The delay is infinite while a replica does not answer. */
  listDelaysMs(): number[] {
    return this.replicas.map(({ beat: shown }) =>
      shown === 0 ? Number.POSITIVE_INFINITY : Math.max(0, this.beat - shown),
    );
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.replicas.map(({ postgres }) => postgres.close()));
  }

  private async check(): Promise<void> {
    try {
      this.beat = Math.max(this.beat, await raiseBeat(this.primary, BEAT_AGE_MS));
    } catch {
      // While the primary is unreachable, the lag is unknown. A replica remains in use until the assumed lag exceeds
      // the limit.
      this.beat += BEAT_EVERY_MS;
    }
    await this.checkAll();
  }

  private checkAll(): Promise<unknown> {
    return Promise.all(this.replicas.map((replica) => this.checkReplica(replica)));
  }

  private async checkReplica(replica: Replica): Promise<void> {
    if (replica.checking) return;
    replica.checking = true;
    try {
      const [row] = await replica.postgres.rows<{ beat: number }>(
        'select beat_at as beat from service where id = 1',
      );
      replica.beat = Math.max(replica.beat, row?.beat ?? 0);
    } catch {
      // A replica that does not answer is not used until it answers again. Its reads go to the primary.
      replica.isNear = false;
      return;
    } finally {
      replica.checking = false;
    }
    replica.isNear = this.beat > 0 && this.beat - replica.beat <= this.maxDelayMs;
  }

  /** A check that hangs must not keep a replica in use. */
  private isUsable({ isNear, beat: shown }: Replica): boolean {
    return isNear && this.beat - shown <= this.maxDelayMs;
  }
}

/** @returns the newest beat, after raising it unless it is younger than the given age */
async function raiseBeat(primary: Postgres, youngerThanMs: number): Promise<number> {
  const [row] = await primary.rows<{ beat: number }>(
    `with raised as (update service set beat_at = greatest(beat_at + 1, ${NOW})
       where id = 1 and beat_at <= ${NOW} - $1::bigint returning beat_at)
     select coalesce((select beat_at from raised), (select beat_at from service where id = 1)) as beat`,
    [youngerThanMs],
  );
  return row?.beat ?? 0;
}

/** Sends reads that fail on a replica to the primary. */
function withFallback(replica: Replica, primary: Postgres): Postgres {
  const onPrimary = (error: unknown, signal?: AbortSignal) => {
    if (!(error instanceof ServiceError) || signal?.aborted) throw error;
    replica.isNear = false;
    return primary;
  };
  return {
    ...primary,
    rows: (sql, values, signal) =>
      replica.postgres
        .rows<never>(sql, values, signal)
        .catch((error) => onPrimary(error, signal).rows(sql, values, signal)),
    snapshot: (work, signal) =>
      replica.postgres
        .snapshot(work, signal)
        .catch((error) => onPrimary(error, signal).snapshot(work, signal)),
  };
}
