/** Computes when a schedule is due, and ensures that only one process starts each run. Source: docs/interface §13.3. */
import { Cron } from 'croner';
import { type FailureCode, ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Found } from '../projects/projects.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import { createDueWatch, Moved } from '../tasks/tasks.ts';
import { type Due, type DueTable, listDue, moveDue, type NextDue } from './definition-store.ts';

export interface Schedule {
  /** Minute, hour, day of the month, month, day of the week. */
  readonly cron: string;
  /** A name from the IANA database, such as `Europe/Berlin`. */
  readonly timeZone: string;
}

/** @returns the problems of a schedule, with their paths */
export function checkSchedule({ cron, timeZone }: Schedule, now: number): string[] {
  const problems = { cron: findCronProblem(cron, now), timeZone: findZoneProblem(timeZone) };
  return Object.entries(problems).flatMap(([name, problem]) =>
    problem ? `/trigger/${name}: ${problem}` : [],
  );
}

/**
 * A local time that a clock change skips is due at the instant of the change. A local time that occurs twice is
 * due the first time. An hourly schedule stays hourly.
 * @returns the next due instant; undefined if there is none
 */
export function findNextRun({ cron, timeZone }: Schedule, after: number): number | undefined {
  return open(cron, timeZone).nextRun(new Date(after))?.getTime();
}

/** Requires 5 fields: programs read other forms differently, and a pipeline must not run every second. */
function findCronProblem(cron: string, now: number): string | undefined {
  if (cron.trim().split(/\s+/).length !== 5)
    return 'must have 5 fields: minute, hour, day of the month, month, day of the week';
  try {
    const isEver = open(cron, 'UTC').nextRun(new Date(now)) !== null;
    return isEver ? undefined : 'must name a day that exists';
  } catch (error) {
    // croner throws only for a wrong pattern, and its message names the field.
    return (error as Error).message.replace(/^CronPattern: /, '');
  }
}

function findZoneProblem(timeZone: string): string | undefined {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return undefined;
  } catch {
    // Intl has no other way to check a time zone.
    return 'must be a time zone such as Europe/Berlin or UTC';
  }
}

function open(cron: string, timeZone: string): Cron {
  return new Cron(cron, { mode: '5-part', timezone: timeZone, paused: true });
}

/** Every process that runs tasks reads the due resources. Times that passed while no process ran are due once. */
export const createSchedule = <Resource extends Due, Place>({
  database,
  table,
  ...parts
}: {
  readonly database: Database;
  readonly logger: Logger;
  readonly table: DueTable<Resource, Place>;
  /** Names the schedule in the log when starts begin to fail. */
  readonly subject: string;
  startDue(due: Found<Resource>): Promise<void>;
}) =>
  createDueWatch<Found<Resource>>({
    ...parts,
    listDue: (after) => listDue(database, table, { after: after?.resource, limit: 500 }),
  });

/**
 * Starts a due run. The transaction that accepts the run also writes the next time, so that only one process
 * starts it.
 * @param busy the code with which `start` refuses while another run is open
 * @returns false while another run is open
 */
export async function startOnce<Resource extends Due, Place>(
  table: DueTable<Resource, Place>,
  { busy, ...moved }: { readonly resource: Resource; readonly next: NextDue; readonly busy: FailureCode },
  start: (inTransaction: (tx: ControlTransaction) => Promise<void>) => Promise<unknown>,
): Promise<boolean> {
  try {
    await start(async (tx) => {
      if (!(await moveDue(tx, table, moved))) throw new Moved();
    });
    return true;
  } catch (error) {
    if (error instanceof Moved) return true;
    if (error instanceof ServiceError && error.code === busy) return false;
    throw error;
  }
}
