import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * A loop of an SQLite statement, read from its bytecode (`explain`). `explain query plan` omits the worst loops. To
 * check that a pair is `not in` a list, SQLite compares it with the whole list, and the plan does not mention this.
 * Source: sqlite.org/opcode.html.
 */
export interface SqliteLoop {
  /**
   * The table that the loop reads. `(virtual)`: a function such as `json_each`. `(temporary)`: a list that the
   * statement made.
   */
  readonly source: string;
  /** `scan`: all rows. `range`: rows that an index finds by its first columns. */
  readonly kind: 'scan' | 'range';
  /** The columns of a range. */
  readonly columns: readonly string[];
  /**
   * Whether the loop reads a list of the row around it, such as the products of a batch. Then each list is read once.
   */
  readonly isOfRow: boolean;
  /** Whether the rows differ and are only used to find other rows. Then each of these is found once. */
  readonly isDistinct: boolean;
  /** The loops around it, outermost first. */
  readonly outer: readonly SqliteLoop[];
}

type Op = {
  readonly addr: number;
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
  readonly p3: number;
  readonly p4: string | null;
};

type Query = (sql: string) => Record<string, unknown>[];
type Prepare = (this: DatabaseSync, sql: string) => StatementSync;

/** The object that a cursor reads, with the columns of its index. */
type Source = Pick<SqliteLoop, 'source' | 'columns'>;

/** @param prepare the method of the driver, because a watched method would report the statements of this function */
export function listLoops(database: DatabaseSync, prepare: Prepare, sql: string): SqliteLoop[] {
  const query: Query = (text) => prepare.call(database, text).all() as Record<string, unknown>[];
  const ops = query(`explain ${sql}`) as Op[];
  return nest(ops, findRanges(ops, listSources(ops, query)));
}

const VIRTUAL: Source = { source: '(virtual)', columns: [] };
const TEMPORARY: Source = { source: '(temporary)', columns: [] };
/** A single row in memory. */
const PSEUDO: Source = { source: '', columns: [] };

/** @returns the object that each cursor reads, by cursor */
function listSources(ops: readonly Op[], query: Query): ReadonlyMap<number, Source> {
  const roots = listRoots(query);
  const sources = new Map<number, Source>();
  for (const { opcode, p1, p2, p3 } of ops) {
    if (/^Open(?:Read|Write)$/.test(opcode)) sources.set(p1, roots.get(`${p3}:${p2}`) ?? TEMPORARY);
    else if (opcode === 'VOpen') sources.set(p1, VIRTUAL);
    else if (opcode === 'OpenPseudo') sources.set(p1, PSEUDO);
    else if (/^(?:Open(?:Ephemeral|Autoindex|Dup)|SorterOpen)$/.test(opcode)) sources.set(p1, TEMPORARY);
  }
  return sources;
}

/** @returns each table and index by its database and first page, as bytecode names them */
function listRoots(query: Query): ReadonlyMap<string, Source> {
  const roots = new Map<string, Source>();
  for (const [index, schema] of ['main', 'temp'].entries()) {
    const objects = query(
      `select name, tbl_name as "of", rootpage from ${schema}.sqlite_schema where rootpage > 0`,
    );
    for (const { name, of, rootpage } of objects) {
      const columns = query(
        name === of
          ? `select name from pragma_table_info('${of}') where pk > 0 order by pk`
          : `select name from pragma_index_info('${name}') order by seqno`,
      );
      // An index of some rows, such as `task_open`, stands for these rows.
      const source = isPartial(query, String(of), String(name)) ? String(name) : String(of);
      roots.set(`${index}:${rootpage}`, { source, columns: columns.map((column) => String(column.name)) });
    }
  }
  return roots;
}

const isPartial = (query: Query, table: string, name: string): boolean =>
  query(`select 1 from pragma_index_list('${table}') where name = '${name}' and partial = 1`).length > 0;

interface Range extends Omit<SqliteLoop, 'outer' | 'isOfRow'> {
  readonly cursor: number;
  /** The cursor of the row that contains the list. */
  readonly listOf: number | undefined;
  readonly start: number;
  readonly end: number;
}

