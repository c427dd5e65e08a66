import type { ListedPart, PlacedRow } from '../../catalog/catalog.ts';
import {
  areCut,
  countRows,
  DOCUMENT,
  fittingRows,
  listedColumns,
  placedColumns,
  planForLexemes,
  planForParts,
  uploadText,
} from '../../catalog/store/store.ts';
import {
  byEngine,
  cell,
  column,
  joined,
  lookupJoin,
  own,
  PROJECT,
  type Program,
  row,
  rows,
  run,
  type Sql,
  sql,
  text,
} from '../../storage/programs/programs.ts';
import type {
  CountedTier,
  FoundRow,
  HitGroup,
  LexemeGroups,
  RequestedHits,
  RequestedUploads,
  SearchState,
  SearchTier,
  SoughtCategories,
  SoughtWords,
  WordPart,
} from '../search-port.ts';
import { markNumbers } from './marked-numbers.ts';

/** Reads of the index: FTS5 in a file, tsvector with GIN in PostgreSQL. */

const NOTHING = text('');

/** The longest prefix of a lexeme in the prefix index of a file. */
const INDEXED = 8;

const IS_MADE = byEngine({
  sqlite: text(`select 1 from sqlite_schema where name = 'search_progress'`),
  postgres: text('select 1'),
});
const PRESENT_VERSION = byEngine({
  sqlite: text(`(select value from meta where name = 'catalog_version')`),
  postgres: sql`(select catalog_version from catalog where ${own()})`,
});
const NEWEST = sql`coalesce((select max(id) from document where ${own()}), 0)`;

/** @returns undefined before the first search of the project */
export function* readSearchState(): Program<SearchState | undefined> {
  if ((yield* row(IS_MADE)) === undefined) return undefined;
  return yield* row`select w.last_document as "lastDocument", w.version, ${NEWEST} as "newestDocument",
    ${PRESENT_VERSION} as "presentVersion", w.documents from search_progress w where ${own('w')} and w.id = 1`;
}

/** A placeholder for the project, which precedes each lexeme in PostgreSQL. */
const OF_PROJECT = '~';

/** The parts of queries of each engine. Lexemes consist of letters and digits. */
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

const inFile = (query: string): Sql => sql`cast(${markNumbers(Buffer.from(query))} as text)`;

/**
 * The rows of the project, with an estimate as high as possible. PostgreSQL has no statistics for the index of the
 * project, and would read all its rows for a few hits. For 300 categories of 30,000 products that took 13 s instead
 * of 0.2. Each repeated value makes the index less attractive: 20 took 1.8 s, and 50 or more took 0.05 s, the same as
 * without the condition. A distributed database needs the condition to find the worker.
 */
const OFTEN_OWN = sql`s.project_id in (${joined(
  Array.from({ length: 100 }, () => sql`${PROJECT}`),
  ', ',
)})`;

/** @returns the rows `s` of the index that a tier finds: `from` for reading, `index` for counting, and `where` */
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
    // In SQLite, this is the key of the rows found. PostgreSQL would read all documents if their key could provide
    // the order, so the 0 hides it.
    order: byEngine({ sqlite: text('l.rowid'), postgres: text('s.document_id + 0') }),
  };
}

/** The product of a row `s`, unless its document has been replaced since, or belongs to an open full update. */
const PRODUCT = lookupJoin('product', 'p', sql`p.id = s.product_id and p.document_id = s.document_id`);
/** The same, including products whose new document is not in the index. */
const productOf = (newer: number | undefined): Sql =>
  newer === undefined
    ? PRODUCT
    : lookupJoin(
        'product',
        'p',
        sql`p.id = s.product_id and (p.document_id = s.document_id or p.document_id > ${newer})`,
      );
/** The largest tail that a search scans itself, in bytes. */
const TAIL_AT_ONCE = { as: 's', bytes: 8 * 1024 * 1024 };
/**
 * Bytes of uploads of hits per read: 1,000 ordinary products. Each searching thread has this much in memory, plus the
 * parsed form. Fronts take little memory, but an engine reads whole uploads to find them.
 */
