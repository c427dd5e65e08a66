import { randomUUID } from 'node:crypto';
import type { ChangedCatalog } from '../../catalog/store/store.ts';
import { isGuarded } from '../../catalog/updates/updates.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type PayloadFiles, unpackParts } from '../../storage/payloads/payloads.ts';
import {
  byEngine,
  cell,
  insertInto,
  listed,
  lookupJoin,
  own,
  type Program,
  row,
  rows,
  run,
  type Sql,
  sql,
  tabled,
  text,
} from '../../storage/programs/programs.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import {
  type AcceptedLinks,
  identifierOf,
  type LinkLine,
  type LinkOrder,
  type LinkPage,
  LinkReader,
  type LinkResult,
  type ListSize,
  mergeLines,
  type ReadLine,
  type SentLinks,
  type StagedPiece,
  TARGETS_PER_SOURCE,
  toTarget,
  unpackLines,
} from '../links/links.ts';
import { announceRelation, insertStagedList } from './relation-definition-store.ts';

/**
 * Lists of links. A list is a build: it is staged in pieces, and replaces or changes the present list in one
 * transaction.
 */

/** Releases a staged list that was not put in place. The removal of unused builds then removes it. */
export function* freeLinks(build: number): Program<void> {
  yield* run`update relation_build set kind = 'links' where ${own()} and id = ${build} and kind = 'staged'`;
}

/**
 * Releases the lists that earlier tasks and processes staged. That is safe because link tasks of a project
 * run one after another.
 * @returns the new staged list; undefined if the relation does not exist
 */
export function* beginLinks(catalog: ChangedCatalog, relationId: number): Program<number | undefined> {
  yield* run`update relation_build set kind = 'links' where ${own()} and kind = 'staged'`;
  return yield* insertStagedList(catalog, relationId);
}

/**
 * @throws not_ready if the list was released. That happens when two processes run its task for a moment; the
 * remaining process stages anew.
 */
function* requireStaged(build: number): Program<void> {
  const stagedBuild =
    yield* row`select 1 from relation_build where ${own()} and id = ${build} and kind = 'staged'`;
  if (stagedBuild === undefined) throw new ServiceError('not_ready', { retryAfterSeconds: 1 });
}

/**
 * Adds lines to a staged list. Further targets of a known source follow its earlier ones.
 * @returns NDJSON: a report line for each source with too many targets, whose further targets are omitted
 * @throws not_ready if the list was released
 */
export function* stageLinks({ build, list }: StagedPiece): Program<string> {
  yield* requireStaged(build);
  const merged = mergeLines(unpackLines(list));
  const sources = yield* openSources(build, [...merged.keys()]);
  const added: [number, number, string, number | null][] = [];
  const tooMany: string[] = [];
  for (const [source, targets] of merged) {
    const { line, knownTargets } = sources.get(source) as KnownSource;
    const fresh = [...targets].filter(([target]) => !knownTargets.has(target));
    const room = TARGETS_PER_SOURCE - knownTargets.size;
    if (fresh.length > room) tooMany.push(source);
    for (const [index, [target, quantity = null]] of fresh.slice(0, room).entries())
      added.push([line, knownTargets.size + index, target, quantity]);
  }
  const columns = { line: 'bigint', place: 'bigint', target: 'text', quantity: 'bigint' } as const;
  const table = tabled('w', columns, added);
  yield* run`${insertInto('relation_link', 'build_id, line, place, target, quantity')}
    ${build}, w.line, w.place, w.target, w.quantity from ${table} where true`;
  return tooMany.map(reportTooMany).join('');
}

function reportTooMany(identifier: string): string {
  const message = `a source has at most ${TARGETS_PER_SOURCE} targets; further targets are omitted`;
  return `${JSON.stringify({ identifier, code: 'too_many_targets', message })}\n`;
}

interface KnownSource {
  readonly line: number;
  /** The targets that the source already has. */
  readonly knownTargets: ReadonlySet<string>;
}

