import { insertEvents, listSubscribed } from '../../events/events.ts';
import {
  among,
  ask,
  byEngine,
  cell,
  column,
  listed,
  lookupJoin,
  own,
  type Program,
  pairs,
  row,
  rows,
  run,
  type Sql,
  sql,
  tabled,
  text,
} from '../../storage/programs/programs.ts';
import type { Attribute } from '../ontology/ontology.ts';
import type {
  AppliedProducts,
  BatchKey,
  ChangeCounts,
  ChangeOrder,
  CommitOrder,
  CommitResult,
  ComparedUpdate,
  CountedProducts,
  DeletedPage,
  DeleteOrder,
  FollowedProducts,
  ListedRow,
  StagedDocument,
  Stale,
  UndoOrder,
} from '../port.ts';
import {
  type KeyedRow,
  type PackedProducts,
  packHashes,
  sortedRows,
} from '../products/documents/documents.ts';
import { isGuarded, refuseDeletes } from '../updates/updates.ts';
import { announceEntry, announceFollowed, announceProducts, describeCommit } from './change-events-store.ts';
import {
  countRows,
  DOCUMENT,
  listedColumns,
  PRODUCTS,
  productsOf,
  UPLOAD_FRONT,
  uploadText,
} from './product-list-store.ts';
import {
  type DocumentWriter,
  dropOutdated,
  dropOver,
  emptyCommitted,
  listStagedBatches,
  openPart,
  partOf,
  type StagedPart,
  stagedList,
  writeDocuments,
} from './staged-store.ts';
import {
  type CatalogState,
  insertAttributes,
  planForParts,
  planForWholeTables,
  reserveIds,
} from './state-store.ts';
import { discard, dropUndoBefore, INTO_PRODUCT, openUndo, type Undo } from './undo-store.ts';

type Order = ChangeOrder & CommitOrder;
type Written = ChangeOrder & { readonly revision: number };

/**
 * Commits, updates, deletes, and the removal of their garbage. Call changes in a transaction that holds the lock of
 * the catalog.
 */

/**
 * Applies the difference between staged and present products, batch by batch, in one transaction. Source:
 * docs/interface §4.4.
 */
export function* commitFullUpdate(
  state: CatalogState,
  order: Order,
): Program<{ result: CommitResult; isDone: boolean }> {
  const isReady = (yield* isPrepared(state, order)) && !(yield* dropOutdated(state, order));
  if (!isReady) return { result: { kind: 'stale' }, isDone: false };
  const compared = yield* compareCounts(order.fullUpdateId);
  const { present, staged } = compared;
  const deleted = present - staged;
  if (isGuarded(order, present, deleted))
    return { result: { kind: 'guarded', present, deleted }, isDone: false };
  yield* insertAttributes(readList<Attribute>(order.newAttributes));
  const subscribed = yield* listSubscribed();
  const undo = openUndo(state, order, subscribed.has('products.changed'));
  if (deleted > 0) yield* deleteAbsent(order.fullUpdateId, undo);
  const repeated = yield* findRepeated(order.fullUpdateId, compared);
  yield* planForParts();
  const counts = { created: 0, changed: 0 };
  // Starts with the last batch: if several batches have the same new product, the batch that was accepted last wins.
  for (const { batch } of (yield* listStagedBatches(order.fullUpdateId)).reverse()) {
    const part = yield* openPart({ fullUpdateId: order.fullUpdateId, batch });
    counts.changed += yield* changePresent(part, { order, undo, repeated: repeated.get(batch) ?? [] });
    counts.created += yield* insertCreated(part, order, undo);
  }
  const totals = { ...counts, unchanged: staged - counts.changed, deleted };
  if (subscribed.has('catalog.committed')) yield* insertEvents([describeCommit(order, totals)]);
  if (subscribed.has('products.changed')) yield* announceEntry(order, undo.id);
  yield* undo.close('commit', totals);
  yield* emptyCommitted(order.fullUpdateId);
  return { result: { kind: 'done', counts: totals }, isDone: true };
}

