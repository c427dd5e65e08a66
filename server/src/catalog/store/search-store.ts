import {
  among,
  byEngine,
  cell,
  column,
  insertInto,
  insertRow,
  insertRows,
  joined,
  listed,
  lookupJoin,
  own,
  ownKey,
  PROJECT,
  type Program,
  row,
  rows,
  run,
  type Sql,
  sql,
  tabled,
  text,
} from '../../storage/storage.ts';
import type {
  CountedTier,
  FoundRow,
  HitGroup,
  LexemeGroups,
  PlacedDocument,
  PlacedRow,
  PreparedWalk,
  RequestedHits,
  RequestedUploads,
  SearchState,
  SearchStep,
  SearchTier,
  SoughtCategories,
  SoughtWords,
  WordPart,
} from '../port.ts';
import type { UploadedProduct } from '../products/products.ts';
import {
  keyOfGroup,
  LexemeWriter,
  NEW_WALK,
  needsTidying,
  SEARCH_STEP,
  type SearchWalk,
  TAIL,
  TIDY_STEP,
} from '../search/search.ts';
import {
  areCut,
  countRows,
  DOCUMENT,
  fittingRows,
  listedColumns,
  UPLOAD_BYTES,
  uploadText,
} from './product-list-store.ts';
import { type CatalogState, planForLexemes, planForParts } from './state-store.ts';

/** The index of search: FTS5 in a file, tsvector with GIN in PostgreSQL. */

/** PostgreSQL has everything in one table, created by a migration. */
const NOTHING = text('');

/**
 * A file gets its tables at the first search, so that a catalog without searches has none. Lexemes without positions,
 * which no query needs; the prefix index makes `b*` as fast as a word, up to the longest, INDEXED.
 */
const TABLES = [
  `create virtual table if not exists search_lexeme using fts5(lexemes, content='', contentless_delete=1, detail=none,
    tokenize='ascii', prefix='2 3 4 5 6 7 8')`,
  `create table if not exists search_entry (document_id integer primary key, product_id integer not null,
    group_key integer not null)`,
  `create table if not exists search_word (word text primary key) without rowid`,
  `create table if not exists search_progress (id integer primary key, last_document integer not null,
    version integer not null, documents integer not null, untidied integer not null, tidied_up_to integer not null)`,
].map((table) => byEngine({ sqlite: text(table), postgres: NOTHING }));
const INDEXED = 8;

/** In bytes: a step is written at once, not in parts that are then merged, eight at a time, or as soon as 30 % are dead (0023 has the figures). */
const SETTINGS = byEngine({
  sqlite: text(
    `insert into search_lexeme (search_lexeme, rank) values ('hashsize', 33554432), ('automerge', 8), ('deletemerge', 30)`,
  ),
  postgres: NOTHING,
});

const IS_MADE = byEngine({
  sqlite: text(`select 1 from sqlite_schema where name = 'search_progress'`),
  postgres: text('select 1'),
});
const PRESENT_VERSION = byEngine({
  sqlite: text(`(select value from meta where name = 'catalog_version')`),
  postgres: sql`(select catalog_version from catalog where ${own()})`,
});
const NEWEST = sql`coalesce((select max(id) from document where ${own()}), 0)`;

export function* readSearchState(): Program<SearchState | undefined> {
  if ((yield* row(IS_MADE)) === undefined) return undefined;
  return yield* row`select w.last_document as "lastDocument", w.version, ${NEWEST} as "newestDocument",
    ${PRESENT_VERSION} as "presentVersion", w.documents from search_progress w where ${own('w')} and w.id = 1`;
}

/** In PostgreSQL each lexeme follows the project, for which this is a placeholder. */
const OF_PROJECT = '~';

/** How the engines write queries of lexemes, which consist of letters and digits. */
const QUERIES = {
  sqlite: { or: ' OR ', and: ' AND ', not: ' NOT ', open: '"', close: '"', begins: ' *' },
  postgres: { or: ' | ', and: ' & ', not: ' & !', open: `'${OF_PROJECT}`, close: "'", begins: ':*' },
} as const;

