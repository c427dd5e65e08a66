/** The progress of a long operation. */
export interface Progress {
  readonly phase: string;
  readonly subject: string;
  readonly rows: number;
  /** 0 if the phase counts no rows; absent if the total is unknown. */
  readonly allRows?: number;
  /** The counted unit in the plural; default: rows. */
  readonly noun?: string;
  /** From 0 to 1; undefined if unknown. */
  readonly done: number | undefined;
  /** The part that an earlier run did. */
  readonly doneBefore: number;
}

/** The output for progress. A terminal has columns; a file or a pipe does not. */
type ProgressStream = Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>> & {
  write(text: string): unknown;
};

/** The interval between redraws on a terminal. */
const DRAW_MS = 200;
/** The interval between lines without a terminal. */
const LINE_MS = 10_000;
/** The interval if the progress has reached another tenth, so that a short phase shows more than 0 %. */
const TENTH_MS = 1_000;
const BAR_CELLS = 24;

/** Shows progress as a line that is redrawn on a terminal, or as occasional lines elsewhere. */
export function openProgressLine(stream: ProgressStream, now = () => performance.now()) {
  let phase = '';
  let startedAt = 0;
  let shownAt = 0;
  let rowsAtStart = 0;
  let last: Progress | undefined;
  let drawn: Progress | undefined;

  function waitFor({ done = 0 }: Progress): number {
    if (stream.isTTY) return DRAW_MS;
    const tenthOf = (share: number) => Math.floor(share * 10);
    return tenthOf(done) > tenthOf(drawn?.done ?? 0) ? TENTH_MS : LINE_MS;
  }

  function draw(progress: Progress): void {
    shownAt = now();
    drawn = progress;
    const elapsed = { elapsedMs: shownAt - startedAt, rowsBefore: rowsAtStart };
    const text = describeProgress(progress, { ...elapsed, hasBar: stream.isTTY ?? false });
    if (!stream.isTTY) stream.write(`${text}\n`);
    // Truncates the line, because a wrapped line could not be overwritten, and erases the rest of the previous line.
    else stream.write(`\r${text.slice(0, (stream.columns ?? 80) - 1)}\x1b[K`);
  }

  /** Draws the last state of a phase, which stays visible. */
  function end(): void {
    if (last !== undefined && last !== drawn) draw(last);
    if (last !== undefined && stream.isTTY) stream.write('\n');
    last = undefined;
    phase = '';
  }

  return {
    end,
    show(progress: Progress): void {
      const isNew = progress.phase !== phase;
      if (isNew) {
        end();
        ({ phase, rows: rowsAtStart } = progress);
        startedAt = now();
      }
      // The rate and the remaining time do not include the work of an earlier run.
      if (progress.done !== undefined && progress.done <= progress.doneBefore) rowsAtStart = progress.rows;
      last = progress;
      if (isNew || now() - shownAt >= waitFor(progress)) draw(progress);
    },
  };
}

/** Such as `copying  42 %  1,200,000 of 2,900,000 rows  21,000 rows/s  1 min 20 s left  project 3, document`. */
function describeProgress(
  { phase, subject, rows, allRows, noun = 'rows', done = 0, doneBefore }: Progress,
  { elapsedMs, rowsBefore, hasBar }: { elapsedMs: number; rowsBefore: number; hasBar: boolean },
): string {
  if (allRows === 0) return [phase, subject].join('  ').trimEnd();
  const rate = elapsedMs > 0 ? ((rows - rowsBefore) * 1_000) / elapsedMs : 0;
  const doneNow = done - doneBefore;
  const leftMs = doneNow > 0 ? (elapsedMs * (1 - done)) / doneNow : undefined;
  const filled = Math.round(done * BAR_CELLS);
  return [
    phase.padEnd('comparing'.length),
    ...(hasBar ? [`[${'#'.repeat(filled)}${'.'.repeat(BAR_CELLS - filled)}]`] : []),
    `${Math.floor(done * 100)} %`,
    `${count(rows)}${allRows === undefined ? '' : ` of ${count(allRows)}`} ${noun}`,
    ...(rate > 0 ? [`${count(Math.round(rate))} ${noun}/s`] : []),
    ...(leftMs !== undefined && done < 1 ? [`${describeTime(leftMs)} left`] : []),
    subject,
  ]
    .join('  ')
    .trimEnd();
}

const count = (value: number): string => value.toLocaleString('en-US');

function describeTime(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
