import { isStorableText } from '../kernel/storable-text.ts';
import type { ReportLine, TaskRun } from '../tasks/tasks.ts';

/** A line for the empty values of an attribute. */
export const countEmpty = (attribute: string, count: number): ReportLine => ({
  code: 'value_empty',
  attribute,
  count,
  message: `${writeCount(count, 'value is', 'values are')} empty, and an empty value makes no fact`,
});

export const writeCount = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;

/**
 * Passes lines that the parsing threads wrote on to a task's report. An unknown attribute is reported once per task, and so
 * are empty values, counted, however many batches held them.
 */
export class ReportPassage {
  private readonly run: TaskRun;
  private readonly unknown = new Set<string>();
  private readonly empty = new Map<string, number>();

  constructor(run: TaskRun) {
    this.run = run;
  }

  readonly pass = (lines: string): void => {
    const texts = lines.split('\n').filter((text) => text !== '');
    for (const line of texts.map((text) => JSON.parse(text) as ReportLine | { more: number })) {
      if ('more' in line) this.run.leaveOut(line.more);
      else this.add(line);
    }
  };

  private add(line: ReportLine): void {
    const { code, attribute = '', count = 0 } = line;
    if (code === 'value_empty') this.empty.set(attribute, (this.empty.get(attribute) ?? 0) + count);
    else if (code !== 'attribute_unknown' || !this.unknown.has(attribute)) this.run.report(line);
    if (code === 'attribute_unknown') this.unknown.add(attribute);
  }

  /** Says what was counted; nothing is passed afterwards. */
  end(): void {
    for (const [attribute, count] of this.empty) this.run.report(countEmpty(attribute, count));
  }
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