function writeTier({ all, except, begun }: SearchTier, engine: keyof typeof QUERIES): string {
  const { or, and, not, open, close, begins } = QUERIES[engine];
  const quote = (lexeme: string) =>
    lexeme.endsWith('*') ? open + lexeme.slice(0, -1) + close + begins : open + lexeme + close;
  const writeAny = (group: readonly string[]) =>
    group.flatMap((lexeme) => (begun?.get(lexeme) ?? [lexeme]).map(quote)).join(or);
  const write = (groups: LexemeGroups) => `(${groups.map((group) => `(${writeAny(group)})`).join(and)})`;
  return except.reduce((query, groups) => `(${query}${not}${write(groups)})`, write(all));
}

/**
 * In a file the three characters of a number are encoded as one token character of FTS5, a byte from 0xC0 on followed by bytes
 * from 0x80 to 0xBF: it indexes no prefixes of a single character, which were a third of the index and of the time to make it.
 * @param bytes of lexemes, each after a space, a line end or a quote; modified in place
 */
function markNumbers(bytes: Buffer): Buffer {
  let isNumber = false;
  for (let at = 0, before = SPACE; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (before <= QUOTE) isNumber = byte >= FIRST_OF_FOUR;
    else if (isNumber && byte >= FIRST_OF_FOUR) bytes[at] = 0x80 | (byte & 7);
    before = byte;
  }
  return bytes;
}

const SPACE = 0x20;
const QUOTE = 0x22;
/** The first of the four bytes of a character beyond U+FFFF. */
const FIRST_OF_FOUR = 0xf0;

const inFile = (query: string): Sql => sql`cast(${markNumbers(Buffer.from(query))} as text)`;

/**
 * The project's own rows, estimated as high as possible: with the index of the project, for which it has no
 * statistics, PostgreSQL would read all its rows for a few hits. For 300 categories of 30,000 products that
 * took 13 s instead of 0.2; each additional value makes a list less attractive: with 20 it took 1.8 s, from
 * 50 on 0.05 s, as without the condition, by which a distributed database finds the worker.
 */
const OFTEN_OWN = sql`s.project_id in (${joined(
  Array.from({ length: 100 }, () => sql`${PROJECT}`),
  ', ',
)})`;

/** @returns the rows `s` of the index that a tier finds, as `from`, or `index` for counting, and `where` */
function foundBy(tier: SearchTier) {
  const documents = text('search_entry s');
  if (tier.all.length === 0)
    return { from: documents, index: documents, where: own('s'), order: text('s.document_id') };
  const query = sql`replace(${writeTier(tier, 'postgres')}, ${OF_PROJECT}, ${PROJECT}::bigint::text || '.')::tsquery`;
  return {
    from: byEngine({
      sqlite: text('search_lexeme l cross join search_entry s on s.document_id = l.rowid'),
      postgres: documents,
    }),
    index: byEngine({ sqlite: text('search_lexeme l'), postgres: documents }),
    where: byEngine({
      sqlite: () => sql`l.search_lexeme match ${inFile(writeTier(tier, 'sqlite'))}`,
      postgres: sql`${OFTEN_OWN} and s.lexemes @@ ${query}`,
    }),
    // In SQLite the key of what is found; PostgreSQL would walk all documents if their key could provide the order.
    order: byEngine({ sqlite: text('l.rowid'), postgres: text('s.document_id + 0') }),
  };
}

/** The product of a row `s`, unless the document has been replaced since, or belongs to an open full update. */
const PRODUCT = lookupJoin('product', 'p', sql`p.id = s.product_id and p.document_id = s.document_id`);
/** The same, including those replaced by a document that is not in the index. */
const productOf = (newer: number | undefined): Sql =>
  newer === undefined
    ? PRODUCT
    : lookupJoin(
        'product',
        'p',
        sql`p.id = s.product_id and (p.document_id = s.document_id or p.document_id > ${newer})`,
      );
