import type { TaskFailure } from './task.ts';
import type { EndedRun } from './task-runner.ts';

/** Read one at a time. */
const PART_LINES = 2_000;

export interface TaskReportPart {
  readonly lines: string;
  readonly lineCount: number;
}

/** The report of a run as NDJSON, with the count of omitted lines as its last line; each part is made when it is stored. */
export function* reportParts({ report, unreported }: EndedRun): Generator<TaskReportPart, void> {
  for (let start = 0; start < report.length; start += PART_LINES) {
    const lines = report.slice(start, start + PART_LINES);
    yield { lines: `${lines.join('\n')}\n`, lineCount: lines.length };
  }
  if (unreported > 0) yield { lines: `${JSON.stringify({ more: unreported })}\n`, lineCount: 1 };
}

/** @returns the last line of the log of a task that failed */
export function describeInLog({ message, details }: TaskFailure): string {
  return [`failed: ${message}`, ...details].join('; ');
}
