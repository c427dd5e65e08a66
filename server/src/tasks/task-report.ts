import type { TaskFailure } from './task.ts';
import type { EndedRun } from './task-runner.ts';

/** Read one at a time. */
const PART_LINES = 2_000;

/** @returns the report of a run as NDJSON, with the count of omitted lines as its last line */
export function reportParts({ report, unreported }: EndedRun): { lines: string; lineCount: number }[] {
  const parts: { lines: string; lineCount: number }[] = [];
  for (let start = 0; start < report.length; start += PART_LINES) {
    const lines = report.slice(start, start + PART_LINES);
    parts.push({ lines: `${lines.join('\n')}\n`, lineCount: lines.length });
  }
  if (unreported > 0) parts.push({ lines: `${JSON.stringify({ more: unreported })}\n`, lineCount: 1 });
  return parts;
}

/** @returns the last line of the log of a task that failed */
export function describeInLog({ message, details }: TaskFailure): string {
  return [`failed: ${message}`, ...details].join('; ');
}