const placedColumns = (isWhole: boolean): Sql =>
  sql`p.document_id as document, ${listedColumns(uploadText(isWhole))}`;

/** Bytes of uploads read per step of updating the index; in PostgreSQL a process of the database is busy for as long as a step takes. */
const READ_AT_ONCE = byEngine({ sqlite: sql`${2 * 1024 * 1024}`, postgres: sql`${1024 * 1024}` });
/** Bytes of those that a search scans itself. */
const TAIL_AT_ONCE = { as: 's', bytes: 8 * 1024 * 1024 };
/**
 * Bytes of uploads of hits: 1,000 ordinary products. Each searching thread holds this much, plus the parsed
 * form. Of fronts it holds little, but an engine reads whole uploads to find them.
 */
const HITS_AT_ONCE = { whole: 2 * 1024 * 1024, front: 16 * 1024 * 1024 };

export function* listHits({ tier, after, limit, newer, isWhole }: RequestedUploads) {
  const { from, where, order } = foundBy(tier);
  const behind = byEngine({ sqlite: sql`${order} > ${after}`, postgres: sql`s.document_id > ${after}` });
  const page = sql`(select s.document_id as place, p.* from ${from} ${productOf(newer)} where ${where} and ${behind}
    order by ${order} limit ${limit}) p`;
  const columns = text('p.place, p.id, p.identifier, p.updated_at, p.document_id');
  const bytes = HITS_AT_ONCE[isWhole ? 'whole' : 'front'];
  const fitting = fittingRows(columns, sql`${page} ${DOCUMENT}`, {
    as: 'p',
    bytes,
    order: text('place'),
  });
  const found = yield* rows<FoundRow & { found: number }>`select p.place as document,
    p.document_id as present, p.found, ${listedColumns(uploadText(isWhole))}
    from ${fitting} ${DOCUMENT} order by p.place`;
  return { rows: found, isCut: areCut(found) };
}

export function* listPlaces({ tier, after, limit, newer }: RequestedHits): Program<HitGroup[]> {
  const { from, where, order } = foundBy(tier);
  return yield* rows`select s.document_id as document, s.group_key as "group" from ${from} ${productOf(newer)}
    where ${where} and ${byEngine({ sqlite: order, postgres: text('s.document_id') })} > ${after}
    order by ${order} limit ${limit}`;
}

/** Words of the index that one statement compares, in some milliseconds. */
const WORDS_AT_ONCE = 50_000;

export function* listWords(sought: SoughtWords): Program<WordPart> {
  const { first, after, shortest, longest, patterns } = sought;
  const range = sql`${own('w')} and w.word > ${after} and w.word < ${`${first}\u{10ffff}`}`;
  const last = yield* cell<string>`select w.word from search_word w where ${range}
    order by w.word limit 1 offset ${text(String(WORDS_AT_ONCE - 1))}`;
  const upTo = last === undefined ? text('') : sql`and w.word <= ${last}`;
  const isLike = joined(
    patterns.map((pattern) => sql`w.word like ${pattern}`),
    ' or ',
  );
  const words = yield* column<string>`select w.word from search_word w where ${range} ${upTo}
    and length(w.word) between ${shortest} and ${longest} and (${isLike})`;
  return { words, last };
}

/** The most lexemes asked for in place of a beginning. */
const BEGUN = 8;
/** The lexemes of the index as a table, which each connection makes for itself. */
const VOCABULARY = byEngine({
  sqlite: text(
    'create virtual table if not exists temp.search_begun using fts5vocab(main, search_lexeme, instance)',
  ),
  postgres: NOTHING,
});

/** @returns the first lexeme from a text on; one seek of 0.1 ms, while to list distinct ones FTS5 reads all their rows */
const firstFrom = (from: string): Sql =>
  text(`(select v.term from search_begun v where v.term >= ${from} limit 1)`);

