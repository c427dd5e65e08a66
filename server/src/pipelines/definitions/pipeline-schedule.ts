/** When a schedule is due. Source: docs/interface.md §13.3. */
import { Cron } from 'croner';

export interface Schedule {
  /** Minute, hour, day of the month, month, day of the week. */
  readonly cron: string;
  /** A name of the IANA database, as `Europe/Berlin`. */
  readonly timeZone: string;
}

const FIELDS = 5;

/** @returns what is wrong with a schedule, with its path */
export function checkSchedule({ cron, timeZone }: Schedule, now: number): string[] {
  const zoneProblem = findZoneProblem(timeZone);
  const cronProblem = findCronProblem(cron, now);
  return [
    ...(cronProblem === undefined ? [] : [`/trigger/cron: ${cronProblem}`]),
    ...(zoneProblem === undefined ? [] : [`/trigger/timeZone: ${zoneProblem}`]),
  ];
}

/**
 * A local time that a clock change skips is due at the instant of the change, and one that occurs twice is due the first
 * time; an hourly schedule stays hourly.
 * @returns the next due instant; undefined when there is none
 */
export function findNextRun({ cron, timeZone }: Schedule, after: number): number | undefined {
  return open(cron, timeZone).nextRun(new Date(after))?.getTime();
}

/** Shorter and longer forms differ between programs, and every second is too often for a pipeline. */
function findCronProblem(cron: string, now: number): string | undefined {
  if (cron.trim().split(/\s+/).length !== FIELDS)
    return `must have ${FIELDS} fields: minute, hour, day of the month, month, day of the week`;
  try {
    const isEver = open(cron, 'UTC').nextRun(new Date(now)) !== null;
    return isEver ? undefined : 'names a day that never comes';
  } catch (error) {
    // croner throws for the pattern alone, and its text names the field.
    return (error as Error).message.replace(/^CronPattern: /, '');
  }
}

function findZoneProblem(timeZone: string): string | undefined {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return undefined;
  } catch {
    // Intl has no other way to say whether it knows a zone.
    return 'must be a time zone such as Europe/Berlin or UTC';
  }
}

function open(cron: string, timeZone: string): Cron {
  return new Cron(cron, { mode: '5-part', timezone: timeZone, paused: true });
}