/**
 * @returns whether the ontology is the one that the commit expects, and every batch is staged; a missing batch would
 * delete its products
 */
function* isPrepared(state: CatalogState, order: Order): Program<boolean> {
  const staged = yield* listStagedBatches(order.fullUpdateId);
  return (
    state.ontologyRevision === order.revision &&
    state.ontologyMode === order.mode &&
    staged.length === order.batches
  );
}

interface Counts {
  readonly present: number;
  /** Present products that are in the full update. */
  readonly staged: number;
  /** Whether several batches have the same product. */
  readonly isRepeated: boolean | 0 | 1;
}

function* compareCounts(fullUpdateId: number): Program<Counts> {
  const counted = yield* row<Counts>`select (select count(*) from ${PRODUCTS}) as present,
    count(distinct s.value) as staged,
    count(*) > count(distinct s.value) as "isRepeated" from ${stagedList(fullUpdateId, 'products')}`;
  return counted as Counts;
}

/** Present products `p` that are not in a full update. */
const absentProducts = (fullUpdateId: number): Sql =>
  byEngine({
    sqlite: sql`product as p where p.id not in (select s.value from ${stagedList(fullUpdateId, 'products')})`,
    postgres: sql`product as p where ${own('p')} and not exists
      (select 1 from ${stagedList(fullUpdateId, 'products')} where s.value = p.id)`,
  });

function* deleteAbsent(fullUpdateId: number, undo: Undo): Program<void> {
  yield* planForWholeTables();
  const absent = absentProducts(fullUpdateId);
  yield* undo.recordChanged(text('null'), absent);
  yield* run`delete from ${absent}`;
}

/**
 * Reads the sorted list in one pass. A join would depend on statistics, and SQLite would scan the list again for each
 * product.
 * @returns the products of each batch that a later batch also has, because the batch that was accepted last wins
 * (docs/interface §4.4)
 */
function* findRepeated(
  fullUpdateId: number,
  { isRepeated }: Counts,
): Program<ReadonlyMap<number, readonly number[]>> {
  if (!isRepeated) return new Map();
  yield* planForWholeTables();
  const repeated = yield* rows<{ batch: number; id: number }>`select r.batch, r.id
    from (select s.batch, s.value as id, max(s.batch) over (partition by s.value) as last
      from ${stagedList(fullUpdateId, 'products')}) r
    where r.batch < r.last`;
  const byBatch = Map.groupBy(repeated, ({ batch }) => batch);
  return new Map([...byBatch].map(([batch, ids]) => [batch, ids.map(({ id }) => id)]));
}

interface Change {
  readonly order: Written;
  readonly undo: Undo;
  /** Products that a later batch also has. */
  readonly repeated: readonly number[];
}

function* changePresent(part: StagedPart, { order, undo, repeated }: Change): Program<number> {
  const { revision, at, taskNumber } = order;
  const changedBy = sql`ontology_revision = ${revision}, updated_at = ${at}, updated_by = ${taskNumber}`;
  const isRepeated = repeated.length === 0 ? text('false') : sql`s.product_id ${among(repeated)}`;
  let changed = 0;
  if (part.changed > 0) {
    const fresh = sql`s.is_fresh and not (${isRepeated})`;
    yield* undo.recordChanged(text('s.document_id'), sql`${part.present} ${PRODUCT_OF_ROW} where ${fresh}`);
    changed += yield* run(
      byEngine({
        sqlite: sql`update product as p set document_id = s.document_id, hash = s.hash, ${changedBy}
          from ${part.present} where p.id = s.product_id and ${fresh}`,
        postgres: replaceProducts(
          {
            document: text('s.document_id'),
            hash: text('s.hash'),
            revision,
            at: sql`${at}`,
            by: sql`${taskNumber}`,
          },
          sql`${part.present} ${PRODUCT_OF_ROW} where ${fresh}`,
        ),
      }),
    );
    if (repeated.length > 0)
      yield* discard(sql`s.document_id from ${part.present} where s.is_fresh and ${isRepeated}`);
  }
  const isLater = new Set(repeated);
  const gaining = part.gaining.filter((id) => !isLater.has(id));
  if (gaining.length === 0) return changed;
  yield* undo.recordChanged(
    text('p.document_id'),
    sql`${listed('w', 'bigint', gaining)} ${lookupJoin('product', 'p', sql`p.id = w.value`)} where true`,
  );
  return changed + (yield* run`update product set ${changedBy} where ${own()} and id ${among(gaining)}`);
}

