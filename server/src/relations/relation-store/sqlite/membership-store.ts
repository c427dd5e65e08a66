import type { Derivation } from '../../../catalog/catalog.ts';
import { ask } from '../../../storage/programs/programs.ts';
import type { CatalogFile } from '../../../storage/sqlite/sqlite.ts';
import type { Comparison } from '../../matching/matching.ts';
import {
  COMPARED_COLUMNS,
  type GroupedDocument,
  listEncoded,
  listMembers,
  MEMBER_NUMBERS,
  type MemberColumns,
  type MemberRow,
  packMemberships,
  placeLists,
  splitDerived,
} from '../../memberships/memberships.ts';
import { type ExtendIndex, findMemberships, type OpenedBuilds, openBuilds } from '../build-store.ts';

/** The join index in the catalog's file, which is written beside the documents that it is derived from. */

const KEY = 'build_id, side, match_key, rank, product_id, document_id';

/** The derivation that the catalog's threads run for relations. */
export function relationDerivation(): Derivation {
  const opened = new WeakMap<CatalogFile, OpenedBuilds>();

  return {
    open(file) {
      const builds = file.perform(openBuilds(opened.get(file)));
      opened.set(file, builds);
      return builds.derive;
    },
    place(file, { documents: placed, columns }) {
      const documents: GroupedDocument[] = [];
      for (const { row, id, productId, derived } of placed) {
        const { group, packed } = splitDerived(derived);
        const document = { id, productId, group };
        writeDocument(file, document, packed);
        documents[row] = document;
      }
      if (columns !== undefined) writeColumns(file, columns as MemberColumns, documents);
    },
    remove: removeMemberships,
    tidy: mergeSome,
  };
}

/** @returns a function with which programs extend the join index of a file */
export const extendIn =
  (file: CatalogFile): ExtendIndex =>
  (extended) =>
    ask(() => {
      for (const row of extended) writeDocument(file, row, packMemberships(row.memberships));
      const members = listMembers(extended.map((row) => ({ ...row, memberships: row.added })));
      for (const list of listsOf(members)) writeMembers(file, list[0] as MemberRow, list.map(lineOf));
    });

/**
 * Avoids `or replace`, which copies a page of 16 KiB to be able to undo the row and takes 8 instead of 2 µs.
 */
function writeDocument(file: CatalogFile, { id, productId, group }: GroupedDocument, packed: string): void {
  file
    .prepare(
      `insert into relation_document (document_id, product_id, group_identifier, memberships) values (?, ?, ?, ?)
       on conflict (document_id) do update set memberships = excluded.memberships`,
    )
    .run(id, productId, group, packed);
}

/**
 * A member of a run with its compared values. Bytes are in hexadecimal, which sorts like the bytes and is
 * cheaper to pass on.
 */
export type RunMember = readonly [
  first: string | null,
  rank: string,
  productId: number,
  document: number,
  group: string,
  ...others: (string | null)[],
];

/** A list: the members of one side with the same key. */
type List = Pick<MemberRow, 'build' | 'side' | 'key'>;

/** The number of a missing compared value. */
const NO_VALUE = 0;
const RUN_MEMBERS = 64;
/** Shorter lists become single rows, because the bookkeeping of a list would cost as much as the rows. */
const SHORTEST_RUN = 4;

const bytesOf = (hex: string | null) => (hex === null ? null : Buffer.from(hex, 'hex'));

