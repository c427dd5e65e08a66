import { setTimeout } from 'node:timers/promises';
import { ServiceError } from '../kernel/errors.ts';
import { isEmpty, isWorkerAway, migratePostgres, type Postgres, tryWrites } from './postgres/postgres.ts';

/** How a waiting start reports its progress. */
export interface StartWaiting {
  /** Called for each new reason. */
  onWait(reason: string): void;
  onContinue(): void;
  /** Called when the start continues although a worker of Citus does not answer. */
  onWorkerAway(reason: string): void;
}

export interface WaitTerms {
  readonly until: number;
  readonly emptyRefusal?: string | undefined;
  readonly waiting?: StartWaiting | undefined;
}

/** The pause between two attempts. It doubles up to the longest. */
const PAUSE_MS = { first: 500, longest: 5_000 };

/**
 * Migrates the database to the newest schema as soon as it can be reached.
 * @throws Error with the database's message when it refuses all writes, or when the time is up
 */
export async function migrateSoon(postgres: Postgres, terms: WaitTerms): Promise<void> {
  const reasons = new Set<string>();
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.longest)) {
    try {
      await prepareDatabase(postgres, terms);
      if (reasons.size > 0) terms.waiting?.onContinue();
      return;
    } catch (error) {
      const final = await judgeStart(postgres, error);
      if (final !== undefined) throw final;
      noteWait(reasons, describeAway(error), terms);
    }
    await setTimeout(pauseMs);
  }
}

async function prepareDatabase(postgres: Postgres, { emptyRefusal, waiting }: WaitTerms): Promise<void> {
  await refuseEmpty(postgres, emptyRefusal);
  await migratePostgres(postgres);
  try {
    await tryWrites(postgres);
  } catch (error) {
    const isUnavailable = error instanceof ServiceError && error.code === 'not_ready';
    if (!isUnavailable || !(await isWorkerAway(postgres))) throw error;
    // The projects of the other workers are served meanwhile.
    waiting?.onWorkerAway(describeAway(error));
  }
}

async function refuseEmpty(postgres: Postgres, refusal: string | undefined): Promise<void> {
  if (refusal !== undefined && (await isEmpty(postgres))) throw new Error(refusal);
}

/** More reasons than a database has. Further ones are not reported. */
const MOST_REASONS = 20;

/** @throws Error when the time is up */
function noteWait(reasons: Set<string>, reason: string, { until, waiting }: WaitTerms): void {
  if (waiting === undefined && performance.now() > until)
    throw new Error(
      `The database cannot be reached (${reason}): check RELATA_DATABASE_URL, the network and whether the server runs.`,
    );
  if (reasons.has(reason) || reasons.size >= MOST_REASONS) return;
  reasons.add(reason);
  waiting?.onWait(reason);
}

/** An address with several hosts fails with an AggregateError without a text, which contains an error for each host. */
function describeAway(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  return first instanceof Error && first.message !== '' ? first.message : 'it does not answer';
}

/**
 * @returns the error that ends a start, with the message of a database that refuses writes; undefined while the
 * database is unreachable
 */
async function judgeStart(postgres: Postgres, error: unknown): Promise<unknown> {
  const { severity, cause } = error as Error & { severity?: string; cause?: Error & { code?: string } };
  if (severity === 'ERROR') return refuseUnwritable(error as Error);
  // A standby may be promoted soon.
  if (cause?.code === READ_ONLY && !(await isStandby(postgres).catch(() => true)))
    return refuseUnwritable(cause);
  return error instanceof ServiceError && error.code === 'not_ready' ? undefined : error;
}

/** SQLSTATE read_only_sql_transaction: the database is a standby, or a setting makes it read-only. */
const READ_ONLY = '25006';

async function isStandby(postgres: Postgres): Promise<boolean> {
  const [row] = await postgres.rows<{ isStandby: boolean }>('select pg_is_in_recovery() as "isStandby"');
  return row?.isStandby ?? false;
}

const refuseUnwritable = ({ message }: Error) =>
  new Error(
    `The database refuses what the service has to write: ${message}. Let its role read and write all tables that it made (docs/operating/postgresql.md, "Set up PostgreSQL").`,
  );