interface ReplacedValues {
  readonly document: Sql;
  readonly hash: Sql;
  readonly revision: number;
  readonly at: Sql;
  readonly by: Sql;
}

/**
 * An upsert in PostgreSQL that always updates, because the rows exist. It finds them by the key, whatever the
 * statistics are. An update that joins a list may read all products of the project for each row of the list.
 * @param from has each product as `p`
 */
const replaceProducts = ({ document, hash, revision, at, by }: ReplacedValues, from: Sql): Sql =>
  sql`${INTO_PRODUCT} p.id, p.identifier, ${document}, ${hash}, cast(${revision} as bigint), cast(${at} as bigint),
    cast(${by} as bigint) from ${from}
    on conflict (project_id, id) do update set document_id = excluded.document_id, hash = excluded.hash,
      ontology_revision = excluded.ontology_revision, updated_at = excluded.updated_at, updated_by = excluded.updated_by`;

const PRODUCT_OF_ROW = lookupJoin('product', 'p', sql`p.id = s.product_id`);

function* insertCreated(part: StagedPart, order: Written, undo: Undo): Program<number> {
  if (part.created === 0) return 0;
  const { revision, at, taskNumber } = order;
  // A lookup before the insert would cost PostgreSQL less. Without statistics, however, it is planned with another
  // index, and 100,000 products took 90 s.
  const inserted = yield* run`${INTO_PRODUCT} s.product_id, s.identifier, s.document_id, s.hash,
    cast(${revision} as bigint), cast(${at} as bigint), cast(${taskNumber} as bigint) from ${part.absent} where true on conflict do nothing`;
  yield* undo.recordCreated(part);
  // A later batch has the remaining products.
  if (inserted < part.created)
    yield* discard(
      sql`s.document_id from ${part.absent} where not exists
        (select 1 from product p where ${own('p')} and p.id = s.product_id)`,
    );
  return inserted;
}

/** Writes the changes of an incremental or partial update. */
export function* applyProducts(
  state: CatalogState,
  order: ChangeOrder & AppliedProducts,
  documents: DocumentWriter,
): Program<{ result: ChangeCounts | Stale; isDone: boolean }> {
  const { packed, revision, derivationRevision } = order;
  const isStale =
    state.ontologyRevision !== revision ||
    state.derivationRevision !== derivationRevision ||
    !(yield* arePresentAsFound(state, packed));
  if (isStale) return { result: { stale: true }, isDone: false };
  yield* planForParts();
  const fresh = sortedRows(packed).filter(({ row }) => packed.documents[row] === 0);
  const idByIdentifier = yield* pairs<string, number>`select p.identifier, p.id
    from ${productsOf(fresh.map(({ identifier }) => identifier))}`;
  const idOf = ({ identifier }: KeyedRow) => idByIdentifier.get(identifier) ?? 0;
  const { created = [], changed = [] } = Object.groupBy(fresh, (keyed) =>
    idOf(keyed) === 0 ? 'created' : 'changed',
  );
  const range = yield* writeDocuments(state, packed, { documents, created, changed, idOf });
  const part = partOf(range, {
    identifiers: created.map(({ identifier }) => identifier),
    products: changed.map(idOf),
    hashes: packHashes(packed, [...created, ...changed]),
  });
  const undo = openUndo(state, { ...order, undoDepth: 0 });
  const counts = {
    changed: yield* changePresent(part, { order, undo, repeated: [] }),
    created: yield* insertCreated(part, order, undo),
  };
  yield* announceProducts(
    order,
    fresh.map((keyed) => ({ identifier: keyed.identifier, kind: idOf(keyed) === 0 ? 'created' : 'changed' })),
  );
  const unchanged = packed.documents.length - fresh.length;
  return { result: { ...counts, unchanged, deleted: 0 }, isDone: true };
}