/** Converts numbers directly to lines, because creating rows first would take 50% longer. */
function writeColumns(file: CatalogFile, columns: MemberColumns, documents: readonly GroupedDocument[]) {
  const { members, bytes } = columns;
  const all = Buffer.from(bytes.buffer).toString('hex');
  const encoded = listEncoded(columns, (start, end) => all.slice(2 * start, 2 * end));
  const hexAt = (position: number) => encoded[members[position] as number] ?? null;
  // The text of each product is written only once, because a product has several lines.
  const products = documents.map(writeProduct);
  for (const { build, side, key, width, positions } of placeLists(columns, documents)) {
    const lines = positions.map((position): Line => {
      const row = members[position] as number;
      const { productId, id: document } = documents[row] as GroupedDocument;
      const rank = hexAt(position + 1) as string;
      const compared = position + MEMBER_NUMBERS;
      const first = width === 0 ? null : hexAt(compared);
      let tail = products[row] as string;
      for (let column = compared + 1; column < compared + width; column += 1)
        tail = addValue(tail, hexAt(column));
      return { rank, productId, document, text: writeLine(first, rank, tail) };
    });
    const findReach: FindReach = (start, end) =>
      Array.from({ length: width }, (_, column) => {
        const offset = MEMBER_NUMBERS + column;
        const numbers = positions.slice(start, end).map((position) => members[position + offset] as number);
        // Numbers of values sort like the values. The extremes of an empty list are infinite and have
        const present = numbers.filter((number) => number !== NO_VALUE);
        return [encoded[Math.min(...present)] ?? null, encoded[Math.max(...present)] ?? null];
      }).flat();
    const list = { build, side, key: bytesOf(encoded[key] as string) as Buffer, findReach };
    writeMembers(file, list, lines);
  }
}

/** @param lines in index order */
function writeMembers(file: CatalogFile, list: WrittenList, lines: readonly Line[]): void {
  const { build, side, key } = list;
  if (lines.length >= SHORTEST_RUN) {
    writeRuns(file, list, lines);
    const sql = `insert into relation_list (build_id, side, match_key, changed) values (?, ?, ?, ?)
      on conflict do update set changed = changed + excluded.changed`;
    file.prepare(sql).run(build, side, key, lines.length);
    return;
  }
  for (const { text } of lines) {
    const [first, rank, productId, document, group, ...others] = JSON.parse(text) as RunMember;
    const compared = first === null && others.length === 0 ? [] : [first, ...others].map(bytesOf);
    file
      .prepare(INSERTS[compared.length] as string)
      .run(build, side, key, bytesOf(rank), productId, document, group, ...compared);
  }
}

/**
 * Statements by the number of compared values, because each bound value costs time and most rows have none.
 */
const INSERTS = [...COMPARED_COLUMNS.keys(), COMPARED_COLUMNS.length].map((compared) => {
  const columns = [KEY, 'group_identifier', ...COMPARED_COLUMNS.slice(0, compared)];
  return `insert into relation_member (${columns.join(', ')}) values (?, ?, ?, ?, ?, ?, ?${', ?'.repeat(compared)})`;
});

/** @param members list by list; all members of a list share the same key object */
function* listsOf(members: Iterable<MemberRow>): Generator<readonly MemberRow[], void> {
  let list: MemberRow[] = [];
  for (const member of members) {
    const [first = member] = list;
    if (first.build !== member.build || first.side !== member.side || first.key !== member.key) {
      yield list;
      list = [];
    }
    list.push(member);
  }
  if (list.length > 0) yield list;
}

/** A member in the form of a line in a run. */
interface Line extends Pick<StoredRun, 'rank' | 'productId' | 'document'> {
  readonly text: string;
}

function lineOf({ rank: bytes, productId, document, group, compared }: MemberRow): Line {
  const rank = bytes.toString('hex');
  const [first = null, ...others] = compared.map((value) => value?.toString('hex') ?? null);
  let tail = writeProduct({ id: document, productId, group });
  for (const value of others) tail = addValue(tail, value);
  return { rank, productId, document, text: writeLine(first, rank, tail) };
}

/**
 * Writes a `RunMember` in the form of `JSON.stringify`, in a third of the time. Hexadecimal needs no
 * escaping.
 */
const writeLine = (first: string | null, rank: string, tail: string) => `[${quote(first)},"${rank}",${tail}]`;

const writeProduct = ({ id, productId, group }: GroupedDocument) =>
  `${productId},${id},${JSON.stringify(group)}`;

const addValue = (text: string, hex: string | null) => `${text},${quote(hex)}`;
const quote = (hex: string | null) => (hex === null ? 'null' : `"${hex}"`);

/**
 * @returns the least and then the largest value of each compared column, of the lines from `start` to `end`
 */
type FindReach = (start: number, end: number) => readonly (string | null)[];