/** @returns each source with its line; new sources get the next lines */
function* openSources(build: number, names: readonly string[]): Program<Map<string, KnownSource>> {
  const sourceRows = yield* rows<{ source: string; line: number }>`select s.source, s.line
    from ${listed('w', 'text', names)}
    ${lookupJoin('relation_link_source', 's', sql`s.build_id = ${build} and s.source = w.value`)}`;
  const lines = sourceRows.map(({ line }) => line);
  const present = yield* rows<{ line: number; target: string }>`select w.value as line, l.target
    from ${listed('w', 'bigint', lines)} ${linksOf(build, 'w.value')}`;
  const targets = Map.groupBy(present, ({ line }) => line);
  const sources = new Map<string, KnownSource>();
  for (const { source, line } of sourceRows)
    sources.set(source, { line, knownTargets: new Set(targets.get(line)?.map(({ target }) => target)) });
  const last = yield* lastLine(build);
  const fresh = names.filter((name) => !sources.has(name));
  const added = fresh.map((name, index): [number, string] => [last + 1 + index, name]);
  yield* run`${insertInto('relation_link_source', 'build_id, line, source')}
    ${build}, w.line, w.source from ${tabled('w', { line: 'bigint', source: 'text' }, added)} where true`;
  for (const [line, name] of added) sources.set(name, { line, knownTargets: new Set() });
  return sources;
}

function* lastLine(build: number): Program<number> {
  const last = yield* cell<number | null>`select max(line) from relation_link_source
    where ${own()} and build_id = ${build}`;
  return last ?? 0;
}

/**
 * Puts a staged list in place, or applies it to the present list.
 * @throws not_ready if the staged list was released
 */
export function* applyLinks(
  catalog: ChangedCatalog,
  order: LinkOrder,
): Program<{ result: LinkResult; isDone: boolean }> {
  const { relationId, staged, mode } = order;
  const active = yield* cell<number>`select active_build from relation where ${own()} and id = ${relationId}`;
  if (active === undefined) return { result: { kind: 'missing' }, isDone: false };
  yield* requireStaged(staged);
  const lists = { active, staged };
  const before = yield* countList(active);
  const [deleted, named] = [yield* countLost(lists, mode), yield* countList(staged)];
  if (mode === 'replace' && isGuarded(order, before.pairs, deleted))
    return { result: { kind: 'guarded', present: before.pairs, deleted }, isDone: false };
  if (mode === 'replace') yield* putInPlace(relationId, lists);
  else yield* changeList(lists);
  yield* announceRelation(relationId, order.at, { change: 'links', taskNumber: order.taskNumber });
  catalog.affect('answers');
  const after = yield* countList(mode === 'replace' ? staged : active);
  const created = after.pairs - before.pairs + deleted;
  return {
    result: { kind: 'done', ...after, created, deleted, unchanged: named.pairs - created },
    isDone: true,
  };
}

/** The list that answers use, and the staged list of its task. */
interface Lists {
  readonly active: number;
  readonly staged: number;
}

/** @returns the number of sources and pairs in a list */
export function* countList(build: number): Program<ListSize> {
  const size = yield* row<ListSize>`select (select count(*) from relation_link_source where ${own()}
    and build_id = ${build}) as sources,
    (select count(*) from relation_link where ${own()} and build_id = ${build}) as pairs`;
  return size ?? { sources: 0, pairs: 0 };
}

/**
 * @returns how many links of the active list the staged list does not have. A change counts only the sources
 * that it names.
 */
function* countLost({ active, staged }: Lists, mode: LinkOrder['mode']): Program<number> {
  const named = sql`from relation_link_source s
    ${lookupJoin('relation_link_source', 'n', sql`n.build_id = ${staged} and n.source = s.source`)}
    ${linksOf(active, 's.line')}`;
  const isSame = sql`k.build_id = ${staged} and k.target = l.target and k.line = n.line`;
  const same = lookupJoin('relation_link', 'k', isSame);
  const where = sql`where ${own('s')} and s.build_id = ${active}`;
  const count = (select: Sql) => cell<number>`select count(*) ${select} ${where}`;
  const unchanged = (yield* count(sql`${named} ${same}`)) ?? 0;
  if (mode === 'replace') return (yield* countList(active)).pairs - unchanged;
  return ((yield* count(named)) ?? 0) - unchanged;
}

