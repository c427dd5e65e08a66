import { setImmediate as nextTurn } from 'node:timers/promises';
import { isStorableText } from '../kernel/storable-text.ts';
import type { ReportLine, TaskRun } from '../tasks/tasks.ts';

/** A line for the empty values of an attribute. */
export const countEmpty = (attribute: string, count: number): ReportLine => ({
  code: 'value_empty',
  attribute,
  count,
  message: `${writeCount(count, 'value is', 'values are')} empty, and an empty value makes no fact`,
});

/** A line for the facts of an attribute that an update or a change of the ontology removed from the catalog. */
export function countDropped(attribute: string, { count, because }: Dropped): ReportLine & Dropped {
  const message = `${writeCount(count, 'value is no longer a fact', 'values are no longer facts')}, because ${because}`;
  return { code: 'facts_dropped', attribute, count, message, because };
}

interface Dropped {
  readonly count: number;
  readonly because: string;
}

/** How many attributes with dropped facts the log of a task names. */
const WARNINGS = 100;

/** Lines per turn of the event loop: parsing all 100,000 lines of a report at its limit takes half a second. */
const LINES_AT_ONCE = 1_000;
/** Other lines of a batch are passed on unchanged. */
const TALLIED = /^\{"more"|"code":"(facts_dropped|value_empty|attribute_unknown)"/;

const writeCount = (count: number, singular: string, plural: string): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? singular : plural}`;

/**
 * Passes lines of the parsing threads to the report of a task. Each unknown attribute is reported once per task.
 * Empty values are reported as one count per attribute, however many batches contain them.
 */
export function openPassage(run: TaskRun) {
  const unknown = new Set<string>();
  const empty = new Map<string, number>();
  const dropped = new Map<string, Dropped>();

  function take(text: string): void {
    const line = TALLIED.test(text) ? (JSON.parse(text) as ReportLine | { more: number }) : text;
    if (typeof line === 'string') run.report(line);
    else if ('more' in line) run.leaveOut(line.more);
    else tally(line);
  }

  function tally(line: ReportLine): void {
    const { code, attribute = '', count = 0 } = line;
    if (code === 'facts_dropped') addDropped(attribute, line as ReportLine & Dropped);
    else if (code === 'value_empty') empty.set(attribute, (empty.get(attribute) ?? 0) + count);
    else if (code !== 'attribute_unknown' || !unknown.has(attribute)) run.report(line);
    if (code === 'attribute_unknown') unknown.add(attribute);
  }

  function addDropped(attribute: string, { count, because }: Dropped): void {
    const counted = dropped.get(attribute);
    dropped.set(attribute, { count: count + (counted?.count ?? 0), because: counted?.because ?? because });
  }

  return {
    /** Yields to other requests between parts. @param lines NDJSON */
    async pass(lines: string | Uint8Array): Promise<void> {
      let count = 0;
      for (const text of eachLine(typeof lines === 'string' ? [lines] : eachPart(lines))) {
        take(text);
        count += 1;
        if (count % LINES_AT_ONCE === 0) await nextTurn();
      }
    },
    /** Adds the facts that a part of the task dropped, from its `TaskNotes`. */
    takeNotes({ dropped = [] }: TaskNotes): void {
      for (const [attribute, facts] of dropped) addDropped(attribute, facts);
    },
    /**
     * Reports the counts of empty values, and logs the dropped facts, because a report is about present values.
     * Call it last.
     * @returns the notes to store with the result of the task
     */
    async end(): Promise<TaskNotes> {
      for (const [attribute, count] of empty) run.report(countEmpty(attribute, count));
      if (dropped.size === 0) return {};
      const first = [...dropped].slice(0, WARNINGS);
      const warnings = first.map(
        ([attribute, facts]) => `${attribute}: ${countDropped(attribute, facts).message}`,
      );
      for (const warning of warnings) await run.log(warning);
      return { warnings, dropped: first };
    },
  };
}

/** A generator, because splitting the largest report without a pause would delay other calls. */
function* eachLine(parts: Iterable<string>): Generator<string, void> {
  for (const lines of parts) {
    for (let offset = 0; offset < lines.length; ) {
      const end = lines.indexOf('\n', offset);
      const text = lines.slice(offset, end < 0 ? lines.length : end);
      if (text !== '') yield text;
      offset += text.length + 1;
    }
  }
}

/** How many bytes of a report are decoded in one step. A step ends at the end of a line. */
const PART_BYTES = 256 * 1024;
const LINE_END = 0x0a;

function* eachPart(bytes: Uint8Array): Generator<string, void> {
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let offset = 0; offset < lines.length; ) {
    const lineEnd = lines.indexOf(LINE_END, offset + PART_BYTES);
    const end = lineEnd < 0 ? lines.length : lineEnd + 1;
    yield lines.toString('utf8', offset, end);
    offset = end;
  }
}

/** Stored with the result of a task; `warnings` are sentences. */
export interface TaskNotes {
  readonly warnings?: readonly string[];
  readonly dropped?: readonly (readonly [attribute: string, dropped: Dropped])[];
}

export const SKIPPED = '"code":"product_invalid"';
const OF_REQUEST = /"code":"(repeated_identifier|product_invalid|path_mended|combinations_cut)"/;

/** @returns the identifiers of the skipped products that the report of a batch names */
export function listSkipped(report: string): string[] {
  const lines = report.split('\n').filter((line) => line.includes(SKIPPED));
  const identifiers = lines.flatMap((line) => (JSON.parse(line) as ReportLine).identifier ?? []);
  return [...new Set(identifiers.filter(isStorableText))];
}

/** @returns the lines about the request itself, which stay valid when facts change */
export function keepRequestLines(report: string): string {
  const lines = report.split('\n').filter((line) => OF_REQUEST.test(line));
  return lines.map((line) => `${line}\n`).join('');
}