interface WrittenList extends List {
  /** By default the values are read from the lines. */
  readonly findReach?: FindReach;
}

/** @param lines in index order */
function writeRuns(file: CatalogFile, list: WrittenList, lines: readonly Line[]): void {
  const { build, side, key } = list;
  const { findReach = (start, end) => listExtremes(lines.slice(start, end)) } = list;
  const insertRun = file.prepare('insert into relation_run (members) values (?)');
  const insertRow = file.prepare(
    `insert into relation_member (${KEY}, group_identifier, least, most, others, run)
     values (?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?)`,
  );
  for (let runStart = 0; runStart < lines.length; runStart += RUN_MEMBERS) {
    const run = lines.slice(runStart, runStart + RUN_MEMBERS);
    const [{ rank, productId, document }] = run as [Line];
    const [least = null, most = null, ...others] = findReach(runStart, runStart + run.length);
    const { lastInsertRowid } = insertRun.run(run.map(({ text }) => text).join('\n'));
    const indexKey = [build, side, key, bytesOf(rank), productId, document] as const;
    const reach = others.length === 0 ? null : JSON.stringify(others);
    insertRow.run(...indexKey, bytesOf(least), bytesOf(most), reach, lastInsertRowid);
  }
}

function listExtremes(lines: readonly Line[]): (string | null)[] {
  const extremes: (string | null)[] = [];
  for (const { text } of lines) {
    let column = 0;
    for (let position = 0; text.charCodeAt(position) !== END; column += 2) {
      const value = readValue(text, position);
      extremes[column] = lesser(value, extremes[column]);
      extremes[column + 1] = greater(value, extremes[column + 1]);
      position = column === 0 ? passGroup(text, position) : passValue(text, position);
    }
  }
  return extremes;
}

const lesser = (a: string | null, b: string | null = null) => (b === null || (a !== null && a < b) ? a : b);
const greater = (a: string | null, b: string | null = null) => (b === null || (a !== null && a > b) ? a : b);

/** @returns false for a list without runs */
function noteRemoved(file: CatalogFile, { build, side, key }: List, members: number): boolean {
  const sql = `update relation_list set changed = changed + ?, gone = gone + ?
    where build_id = ? and side = ? and match_key = ?`;
  return Number(file.prepare(sql).run(members, members, build, side, key).changes) > 0;
}

/**
 * Members of a list with runs stay until the list is merged. Until then, they count only while their document
 * is present.
 */
function removeMemberships(file: CatalogFile, documents: readonly number[]): void {
  const dropMember = file.prepare(
    `delete from relation_member where build_id = ? and side = ? and match_key = ? and rank = ? and product_id = ?
       and document_id = ?`,
  );
  const dropDocument = file.prepare('delete from relation_document where document_id = ?');
  const rows = [...file.perform(findMemberships(documents)).values()];
  for (const list of listsOf(listMembers(rows))) {
    if (noteRemoved(file, list[0] as MemberRow, list.length)) continue;
    for (const { build, side, key, rank, productId, document } of list) {
      dropMember.run(build, side, key, rank, productId, document);
    }
  }
  for (const { id } of rows) dropDocument.run(id);
}

/** A row of the index, with its bytes in hexadecimal. */
type StoredRun = {
  readonly rank: string;
  readonly productId: number;
  readonly document: number;
  readonly group: string;
  /** Null if the row is a single member. */
  readonly run: number | null;
};

/**
 * Parses line by line, because most runs need only a few of their members.
 * @param comparisons in the order of their columns. They are judged on the text, because parsing a line takes
 * as long as judging ten.
 */
export function* parseRun(members: string, comparisons: readonly Comparison[] = []) {
  for (let position = 0; position < members.length; ) {
    const next = members.indexOf('\n', position);
    const end = next < 0 ? members.length : next;
    if (isMatching(members, position, comparisons))
      yield JSON.parse(members.slice(position, end)) as RunMember;
    position = end + 1;
  }
}