/** Copies the flags of the relation, because they may have changed since the list was staged. */
function* putInPlace(relationId: number, { active, staged }: Lists): Program<void> {
  yield* run`update relation_build set kind = 'links',
      two_way = (select a.two_way from relation_build a where ${own('a')} and a.id = ${active}),
      exclude_same_group = (select a.exclude_same_group from relation_build a where ${own('a')} and a.id = ${active})
    where ${own()} and id = ${staged}`;
  yield* run`update relation set active_build = ${staged}, wanted_build = ${staged} where ${own()}
    and id = ${relationId}`;
  yield* dropEmptySources(staged);
}

/**
 * Gives the sources that the staged list names their new targets. The sources keep their positions, and new
 * ones come last.
 */
function* changeList({ active, staged }: Lists): Program<void> {
  const last = yield* lastLine(active);
  yield* run`delete from relation_link where ${own()} and build_id = ${active} and line in (
    select a.line from relation_link_source s join relation_link_source a
      on ${own('a')} and a.build_id = ${active} and a.source = s.source
    where ${own('s')} and s.build_id = ${staged})`;
  yield* run`${insertInto('relation_link_source', 'build_id, line, source')}
    ${active}, ${last}${BIGINT} + s.line, s.source from relation_link_source s
    where ${own('s')} and s.build_id = ${staged} and not exists (select 1 from relation_link_source a
      where ${own('a')} and a.build_id = ${active} and a.source = s.source)`;
  yield* run`${insertInto('relation_link', 'build_id, line, place, target, quantity')}
    ${active}, a.line, l.place, l.target, l.quantity from relation_link_source s
    join relation_link_source a on ${own('a')} and a.build_id = ${active} and a.source = s.source
    join relation_link l on ${own('l')} and l.build_id = s.build_id and l.line = s.line
    where ${own('s')} and s.build_id = ${staged}`;
  const named = sql`source in (select s.source from relation_link_source s
    where ${own('s')} and s.build_id = ${staged})`;
  yield* dropEmptySources(active, named);
}

/** Without the cast, PostgreSQL would treat a parameter in a sum as text. */
const BIGINT = byEngine({ sqlite: text(''), postgres: text('::bigint') });

const dropEmptySources = (build: number, which: Sql = sql`true`) =>
  run`delete from relation_link_source where ${own()} and build_id = ${build} and ${which} and (select 1
    from relation_link l
    where ${own('l')} and l.build_id = ${build} and l.line = relation_link_source.line limit 1) is null`;

/** @returns lines of the active list in order; undefined if the relation has no list */
export function* readLinks(page: LinkPage): Program<readonly ReadLine[] | undefined> {
  const { relationId, source, after, limit } = page;
  const list = yield* findList(relationId);
  if (list === undefined) return undefined;
  const named = source === undefined ? sql`true` : sql`s.source = ${source}`;
  const linkRows = yield* rows<{
    line: number;
    source: string;
    target: string;
    quantity: number | null;
  }>`select s.line, s.source, l.target, l.quantity from (
      select s.line, s.source from relation_link_source s
      where ${own('s')} and s.build_id = ${list} and s.line > ${after} and ${named} order by s.line limit ${limit}) s
    ${linksOf(list, 's.line')} order by s.line, l.place`;
  const lines = Map.groupBy(linkRows, ({ line }) => line);
  return [...lines].map(([line, linksOfLine]) => ({
    line,
    source: linksOfLine[0]?.source as string,
    targets: linksOfLine.map(({ target, quantity }) => toTarget(target, quantity)),
  }));
}

/** Joins the links of a line row by row, see `lookupJoin`. */
const linksOf = (build: number, line: string): Sql =>
  byEngine({
    sqlite: sql`cross join relation_link l on l.build_id = ${build} and l.line = ${text(line)}`,
    postgres: sql`cross join lateral (select * from relation_link l
      where ${own('l')} and l.build_id = ${build} and l.line = ${text(line)} order by l.place offset 0) l`,
  });

const findList = (relationId: number) =>
  cell<number>`select b.id from relation r join relation_build b on ${own('b')} and b.id = r.active_build
    where ${own('r')} and r.id = ${relationId} and b.kind = 'links'`;

