import type { UploadedProduct } from '../../catalog/products/products.ts';
import {
  areCut,
  type CatalogState,
  fittingRows,
  planForParts,
  uploadText,
} from '../../catalog/store/store.ts';
import {
  among,
  byEngine,
  column,
  insertInto,
  insertRow,
  insertRows,
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
} from '../../storage/programs/programs.ts';
import type { IndexedDocument, PreparedWalk, SearchStep } from '../search-port.ts';
import { keyOfGroup, LexemeWriter } from '../words/words.ts';
import { markNumbers } from './marked-numbers.ts';

/** Adds documents to the index of search, step by step, and removes the entries of removed documents. */

/** The progress of building and tidying the index: a row of `search_progress`. */
interface SearchWalk {
  readonly lastDocument: number;
  readonly version: number;
  readonly documents: number;
  /** The documents added since the last tidying. */
  readonly untidied: number;
  /** The last entry that tidying has checked; 0: tidying is not in progress. */
  readonly tidiedUpTo: number;
}

const NEW_WALK: SearchWalk = { lastDocument: 0, version: 0, documents: 0, untidied: 0, tidiedUpTo: 0 };
/** Documents per step. A step takes about 200 ms, and an update of the project waits for it. */
const SEARCH_STEP = 2_000;
/**
 * Entries per step of tidying. After it, FTS5 merges as many pages for each level of its parts, which takes up to 0.7
 * s with 200,000 entries.
 */
const TIDY_STEP = 500;

/** The input of a step. */
export interface WalkedIndex {
  /** The prepared documents; undefined: the step prepares them itself. */
  readonly prepared?: PreparedWalk | undefined;
}

/** Dead entries slow searches a little, and tidying reads the whole index, so it waits until there are many. */
const needsTidying = ({ untidied, documents, tidiedUpTo }: SearchWalk): boolean =>
  tidiedUpTo > 0 || untidied > documents / 4 + 10_000;

/** PostgreSQL has one table for everything, which a migration created. */
const NOTHING = text('');

/**
 * Creates the tables of a file at the first search, so that a catalog without searches has none. Lexemes have no
 * positions, because no query needs them. The prefix index makes `b*` as fast as a word, up to its longest prefix.
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

/**
 * Settings of FTS5. `hashsize`, in bytes, lets it write a step as one part. It merges eight parts at a time, or as
 * soon as 30 % of the entries are dead (0023 has the figures).
 */
const SETTINGS = byEngine({
  sqlite: text(
    `insert into search_lexeme (search_lexeme, rank) values ('hashsize', 33554432), ('automerge', 8), ('deletemerge', 30)`,
  ),
  postgres: NOTHING,
});

/** Bytes of uploads read per step of updating the index. In PostgreSQL, a step occupies a process of the database. */
const READ_AT_ONCE = byEngine({ sqlite: sql`${2 * 1024 * 1024}`, postgres: sql`${1024 * 1024}` });

/**
 * Reads documents after a given one, with their lexemes. This part of a step needs no lock, so it runs outside the
 * writing thread.
 */
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
  const placed = documents.map(({ id, product, raw }): IndexedDocument => {
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

/** Adds the next documents to the index of search, or removes a part of its dead entries. */
export function* walkSearch(state: CatalogState, { prepared }: WalkedIndex): Program<SearchStep> {
  for (const table of TABLES) yield* run(table);
  const walk = (yield* readWalk()) ?? NEW_WALK;
  if (walk === NEW_WALK) yield* run(SETTINGS);
  const isPrepared = prepared?.after === walk.lastDocument;
  const step = isPrepared ? prepared : yield* prepareWalk(walk.lastDocument);
  const { last, isLast } = step;
  const documents = JSON.parse(step.placed) as IndexedDocument[];
  if (documents.length > 0) yield* placeDocuments(documents, step);
  // More documents may have been added since the step was prepared.
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

function* placeDocuments(placed: readonly IndexedDocument[], { lexemes, words }: PreparedWalk) {
  const bytes = Buffer.from(lexemes, 'latin1');
  yield* run(
    byEngine({
      sqlite: () => placeInFile(placed, bytes),
      postgres: () => placeInTable(placed, bytes.toString().split('\n')),
    }),
  );
  yield* run(byEngine({ sqlite: insertRows('search_entry', KEYS, placed), postgres: NOTHING }));
  const wordRows = listed('w', 'text', words);
  yield* run`${insertInto('search_word', 'word')} w.value from ${wordRows} where true
    on conflict ${ownKey('word')} do nothing`;
}

function placeInTable(placed: readonly IndexedDocument[], lines: readonly string[]): Sql {
  const cells = placed.map((keys, index) => [...keys, lines[index]?.trimStart() ?? '']);
  const from = tabled('n', { ...KEYS, lexemes: 'text' }, cells);
  return sql`${insertInto('search_entry', 'document_id, product_id, group_key, lexemes')}
    n.document_id, n.product_id, n.group_key, array_to_tsvector((select array_agg(${PROJECT}::bigint::text || '.' || w)
      from unnest(string_to_array(n.lexemes, ' ')) w)) from ${from}`;
}

/**
 * Bits for the length of a line, which is stored after its position. One number for both takes SQLite a third of the
 * time of a row.
 */
const LENGTH_BITS = 26;

/** Writes the lexemes of documents. The statement cuts each line from one text, by its position. */
function placeInFile(placed: readonly IndexedDocument[], lines: Buffer): Sql {
  markNumbers(lines);
  const spans: Record<number, number> = {};
  let start = 0;
  for (const [document] of placed) {
    const end = lines.indexOf('\n', start);
    spans[document] = start * 2 ** LENGTH_BITS + end - start;
    start = end + 1;
  }
  const [from, length] = [text(`(value >> ${LENGTH_BITS}) + 1`), text(`value & ${2 ** LENGTH_BITS - 1}`)];
  return sql`insert into search_lexeme (rowid, lexemes)
    select cast(key as integer), cast(substr(${lines}, ${from}, ${length}) as text) from json_each(${JSON.stringify(spans)})`;
}

/**
 * Of neighbouring dead entries, every sixteenth remains until the next tidying, because FTS5 reads past all removed
 * neighbours for each living entry (0023).
 */
const STAYING = 16;

/**
 * Removes entries of removed documents. Documents in the undo log remain, because a restore may use them. It writes
 * the settings again for indexes of earlier versions.
 */
function* tidy(walk: SearchWalk): Program<SearchWalk> {
  if (walk.tidiedUpTo === 0) yield* run(SETTINGS);
  const ids = yield* column<number>`select s.document_id as id from search_entry s where ${own('s')}
    and s.document_id > ${walk.tidiedUpTo} order by s.document_id limit ${TIDY_STEP}`;
  const dead = yield* column<number>`select k.value as id from ${listed('k', 'bigint', ids)}
    where (select d.id from document d where ${own('d')} and d.id = k.value) is null`;
  const removed = dead.filter((id, index) => id % STAYING !== 0 || dead[index - 1] !== id - 1);
  const these = among(removed);
  yield* run(byEngine({ sqlite: sql`delete from search_lexeme where rowid ${these}`, postgres: NOTHING }));
  yield* run`delete from search_entry where ${own()} and document_id ${these}`;
  const documents = walk.documents - removed.length;
  if (ids.length < TIDY_STEP) return { ...walk, documents, untidied: 0, tidiedUpTo: 0 };
  return { ...walk, documents, tidiedUpTo: ids.at(-1) ?? 0 };
}