function isMatching(members: string, line: number, comparisons: readonly Comparison[]): boolean {
  let [position, column] = [line, 0];
  for (const comparison of comparisons) {
    for (; column < comparison.index; column += 1)
      position = column === 0 ? passGroup(members, position) : passValue(members, position);
    if (!holdsAt(members, position, comparison)) return false;
  }
  return true;
}

const QUOTE = 34;
const END = 93;

/**
 * Compares character by character, because the first ones usually differ. Comparing a slice would cost ten
 * times as much.
 */
function holdsAt(members: string, position: number, { sql, text }: Comparison): boolean {
  if (members.charCodeAt(position + 1) !== QUOTE) return sql === '<>';
  const start = position + 2;
  let same = 0;
  while (same < text.length && members.charCodeAt(start + same) === text.charCodeAt(same)) same += 1;
  // The quote after a value sorts before all digits.
  const order = members.charCodeAt(start + same) - (same < text.length ? text.charCodeAt(same) : QUOTE);
  if (order === 0) return sql.endsWith('=');
  return sql === '<>' || sql.startsWith('<') === order < 0;
}

/**
 * @param position the position before the value. Behind the last value it is the end of the line, where further
 * values are null.
 */
const readValue = (members: string, position: number) =>
  members.charCodeAt(position + 1) === QUOTE
    ? members.slice(position + 2, members.indexOf('"', position + 2))
    : null;

function passValue(members: string, position: number): number {
  if (members.charCodeAt(position) === END) return position;
  return members.charCodeAt(position + 1) === QUOTE
    ? members.indexOf('"', position + 2) + 1
    : position + ',null'.length;
}

/** Moves from the first compared value to the second. The group in between may contain escaped quotes. */
function passGroup(members: string, line: number): number {
  const rankEnd = members.indexOf('"', passValue(members, line) + 2);
  let end = members.indexOf('"', rankEnd + 1);
  do end = members.indexOf('"', end + 1);
  while (isEscaped(members, end));
  return end + 1;
}

function isEscaped(members: string, position: number): boolean {
  let start = position;
  while (members[start - 1] === '\\') start -= 1;
  return (position - start) % 2 === 1;
}

/**
 * @param membersOf returns undefined for a row that is a single member
 * @returns the members of the ordered rows, in order
 */
export function* mergeRuns<Row extends RunMember>(
  rows: Iterable<Row>,
  membersOf: (row: Row) => Iterable<RunMember> | undefined,
): Generator<RunMember, void> {
  const open: OpenRun[] = [];
  for (const row of rows) {
    if (open.length > 0) yield* takeBefore(open, row);
    const iterator = membersOf(row)?.[Symbol.iterator]();
    if (iterator === undefined) {
      yield row;
      continue;
    }
    const { value: head } = iterator.next();
    if (head !== undefined) open.push({ iterator, head });
  }
  if (open.length > 0) yield* takeBefore(open);
}

type OpenRun = { readonly iterator: Iterator<RunMember>; head: RunMember };

/** Compares by index, because destructuring the arrays would cost as much as parsing a line. */
function isBefore(a: RunMember, b: RunMember): boolean {
  if (a[1] !== b[1]) return a[1] < b[1];
  return a[2] === b[2] ? a[3] < b[3] : a[2] < b[2];
}

function firstOf(open: readonly OpenRun[]): OpenRun {
  let [first] = open as [OpenRun];
  for (const run of open) if (isBefore(run.head, first.head)) first = run;
  return first;
}

function* takeBefore(open: OpenRun[], end?: RunMember): Generator<RunMember, void> {
  while (open.length > 0) {
    const first = firstOf(open);
    if (end !== undefined && !isBefore(first.head, end)) return;
    yield first.head;
    const { value: next } = first.iterator.next();
    if (next === undefined) open.splice(open.indexOf(first), 1);
    else first.head = next;
  }
}

/** @returns the members of the run, one in each line */
export const readRun = (file: CatalogFile, run: number): string =>
  String(file.prepare('select members from relation_run where id = ?').get(run)?.members);

/**
 * How many members a merge step reads. That takes 13 ms of processor time, and an update of the project waits
 * for it.
 */
const MERGED_AT_ONCE = 8_000;
/** The cost of a member whose document must be looked up, in members without a lookup. */
const LOOKED_UP = 2;