/**
 * @returns what begins with each of these, if it is more than the prefix index has and there are few such lexemes: in 1 µs FTS5
 * collects 8 rows of a beginning, and reads 80 of a lexeme
 */
export function* findBegun(beginnings: readonly string[]): Program<Map<string, string[]>> {
  const begun = new Map<string, string[]>();
  const long = new Set(beginnings.flatMap((one) => (one.length > INDEXED + 1 ? one.slice(0, -1) : [])));
  if (long.size === 0) return begun;
  yield* run(VOCABULARY);
  // U+0001 comes before all signs of words, and U+10FFFF after them.
  const listed = byEngine({
    sqlite: sql`with recursive f (beginning, term, place) as (
        select k.value, ${firstFrom('k.value')}, 0 from json_each(${JSON.stringify([...long])}) k
        union all select f.beginning, ${firstFrom('f.term || char(1)')}, f.place + 1 from f
          where f.term < f.beginning || char(1114111) and f.place < ${BEGUN})
      select f.beginning, f.term from f where f.term < f.beginning || char(1114111)`,
    postgres: NOTHING,
  });
  for (const { beginning, term } of yield* rows<Record<'beginning' | 'term', string>>(listed))
    begun.getOrInsert(`${beginning}*`, []).push(term);
  for (const [beginning, terms] of begun) if (terms.length > BEGUN) begun.delete(beginning);
  return begun;
}

export function countEntries(tier: SearchTier): Program<number> {
  const { where, index } = foundBy(tier);
  return countRows(sql`${index} where ${where}`);
}

export function countHits({ tier, newer, limit }: CountedTier & { readonly limit: number }) {
  const { from, where } = foundBy(tier);
  return countRows(sql`(select 1 from ${from} ${productOf(newer)} where ${where} limit ${limit}) f`);
}

/** How many entries of one category are read: many may be dead. */
const READ_OF_CATEGORY = 5_000;

export function* findLiving({ lexemes, newer }: SoughtCategories): Program<string[]> {
  yield* planForLexemes();
  const query = byEngine({
    sqlite: text(`'"' || k.value || '"'`),
    postgres: sql`quote_literal(${PROJECT}::bigint::text || '.' || k.value)::tsquery`,
  });
  const each = byEngine({
    sqlite: () => sql`json_each(${inFile(JSON.stringify(lexemes))}) k`,
    postgres: sql`unnest(${lexemes}::text[]) with ordinality k (value, key)`,
  });
  const first = byEngine({ sqlite: text('0'), postgres: text('1') });
  const limit = text(`limit ${READ_OF_CATEGORY}`);
  // In a file the newest first, which are seldom dead.
  const some = byEngine({
    sqlite: sql`(select l.rowid as document_id from search_lexeme l where l.search_lexeme match ${query}
      order by l.rowid desc ${limit}) n cross join search_entry s on s.document_id = n.document_id`,
    postgres: sql`(select s.* from search_entry s where ${OFTEN_OWN} and s.lexemes @@ ${query} ${limit}) s`,
  });
  const living = yield* column<number>`select k.key - ${first} as at from ${each}
    where exists (select 1 from ${some} ${productOf(newer)})
      or (select count(*) from ${some}) = ${READ_OF_CATEGORY}`;
  return living.map((at) => lexemes[at] as string);
}

export function* listTail(after: number): Program<PlacedRow[] | undefined> {
  yield* planForParts();
  const tail = sql`document d where ${own('d')} and d.id > ${after} order by d.id limit ${TAIL}`;
  const columns = text('d.id as document_id, d.product_id');
  const fitting = fittingRows(columns, tail, { ...TAIL_AT_ONCE, order: text('document_id') });
  const size = yield* row<{ found: number; fits: number }>`select count(*) as fits, max(s.found) as found
    from ${fitting}`;
  if (size !== undefined && size.fits < (size.found ?? 0)) return undefined;
  return yield* rows`select ${placedColumns(true)} from ${fitting} ${PRODUCT} ${DOCUMENT}
    order by p.document_id`;
}