const STEPS = /^(?:Next|Prev|VNext|SorterNext)$/;
const SEEKS = /^Seek(?:GE|GT|LE|LT)$/;
const BEGINS = /^(?:Rewind|Last|VFilter|Sort|SorterSort|Seek(?:GE|GT|LE|LT))$/;
const BOUNDS = /^Idx(?:GT|GE|LT|LE)$/;

function findRanges(ops: readonly Op[], sources: ReadonlyMap<number, Source>): Range[] {
  return ops.flatMap((op): Range[] => {
    const { opcode, addr: end, p2: start } = op;
    // A consumer of a coroutine returns to its `Yield`. The loops within the coroutine are found separately.
    if (opcode === 'Goto' && start < end && ops[start]?.opcode === 'Yield')
      return [{ ...TEMPORARY, kind: 'scan', start, end, cursor: -1, listOf: undefined, isDistinct: false }];
    return STEPS.test(opcode) ? [readStep(ops, op, sources.get(op.p1) ?? TEMPORARY)] : [];
  });
}

/** @returns the loop that ends with this step of a cursor */
function readStep(
  ops: readonly Op[],
  { addr: end, p1: cursor, p2: start }: Op,
  { source, columns }: Source,
): Range {
  const isOfCursor = (kinds: RegExp) => (op: Op) => op.p1 === cursor && kinds.test(op.opcode);
  const begin = ops.slice(0, start).findLast(isOfCursor(BEGINS));
  const range = {
    source,
    start,
    end,
    cursor,
    isDistinct: ops.some(isOfCursor(/^IdxInsert$/)),
    listOf: undefined,
  };
  if (begin?.opcode === 'VFilter')
    return { ...range, kind: 'scan', columns: [], listOf: findArgument(ops, begin) };
  if (begin === undefined || !SEEKS.test(begin.opcode)) return { ...range, kind: 'scan', columns: [] };
  const bound = ops.slice(start, end).find(isOfCursor(BOUNDS));
  return { ...range, kind: 'range', columns: columns.slice(0, Number(bound?.p4 ?? 0)) };
}

/** @returns the cursor whose column is the first argument of a virtual table, if that argument is a column */
const findArgument = (ops: readonly Op[], { addr, p3 }: Op): number | undefined =>
  ops.slice(0, addr).findLast((op) => /^V?Column$/.test(op.opcode) && op.p3 === p3 + 2)?.p1;

/** Whether a loop advances a cursor, or looks up its row, each time. */
const isReadIn = (ops: readonly Op[], cursor: number, loop: Range | undefined): boolean =>
  loop !== undefined &&
  (loop.cursor === cursor ||
    ops
      .slice(loop.start, loop.end)
      .some(({ opcode, p1 }) => p1 === cursor && /^(?:SeekRowid|NotExists|SeekGE)$/.test(opcode)));

/** Finds the loops around each loop. `Once` guards code that runs once, however often the loop around it runs. */
function nest(ops: readonly Op[], ranges: readonly Range[]): SqliteLoop[] {
  const onces = ops
    .filter(({ opcode }) => opcode === 'Once')
    .map(({ addr, p2 }) => ({ start: addr, end: p2 }));
  const isAround = (a: Range, b: Range) =>
    a !== b &&
    a.start <= b.start &&
    b.end <= a.end &&
    !onces.some((once) => a.start <= once.start && once.start < b.start && b.end < once.end);
  const loops = new Map<Range, SqliteLoop>();
  const loopOf = (range: Range): SqliteLoop => {
    const loop = loops.get(range);
    if (loop !== undefined) return loop;
    const around = ranges.filter((other) => isAround(other, range));
    around.sort((a, b) => b.end - b.start - (a.end - a.start));
    const { source, kind, columns, isDistinct, listOf } = range;
    const isOfRow = listOf !== undefined && isReadIn(ops, listOf, around.at(-1));
    const made = { source, kind, columns, isDistinct, isOfRow, outer: around.map(loopOf) };
    loops.set(range, made);
    return made;
  };
  return ranges.map(loopOf);
}