/** @returns the links of these lines that the present list already has, as distinct numbers */
function* findUnchanged(relationId: number, lines: readonly LinkLine[]): Program<number[]> {
  const list = yield* findList(relationId);
  if (list === undefined) return [];
  const pairs = lines.flatMap(({ source, targets }) =>
    targets.map((target): [string, string] => [source, identifierOf(target)]),
  );
  const linkRows = yield* rows<{ line: number; place: number }>`select k.line, k.place
    from ${tabled('w', { source: 'text', target: 'text' }, pairs)}
    ${lookupJoin('relation_link_source', 's', sql`s.build_id = ${list} and s.source = w.source`)}
    ${lookupJoin('relation_link', 'k', sql`k.build_id = ${list} and k.target = w.target and k.line = s.line`)}`;
  return linkRows.map(({ line, place: position }) => line * TARGETS_PER_SOURCE + position);
}

/** @returns the number of links in the present list */
function* countLinks(relationId: number): Program<number> {
  const list = yield* findList(relationId);
  return list === undefined ? 0 : (yield* countList(list)).pairs;
}

/**
 * Reads lists of links in the form in which they arrive, and stores them in pieces. A task stages the pieces
 * one after another.
 */

interface LinkReaderParts {
  readonly payloads: PayloadFiles;
  read<Result>(projectId: number, program: Program<Result>, budget: Budget): Promise<Result>;
}

/** How many links a piece has. A piece is stored and staged as a whole. */
const PIECE_LINKS = 10_000;

/** Stores nothing if it throws. @throws request_invalid, body_too_large, body_not_unpacked, storage_full */
export async function acceptLinks(
  { payloads, read }: LinkReaderParts,
  { projectId, relationId, bytes, encoding, maxMib, isCounted }: SentLinks & { projectId: number },
  budget: Budget,
): Promise<AcceptedLinks> {
  const name = `links-${randomUUID()}`;
  const payloadNames: string[] = [];
  const unchanged = new DistinctNumbers();
  let piece: LinkLine[] = [];
  let size = 0;
  const reader = new LinkReader((line) => {
    piece.push(line);
    size += 1 + line.targets.length;
  });

  async function store(): Promise<void> {
    if (piece.length === 0) return;
    const lines = piece;
    [piece, size] = [[], 0];
    const next = `${name}-${payloadNames.length}`;
    // The name is noted before the file exists, so that a partly written file is removed too.
    payloadNames.push(next);
    await payloads.write(projectId, next, Buffer.from(JSON.stringify(lines)));
    if (isCounted) unchanged.add(await read(projectId, findUnchanged(relationId, lines), budget));
  }

  try {
    for await (const chunk of unpackParts(cut(bytes), encoding, maxMib)) {
      budget.charge();
      reader.add(chunk);
      if (size >= PIECE_LINKS) await store();
    }
    reader.end();
    await store();
    const present = isCounted ? await read(projectId, countLinks(relationId), budget) : 0;
    return { payloadNames, present, unchanged: unchanged.count() };
  } catch (error) {
    // An error of the removal must not replace the refusal. Remaining payloads are removed at a later start.
    for (const payloadName of payloadNames) await payloads.remove(projectId, payloadName).catch(() => {});
    throw error;
  }
}

/** How many bytes of a body are read at a time. */
const CHUNK_BYTES = 256 * 1024;

function* cut(bytes: Uint8Array): Generator<Uint8Array> {
  // Copies shared memory, because decoders do not accept it.
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES)
    yield bytes.slice(start, start + CHUNK_BYTES);
}

/** A set of numbers of eight bytes each. A number may be added repeatedly. */
class DistinctNumbers {
  private numbers = new Float64Array(1_024);
  private length = 0;

  add(added: readonly number[]): void {
    if (this.length + added.length > this.numbers.length) {
      const larger = new Float64Array((this.length + added.length) * 2);
      larger.set(this.numbers.subarray(0, this.length));
      this.numbers = larger;
    }
    this.numbers.set(added, this.length);
    this.length += added.length;
  }

  count(): number {
    const sorted = this.numbers.subarray(0, this.length).sort();
    return sorted.reduce(
      (count, number, index) => (index > 0 && number === sorted[index - 1] ? count : count + 1),
      0,
    );
  }
}