/** A list that is due for a merge: a quarter of it was added or removed in runs since the last merge. */
interface DueList extends List {
  readonly size: number;
  /** The number of members whose document may be gone. */
  readonly gone: number;
  /** The number of members before the current position of the merge. */
  readonly merged: number;
  readonly rank: Uint8Array | null;
  readonly productId: number | null;
}

const FIND_DUE = `select build_id as build, side, match_key as key, size, gone, merged, at_rank as rank,
  at_product as productId
  from relation_list indexed by relation_list_due where (at_rank is not null) + (changed > 64 and changed * 4 > size) > 0 limit 1`;

/** Merges a part of the due lists. After each step all lists can answer. @returns whether more may remain */
function mergeSome(file: CatalogFile): boolean {
  // Does not use the last quarter of the limit, because the step would complete too few members with it.
  for (let left = MERGED_AT_ONCE; left > MERGED_AT_ONCE / 4; ) {
    const due = file.prepare(FIND_DUE).get() as (DueList & { readonly key: Uint8Array }) | undefined;
    if (due === undefined) return removeRuns(file);
    const each = due.gone === 0 ? 1 : LOOKED_UP;
    left -= each * mergePart(file, { ...due, key: Buffer.from(due.key) }, left / each);
  }
  return true;
}

/** Removes runs that no row refers to. @returns whether more may remain */
export function removeRuns(file: CatalogFile): boolean {
  const some = 'select id from relation_dropped_run order by id limit 2000';
  file.prepare(`delete from relation_run where id in (${some})`).run();
  return file.prepare(`delete from relation_dropped_run where id in (${some})`).run().changes > 0;
}

/**
 * Merges a part of a list without the members whose document is gone.
 * @param most the members to read; a run, and the rows of one product, may exceed it
 * @returns how many members were read
 */
function mergePart(file: CatalogFile, list: DueList, most: number): number {
  const { partLines, next } = readPart(file, list, most);
  const isGone = list.gone === 0 ? new Set<Line>() : findGone(file, partLines);
  const lines = sortLines(isGone.size === 0 ? partLines : partLines.filter((line) => !isGone.has(line)));
  const ahead = next === undefined ? -1 : lines.findIndex((line) => isBehind(line, next));
  const merged = ahead < 0 ? lines.length : ahead;
  dropPart(file, list, next);
  writeRuns(file, list, lines.slice(0, merged));
  writeRuns(file, list, lines.slice(merged));
  noteMerged(file, list, { merged: list.merged + merged, next });
  return partLines.length;
}

/** Reads only the needed fields. Parsing takes twice as long, and the text is written unchanged. */
function toLine(text: string): Line {
  const rankAt = passValue(text, 0) + ',"'.length;
  const rankEnd = text.indexOf('"', rankAt);
  const productEnd = text.indexOf(',', rankEnd + 2);
  return {
    rank: text.slice(rankAt, rankEnd),
    productId: Number(text.slice(rankEnd + 2, productEnd)),
    document: Number(text.slice(productEnd + 1, text.indexOf(',', productEnd + 1))),
    text,
  };
}

/**
 * Groups by rank first, because most ranks are in many lines. Comparing all lines would take three times as
 * long.
 */
function sortLines(lines: Iterable<Line>): Line[] {
  const byRank = new Map<string, Line[]>();
  for (const line of lines) {
    const equals = byRank.get(line.rank);
    if (equals === undefined) byRank.set(line.rank, [line]);
    else equals.push(line);
  }
  return [...byRank.keys()].sort().flatMap((rank) => (byRank.get(rank) as Line[]).sort(compareProducts));
}

const compareProducts = (a: Line, b: Line) => a.productId - b.productId || a.document - b.document;

const isBehind = (line: Line, { rank, productId }: StoredRun) =>
  line.rank > rank || (line.rank === rank && line.productId >= productId);