const givenDocuments = (documents: readonly number[]): Sql =>
  sql`${listed('k', 'bigint', documents)} ${lookupJoin('document', 'd', sql`d.id = k.value`)}`;

const placeDocumentsOf =
  (isWhole: boolean) =>
  (documents: readonly number[]): Program<PlacedRow[]> =>
    rows`select ${placedColumns(isWhole)} from ${givenDocuments(documents)}
      ${lookupJoin('product', 'p', sql`p.id = d.product_id and p.document_id = d.id`)}`;

export const listDocuments = placeDocumentsOf(true);
export const listFronts = placeDocumentsOf(false);

export function* weighDocuments(documents: readonly number[]): Program<number> {
  return Number(
    yield* cell`select coalesce(sum(${UPLOAD_BYTES}), 0) as bytes from ${givenDocuments(documents)}`,
  );
}

/** Documents after a given one, with their lexemes: the part of a step that needs no lock. */
export function* prepareWalk(after: number): Program<PreparedWalk> {
  yield* planForParts();
  const following = sql`document d where ${own('d')} and d.id > ${after} order by d.id limit ${SEARCH_STEP}`;
  const fitting = fittingRows(text('d.id, d.product_id'), following, {
    as: 'p',
    bytes: READ_AT_ONCE,
    order: text('id'),
  });
  const documents = yield* rows<{ id: number; product: number; raw: string; found: number }>`select p.id,
    p.product_id as product, p.found, ${uploadText(true)} as raw
    from ${fitting} ${lookupJoin('document', 'd', sql`d.id = p.id`)} order by p.id`;
  const writer = new LexemeWriter();
  const placed = documents.map(({ id, product, raw }): PlacedDocument => {
    const upload = JSON.parse(raw) as UploadedProduct;
    writer.add(upload);
    return [id, product, keyOfGroup(upload.groupIdentifier)];
  });
  return {
    after,
    last: documents.at(-1)?.id ?? after,
    placed: JSON.stringify(placed),
    lexemes: writer.finish().toString('latin1'),
    isLast: !areCut(documents) && documents.length < SEARCH_STEP,
    words: writer.forgivable,
  };
}

export function* walkSearch(
  state: CatalogState,
  { prepared }: { readonly prepared?: PreparedWalk | undefined },
): Program<SearchStep> {
  for (const table of TABLES) yield* run(table);
  const walk = (yield* readWalk()) ?? NEW_WALK;
  if (walk === NEW_WALK) yield* run(SETTINGS);
  const isPrepared = prepared?.after === walk.lastDocument;
  const step = isPrepared ? prepared : yield* prepareWalk(walk.lastDocument);
  const { last, isLast } = step;
  const documents = JSON.parse(step.placed) as PlacedDocument[];
  if (documents.length > 0) yield* placeDocuments(documents, step);
  // Others may have been added since it was prepared.
  const isComplete = isLast && !isPrepared;
  const walked = {
    ...walk,
    lastDocument: last,
    version: isComplete ? state.catalogVersion : walk.version,
    documents: walk.documents + documents.length,
    untidied: walk.untidied + documents.length,
  };
  const isTidy = !needsTidying(walked);
  yield* saveWalk(isComplete && !isTidy ? yield* tidy(walked) : walked);
  return { lastDocument: last, isComplete, isTidy };
}

const readWalk = (): Program<SearchWalk | undefined> =>
  row`select w.last_document as "lastDocument", w.version, w.documents, w.untidied,
    w.tidied_up_to as "tidiedUpTo" from search_progress w where ${own('w')} and w.id = 1`;