/** Records the new ontology of products that still have the documents that were read. */
export function* followOntology(
  state: CatalogState,
  { revision, products, documents, changed, at, taskNumber }: ChangeOrder & FollowedProducts,
): Program<void> {
  const cells = products.map((id, row) => [id, documents[row] ?? 0, Number(changed[row] ?? false)]);
  const followed = tabled('w', { id: 'bigint', document: 'bigint', changed: 'bigint' }, cells);
  const changedBy = (value: number, column: string) =>
    sql`case when w.changed = 1 then cast(${value} as bigint) else ${text(`p.${column}`)} end`;
  const values = { at: changedBy(at, 'updated_at'), by: changedBy(taskNumber, 'updated_by') };
  yield* run(
    byEngine({
      sqlite: sql`update product as p set ontology_revision = ${revision}, updated_at = ${values.at}, updated_by = ${values.by}
        from ${followed} where p.id = w.id and p.document_id = w.document and p.ontology_revision < ${revision}`,
      postgres: replaceProducts(
        { document: text('p.document_id'), hash: text('p.hash'), revision, ...values },
        sql`${followed} ${lookupJoin('product', 'p', sql`p.id = w.id`)}
          where p.document_id = w.document and p.ontology_revision < ${revision}`,
      ),
    }),
  );
  yield* announceFollowed(
    { at, taskNumber },
    products.filter((_, row) => changed[row]),
  );
  state.catalogVersion += 1;
}

export function* deleteProducts(state: CatalogState, order: ChangeOrder & DeleteOrder) {
  const requested = new Set(order.lists.flatMap((list) => readList<string>(list)));
  yield* planForParts();
  const existing = yield* column<string>`select p.identifier from ${productsOf([...requested])}`;
  const unknown = [...requested.difference(new Set(existing))];
  if (existing.length === 0) return { result: { deleted: 0, unknown }, isDone: true };
  yield* guardDeletes(order, existing.length);
  const undo = openUndo(state, order);
  yield* undo.recordChanged(text('null'), sql`${productsOf(existing)} where true`);
  const deleted = yield* run`delete from product where ${own()} and identifier ${among(existing)}`;
  yield* undo.close('delete', { created: 0, changed: 0, deleted });
  yield* announceProducts(
    order,
    existing.map((identifier) => ({ identifier, kind: 'deleted' })),
  );
  return { result: { deleted, unknown }, isDone: true };
}

const readList = <One>(list: Uint8Array): One[] => JSON.parse(Buffer.from(list).toString());

/** `reserveIds` for names that the serving thread passes on without parsing. */
export function* reserveNames(state: CatalogState, reserved: { names: Uint8Array }): Program<Uint8Array> {
  const names = readList<string>(reserved.names);
  const ids = yield* reserveIds(state, { names, paths: [] });
  return new TextEncoder().encode(JSON.stringify(names.map((name) => ids.get(name))));
}

/**
 * @returns the result of `deleteProducts` in the form that is stored with the task and that the serving thread passes
 * on
 */
export function describeDeleted({ deleted, unknown }: { deleted: number; unknown: readonly string[] }) {
  const message = 'the catalog has no such product';
  const lines = unknown.map(
    (identifier) => `${JSON.stringify({ identifier, code: 'unknown_identifier', message })}\n`,
  );
  return { deleted, unknown: unknown.length, report: new TextEncoder().encode(lines.join('')) };
}

/** @throws delete_guard */
function* guardDeletes({ maxDeletePercent = 100 }: DeleteOrder, deleted: number): Program<void> {
  if (maxDeletePercent >= 100) return;
  const present = yield* countRows(PRODUCTS);
  const limit = { maxDeletePercent };
  if (isGuarded(limit, present, deleted)) throw refuseDeletes({ present, deleted }, limit, 'pipeline');
}

/**
 * @returns whether the products that an update found unchanged are still unchanged; the update writes nothing for
 * them
 */