/** Deletes the rows from the position of the merge to the next row. */
function dropPart(file: CatalogFile, list: DueList, next: StoredRun | undefined): void {
  const sql = `delete from relation_member where ${FROM_PLACE}`;
  if (next === undefined) file.prepare(sql).run(...valuesOf(list));
  else {
    const end = [bytesOf(next.rank), next.productId];
    file.prepare(`${sql} and (rank, product_id) < (?, ?)`).run(...valuesOf(list), ...end);
  }
}

/** The rows of a list from the position of its merge. */
const FROM_PLACE = 'build_id = ? and side = ? and match_key = ? and (rank, product_id) >= (?, ?)';
const valuesOf = ({ build, side, key, rank, productId }: DueList) =>
  [build, side, key, rank ?? Buffer.alloc(0), productId ?? 0] as const;

/**
 * Members that are added during a merge count for the next merge. If members are removed during a merge, some
 * may be before its position.
 */
function noteMerged(
  file: CatalogFile,
  { build, side, key, size, rank }: DueList,
  { merged, next }: { merged: number; next: StoredRun | undefined },
): void {
  const begins = Number(rank === null);
  const ends = Number(next === undefined);
  file
    .prepare(
      `update relation_list set size = ?, merged = ?, at_rank = ?, at_product = ?, changed = iif(?, 0, changed),
         gone = iif(? and (? or changed = 0), 0, gone)
       where build_id = ? and side = ? and match_key = ?`,
    )
    .run(
      ...(next ? [size, merged, bytesOf(next.rank), next.productId] : [merged, 0, null, null]),
      ...[begins, ends, begins, build, side, key],
    );
  // The list is empty, because no product has the key.
  if (merged > 0 || next !== undefined) return;
  const sql = `delete from relation_list where build_id = ? and side = ? and match_key = ?
    and size = 0 and changed = 0`;
  file.prepare(sql).run(build, side, key);
}

/**
 * Looks up products in storage order, because product rows take a quarter of the space of documents. Most
 * documents belong to their present product, so few need the second lookup.
 */
function findGone(file: CatalogFile, lines: readonly Line[]): ReadonlySet<Line> {
  const ordered = lines.toSorted(compareProducts);
  const goneRows = file
    .prepare(
      `select key as at from json_each(?) e
       where not exists (select 1 from product p where p.id = e.value ->> 0 and p.document_id = e.value ->> 1)
         and not exists (select 1 from relation_document d where d.document_id = e.value ->> 1)`,
    )
    .all(`[${ordered.map(({ productId, document }) => `[${productId},${document}]`).join()}]`) as {
    at: number;
  }[];
  return new Set(goneRows.map(({ at: index }) => ordered[index] as Line));
}

type ReadRow = StoredRun & { readonly compared: string };

const HEX_OF = (column: string) => `iif(${column} is null, null, lower(hex(${column})))`;

/** Trailing columns without a value are columns that the rule does not compare. */
function readAlone({ rank, productId, document, group, compared }: ReadRow): Line {
  const values = JSON.parse(compared) as (string | null)[];
  const width = values.findLastIndex((value) => value !== null) + 1;
  const [first = null, ...others] = values.slice(0, width);
  const member = [first, rank, productId, document, group, ...others] satisfies RunMember;
  return { rank, productId, document, text: JSON.stringify(member) };
}

/** @returns the members of a list from the position of its merge, and the row after them */
function readPart(file: CatalogFile, list: DueList, most: number) {
  const sql = `select lower(hex(rank)) as rank, product_id as productId, document_id as document,
      group_identifier as "group", run,
      iif(run is null, json_array(${COMPARED_COLUMNS.map(HEX_OF).join(', ')}), null) as compared
    from relation_member where ${FROM_PLACE} order by rank, product_id, document_id`;
  const partLines: Line[] = [];
  let last: ReadRow | undefined;
  for (const each of file.prepare(sql).iterate(...valuesOf(list))) {
    const row = each as ReadRow;
    const isSamePlace = row.rank === last?.rank && row.productId === last.productId;
    if (partLines.length >= most && !isSamePlace) return { partLines, next: row };
    const lines = row.run === null ? [readAlone(row)] : readRun(file, row.run).split('\n').map(toLine);
    for (const line of lines) partLines.push(line);
    last = row;
  }
  return { partLines, next: undefined };
}
