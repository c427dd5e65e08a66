import type { ReportLine, TaskRun } from '../tasks/tasks.ts';

/**
 * Passes lines that the parsing threads wrote on to a task's report. An unknown attribute is reported once per task,
 * however many batches held it.
 */
export function passOnReport(run: TaskRun): (lines: string) => void {
  const reported = new Set<string>();
  const isToldAlready = ({ code, attribute = '' }: ReportLine) => {
    if (code !== 'attribute_unknown') return false;
    if (reported.has(attribute)) return true;
    reported.add(attribute);
    return false;
  };
  return (lines) => {
    const texts = lines.split('\n').filter((text) => text !== '');
    for (const line of texts.map((text) => JSON.parse(text) as ReportLine | { more: number })) {
      if ('more' in line) run.leaveOut(line.more);
      else if (!isToldAlready(line)) run.report(line);
    }
  };
}

/** What a batch's report says of the request itself holds whatever the facts are. @returns those lines */
export function keepRequestLines(report: string | undefined): string {
  return (report ?? '')
    .split('\n')
    .filter((line) => line.includes('"code":"repeated_identifier"'))
    .map((line) => `${line}\n`)
    .join('');
}