const HITS_AT_ONCE = { whole: 2 * 1024 * 1024, front: 16 * 1024 * 1024 };

/** @returns the products of a tier that are in the index */
export function* listHits({
  tier,
  after,
  limit,
  newer,
  isWhole,
}: RequestedUploads): Program<ListedPart<FoundRow>> {
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

/** @returns hits without their uploads, in the order of their documents */
export function* listPlaces({ tier, after, limit, newer }: RequestedHits): Program<HitGroup[]> {
  const { from, where, order } = foundBy(tier);
  return yield* rows`select s.document_id as document, s.group_key as "group" from ${from} ${productOf(newer)}
    where ${where} and ${byEngine({ sqlite: order, postgres: text('s.document_id') })} > ${after}
    order by ${order} limit ${limit}`;
}

/** How many words of the index one statement compares; this takes some milliseconds. */
const WORDS_AT_ONCE = 50_000;

/** @returns words of products, of letters only, that match the patterns */
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

/** The most lexemes that replace a prefix in a query. */
const BEGUN = 8;
/** The lexemes of the index as a table. Each connection creates it for itself. */
const VOCABULARY = byEngine({
  sqlite: text(
    'create virtual table if not exists temp.search_begun using fts5vocab(main, search_lexeme, instance)',
  ),
  postgres: NOTHING,
});

/**
 * @returns the first lexeme from a text on; one seek takes 0.1 ms, whereas FTS5 reads all their rows to list distinct
 * lexemes
 */
const firstFrom = (from: string): Sql =>
  text(`(select v.term from search_begun v where v.term >= ${from} limit 1)`);

/**
 * @param beginnings prefixes, which end with `*`
 * @returns all lexemes with a prefix, for prefixes that are longer than those of the prefix index, if they have few
 * lexemes; in 1 µs FTS5 collects 8 rows of a prefix, and reads 80 rows of a lexeme
 */
export function* findBegun(beginnings: readonly string[]): Program<Map<string, string[]>> {
  const begun = new Map<string, string[]>();
  const long = new Set(
    beginnings.flatMap((beginning) => (beginning.length > INDEXED + 1 ? beginning.slice(0, -1) : [])),
  );
  if (long.size === 0) return begun;
  yield* run(VOCABULARY);
  // U+0001 comes before all characters of words, and U+10FFFF after them.
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

/** @returns how many documents a tier finds, including documents without a product */
export function countEntries(tier: SearchTier): Program<number> {
  const { where, index } = foundBy(tier);
  return countRows(sql`${index} where ${where}`);
}

/** @returns how many products a tier finds, up to the limit */
export function countHits({ tier, newer, limit }: CountedTier & { readonly limit: number }) {
  const { from, where } = foundBy(tier);
  return countRows(sql`(select 1 from ${from} ${productOf(newer)} where ${where} limit ${limit}) f`);
}

/** How many entries of one category are read, because many may be dead. */
const READ_OF_CATEGORY = 5_000;

/**
 * @returns the lexemes that a product has; a lexeme with many entries counts even if none of the entries read has a
 * product
 */
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
  // In a file, the newest entries come first, because they are seldom dead.
  const some = byEngine({
    sqlite: sql`(select l.rowid as document_id from search_lexeme l where l.search_lexeme match ${query}
      order by l.rowid desc ${limit}) n cross join search_entry s on s.document_id = n.document_id`,
    postgres: sql`(select s.* from search_entry s where ${OFTEN_OWN} and s.lexemes @@ ${query} ${limit}) s`,
  });
  const living = yield* column<number>`select k.key - ${first} as at from ${each}
    where exists (select 1 from ${some} ${productOf(newer)})
      or (select count(*) from ${some}) = ${READ_OF_CATEGORY}`;
  return living.map((index) => lexemes[index] as string);
}

/** The most documents beyond the index that a search scans itself. */
export const TAIL = 500;

/** @returns products with one of the next few documents after this one; undefined if these are large */
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
