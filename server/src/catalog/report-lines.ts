import { isStorableText } from '../kernel/storable-text.ts';
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

const OF_REQUEST = /"code":"(repeated_identifier|product_invalid|path_mended)"/;

/** @returns the identifiers of products that were left out, as reports of batches name them */
export function listSkipped(reports: readonly string[]): string[] {
  const lines = reports
    .flatMap((report) => report.split('\n'))
    .filter((line) => line.includes('"code":"product_invalid"'));
  const identifiers = lines.map((line) => (JSON.parse(line) as ReportLine).identifier);
  return [
    ...new Set(identifiers.filter((identifier) => identifier !== undefined && isStorableText(identifier))),
  ] as string[];
}

/** What a batch's report says of the request itself holds whatever the facts are. @returns those lines */
export function keepRequestLines(report: string | undefined): string {
  return (report ?? '')
    .split('\n')
    .filter((line) => OF_REQUEST.test(line))
    .map((line) => `${line}\n`)
    .join('');
}