function* arePresentAsFound(
  { catalogVersion }: CatalogState,
  { catalogVersion: foundVersion, products, documents }: PackedProducts,
): Program<boolean> {
  if (foundVersion === catalogVersion) return true;
  const unchanged = [...documents.entries()].flatMap(([row, id]) =>
    id === 0 ? [] : [[products[row] ?? 0, id]],
  );
  const present = yield* countRows(
    sql`${tabled('w', { id: 'bigint', document: 'bigint' }, unchanged)}
      ${lookupJoin('product', 'p', sql`p.id = w.id and p.document_id = w.document`)}`,
  );
  return present === unchanged.length;
}

export function* compareStaged({ fullUpdateId, withIdentifiers }: ComparedUpdate) {
  yield* planForWholeTables();
  const compared = yield* compareCounts(fullUpdateId);
  const { present, staged } = compared;
  const kinds = selectKinds(fullUpdateId, compared);
  const countOf = (kind: Sql) => cell<number>`select count(distinct k.identifier) as count from (${kind}) k`;
  const [created = 0, changed = 0] = [yield* countOf(kinds.created), yield* countOf(kinds.changed)];
  // A product may have been deleted after its batch was staged.
  const counts = { created, changed, unchanged: staged - changed, deleted: Math.max(present - staged, 0) };
  const described: Partial<Record<keyof ChangeCounts, CountedProducts>> = {};
  for (const kind of Object.keys(kinds) as (keyof ChangeCounts)[]) {
    const first = sql`select distinct k.identifier from (${kinds[kind]}) k order by k.identifier limit 100`;
    const identifiers = withIdentifiers ? yield* column<string>(first) : [];
    described[kind] = { count: counts[kind], identifiers };
  }
  return { present, ...(described as Required<typeof described>) };
}

function selectKinds(fullUpdateId: number, { isRepeated }: Counts) {
  const staged = stagedList(fullUpdateId, 'products');
  // `not in` the products of earlier batches would be slower: SQLite would compare each pair with the whole list. The
  // plus sign keeps SQLite from searching the batches by this list.
  const isLast = isRepeated
    ? sql`(s.value, +s.batch) in (select s.value, max(s.batch) from ${staged} group by s.value)`
    : text('true');
  const changed = sql`select s.value from ${staged} where s.place < s.changed and ${isLast}
    union all select s.value from ${stagedList(fullUpdateId, 'gaining')} where ${isLast}`;
  return {
    created: sql`select s.value as identifier from ${stagedList(fullUpdateId, 'identifiers')}`,
    changed: sql`select p.identifier from product p where ${own('p')} and p.id in (${changed})`,
    unchanged: sql`select p.identifier from product p where ${own('p')} and p.id in (select s.value from ${staged})
      and p.id not in (${changed})`,
    deleted: sql`select p.identifier from ${absentProducts(fullUpdateId)}`,
  };
}

export function* listDeleted({ fullUpdateId, after, limit }: DeletedPage): Program<ListedRow[]> {
  yield* planForWholeTables();
  const identifiers = yield* column<string>`select p.identifier from ${absentProducts(fullUpdateId)}
    and p.identifier > ${after} order by p.identifier limit ${limit}`;
  return yield* rows`select ${listedColumns(UPLOAD_FRONT)} from ${productsOf(identifiers)} ${DOCUMENT}
    order by p.identifier`;
}

/** Lists the uploads of one batch: the new ones, and the present ones of unchanged products. */
export function* listStagedDocuments(staged: BatchKey): Program<StagedDocument[]> {
  yield* planForParts();
  const { firstDocument, created, changed, present } = yield* openPart(staged);
  const raw = sql`${uploadText(true)} as raw`;
  const fresh = yield* rows<StagedDocument>`select d.product_id as product, 1 as "isFresh", ${raw}
    from document d
    where ${own('d')} and d.id >= ${firstDocument} and d.id < ${firstDocument + created + changed}`;
  const unchanged = yield* rows<StagedDocument>`select p.id as product, 0 as "isFresh", ${raw}
    from ${present} ${PRODUCT_OF_ROW} ${DOCUMENT} where not s.is_fresh`;
  return [...fresh, ...unchanged];
}

