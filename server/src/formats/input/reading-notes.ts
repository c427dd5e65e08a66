import { LIMITS } from './reading-limits.ts';
import { type ColumnValue, makePlain, type RowProblem, type SourceRow } from './source-row.ts';
import { copyText } from './text-chunks.ts';

/** Documents have a few dozen different paths. */
const UNREAD_PATHS = 1_000;

/** What a reader notes about a file while it reads it. */
export class ReadingNotes {
  /** Detected options: `delimiter`, `encoding`, `path`, `record`, `sheet`, … */
  readonly found: Record<string, string> = {};
  /** Whether some bytes were invalid in the encoding and became U+FFFD. */
  isDamaged = false;
  readonly #columns = new Set<string>();
  /** Paths of elements that make no value, with their counts, except paths that the format deliberately ignores. */
  readonly unread = new Map<string, number>();
  readonly #onUnread: ((path: string) => void) | undefined;

  /** @param onUnread receives each path; the notes do not count it then */
  constructor(onUnread?: (path: string) => void) {
    this.#onUnread = onUnread;
  }

  noteUnread(path: string): void {
    if (this.#onUnread !== undefined) this.#onUnread(path);
    else if (this.unread.has(path) || this.unread.size < UNREAD_PATHS)
      this.unread.set(path, (this.unread.get(path) ?? 0) + 1);
  }

  /** Names in order of first appearance so far, at most `LIMITS.columns`. */
  get columns(): readonly string[] {
    return [...this.#columns];
  }

  noteColumn(name: string): void {
    if (this.#columns.has(name) || this.#columns.size >= LIMITS.columns) return;
    this.#columns.add(copyText(name));
  }

  noteRows(rows: readonly SourceRow[]): void {
    // Columns of a table were noted with its header.
    for (const row of rows) if (row.table === undefined) for (const name in row.values) this.noteColumn(name);
  }
}

/** Reports the rows with damage. In an undamaged source, U+FFFD can be a regular character. */
export function reportDamage(row: SourceRow): SourceRow {
  const isDamaged = (value: ColumnValue) => [value].flat().some((text) => text.includes('\uFFFD'));
  const damaged = Object.entries(row.values).filter(([, value]) => isDamaged(value));
  if (damaged.length === 0) return row;
  const problems = damaged.map(
    ([column]): RowProblem => ({
      code: 'encoding',
      column,
      message: 'these bytes are not text in the encoding of the file',
    }),
  );
  return { ...makePlain(row), problems: [...(row.problems ?? []), ...problems] };
}