const saveWalk = (walk: SearchWalk): Program<number> =>
  run`${insertRow('search_progress', { id: 1, ...walk })} on conflict ${ownKey('id')} do update
    set last_document = excluded.last_document, version = excluded.version, documents = excluded.documents,
    untidied = excluded.untidied, tidied_up_to = excluded.tidied_up_to`;

const KEYS = { document_id: 'bigint', product_id: 'bigint', group_key: 'bigint' } as const;

function* placeDocuments(placed: readonly PlacedDocument[], { lexemes, words }: PreparedWalk) {
  const bytes = Buffer.from(lexemes, 'latin1');
  yield* run(
    byEngine({
      sqlite: () => placeInFile(placed, bytes),
      postgres: () => placeInTable(placed, bytes.toString().split('\n')),
    }),
  );
  yield* run(byEngine({ sqlite: insertRows('search_entry', KEYS, placed), postgres: NOTHING }));
  const known = listed('w', 'text', words);
  yield* run`${insertInto('search_word', 'word')} w.value from ${known} where true
    on conflict ${ownKey('word')} do nothing`;
}

function placeInTable(placed: readonly PlacedDocument[], lines: readonly string[]): Sql {
  const cells = placed.map((keys, at) => [...keys, lines[at]?.trimStart() ?? '']);
  const from = tabled('n', { ...KEYS, lexemes: 'text' }, cells);
  return sql`${insertInto('search_entry', 'document_id, product_id, group_key, lexemes')}
    n.document_id, n.product_id, n.group_key, array_to_tsvector((select array_agg(${PROJECT}::bigint::text || '.' || w)
      from unnest(string_to_array(n.lexemes, ' ')) w)) from ${from}`;
}

/** Bits for the length of a line, stored after its position: one number for both takes SQLite a third of the time of a row. */
const LENGTH_BITS = 26;

/** The lines are cut from one text, by the position of each document's. */
function placeInFile(placed: readonly PlacedDocument[], lines: Buffer): Sql {
  markNumbers(lines);
  const places: Record<number, number> = {};
  let start = 0;
  for (const [document] of placed) {
    const end = lines.indexOf('\n', start);
    places[document] = start * 2 ** LENGTH_BITS + end - start;
    start = end + 1;
  }
  const [from, length] = [text(`(value >> ${LENGTH_BITS}) + 1`), text(`value & ${2 ** LENGTH_BITS - 1}`)];
  return sql`insert into search_lexeme (rowid, lexemes)
    select cast(key as integer), cast(substr(${lines}, ${from}, ${length}) as text) from json_each(${JSON.stringify(places)})`;
}

/** Each of these stays while the one before it goes, until the next tidying: FTS5 looks past all removed neighbours for each living entry (0023). */
const STAYING = 16;

/** Removes entries of removed documents; those in the undo log may come back. Its settings are for indexes of earlier versions. */
function* tidy(walk: SearchWalk): Program<SearchWalk> {
  if (walk.tidiedUpTo === 0) yield* run(SETTINGS);
  const ids = yield* column<number>`select s.document_id as id from search_entry s where ${own('s')}
    and s.document_id > ${walk.tidiedUpTo} order by s.document_id limit ${TIDY_STEP}`;
  const gone = yield* column<number>`select k.value as id from ${listed('k', 'bigint', ids)}
    where (select d.id from document d where ${own('d')} and d.id = k.value) is null`;
  const removed = gone.filter((id, at) => id % STAYING !== 0 || gone[at - 1] !== id - 1);
  const these = among(removed);
  yield* run(byEngine({ sqlite: sql`delete from search_lexeme where rowid ${these}`, postgres: NOTHING }));
  yield* run`delete from search_entry where ${own()} and document_id ${these}`;
  const documents = walk.documents - removed.length;
  if (ids.length < TIDY_STEP) return { ...walk, documents, untidied: 0, tidiedUpTo: 0 };
  return { ...walk, documents, tidiedUpTo: ids.at(-1) ?? 0 };
}