/** Rows per call. Updates of the same project wait for a call, so the number is small. */
const STEP = 2_000;

/**
 * Removes a limited part of the garbage: rows of ended full updates, dropped entries of the undo log, and replaced
 * documents.
 * @returns whether there may be more
 */
export function* collectGarbage(
  _: CatalogState,
  { live, undoSince }: { readonly live: readonly number[] } & Pick<UndoOrder, 'undoSince'>,
  documents: DocumentWriter,
): Program<boolean> {
  yield* planForParts();
  yield* dropUndoBefore(undoSince);
  const opened = yield* column<number>(OPENED);
  return (
    (yield* dropOver([...live, ...opened])) ||
    (yield* dropUndo()) ||
    (yield* dropDocuments(documents)) ||
    (yield* ask(() => documents.tidyDerived()))
  );
}

/** Lists open full updates again, because another process may have begun one since the caller listed them. */
const OPENED = byEngine({
  sqlite: sql`select 0 as id where false`,
  postgres: sql`select id from full_update where ${own()} and state in ('open', 'committing')`,
});

function* dropUndo(): Program<boolean> {
  // The newest entries remain.
  const oldest = yield* row<{ id: number | null; logged: number | null }>`select (select min(undo_id)
    from undo_change where ${own()}) as id, (select min(id) from undo_log where ${own()}) as logged`;
  const over = oldest?.id ?? Number.POSITIVE_INFINITY;
  if (over >= (oldest?.logged ?? Number.POSITIVE_INFINITY)) return false;
  const ofEntry = sql`${own()} and undo_id = ${over}`;
  const last = yield* cell<number>`select product_id as id from undo_change where ${ofEntry}
    order by product_id limit 1 offset ${text(String(STEP - 1))}`;
  const part = last === undefined ? ofEntry : sql`${ofEntry} and product_id <= ${last}`;
  yield* discard(sql`document_before from undo_change where ${part} and document_before is not null`);
  yield* run`delete from undo_change where ${part}`;
  return true;
}

function* dropDocuments({ removeDerived }: DocumentWriter): Program<boolean> {
  const garbage = yield* rows<{ id: number; isUsed: boolean | 0 | 1 }>(GARBAGE);
  if (garbage.length === 0) return false;
  const ids = garbage.map(({ id }) => id);
  const unused = garbage.flatMap(({ id, isUsed }) => (isUsed ? [] : id));
  yield* run`delete from garbage_document where ${own()} and document_id between ${ids[0] ?? 0}
    and ${ids.at(-1) ?? 0} and document_id ${among(ids)}`;
  yield* run`delete from document where ${own()} and id ${among(unused)}`;
  yield* ask(() => removeDerived(unused));
  return true;
}

/**
 * A document is in use by its product or by an entry of the undo log. A product that only gained facts has the same
 * document before and after its commit. PostgreSQL checks one row after another, because comparing tables would read
 * them completely.
 */
const GARBAGE = byEngine({
  sqlite: sql`select g.document_id as id, exists (select 1 from document d join product p on p.id = d.product_id
      where d.id = g.document_id and p.document_id = d.id)
      or exists (select 1 from document d cross join undo_log l cross join undo_change u
      where d.id = g.document_id and u.undo_id = l.id and u.product_id = d.product_id
        and u.document_before = d.id) as "isUsed"
    from garbage_document g order by g.document_id limit ${STEP}`,
  postgres: sql`select g.document_id as id, coalesce(p.is_found, u.is_found, false) as "isUsed" from garbage_document g
    left join lateral (select product_id from document where ${own()} and id = g.document_id limit 1) d on true
    left join lateral (select true as is_found from product where ${own()}
      and id = d.product_id and document_id = g.document_id limit 1) p on true
    left join lateral (select true as is_found from undo_log l, lateral (select 1 from undo_change where ${own()}
      and undo_id = l.id and product_id = d.product_id and document_before = g.document_id limit 1) c
      where ${own('l')} limit 1) u on true
    where ${own('g')} order by g.document_id limit ${text(String(STEP))}`,
});
