import { listSubscribed } from '../../events/events.ts';
import { isStorableText } from '../../kernel/storable-text.ts';
import {
  cell,
  column,
  insertInto,
  insertRow,
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
  text,
} from '../../storage/programs/programs.ts';
import type {
  ChangeCounts,
  ChangeOrder,
  ChangePage,
  CommitChange,
  OtherLast,
  ProductChange,
  RestoreEffect,
  RestoreOrder,
  RestoreResult,
  UndoableCommit,
  UndoOrder,
} from '../port.ts';
import { announceEntry, LOGGED, type LoggedChange } from './change-events-store.ts';
import { productsOf, uploadText } from './product-list-store.ts';
import { type CatalogState, planForParts, planForWholeTables } from './state-store.ts';

/**
 * The undo log: the states that a commit or delete replaced. Its size is the size of the change, because documents
 * remain in place and the undo log points to them. Source: docs/interface §4.5.
 */

/** Marks documents that nothing points to as garbage; `from` selects them and has a condition. */
export const discard = (from: Sql): Program<number> =>
  run`${insertInto('garbage_document', 'document_id')} ${from} on conflict do nothing`;

/** Inserts products; the values of the columns follow. */
export const INTO_PRODUCT = insertInto(
  'product',
  'id, identifier, document_id, hash, ontology_revision, updated_at, updated_by',
);

export interface Undo {
  /** 0 if nothing is recorded. */
  readonly id: number;
  /** Call it before products change. `from` has each product as `p`; `after` is its new document, or null. */
  recordChanged(after: Sql, from: Sql): Program<number>;
  /** Records products with consecutive ids and documents. The range may contain ids without a product. */
  recordCreated(range: Record<'firstProduct' | 'firstDocument' | 'created', number>): Program<void>;
  /** Writes the entry, and drops entries beyond the limits. */
  close(kind: UndoableCommit['kind'], counts: Omit<ChangeCounts, 'unchanged'>): Program<void>;
}

const BEFORE = 'document_before, hash_before, revision_before, updated_at_before, updated_by_before';
const CHANGE_COLUMNS = `undo_id, product_id, identifier, document_after, ${BEFORE}`;
const PRESENT = sql`p.document_id, p.hash, p.ontology_revision, p.updated_at, p.updated_by`;

/** Opens the entry of a task. With `undoDepth` 0 it records nothing, unless an event needs the entry. */
export function openUndo(state: CatalogState, order: ChangeOrder & UndoOrder, isAnnounced = false): Undo {
  const { taskNumber, at, author } = order;
  const isLogged = order.undoDepth > 0 || isAnnounced;
  const undoId = isLogged ? state.nextUndoId++ : 0;
  /** Without an entry, replaced documents become garbage immediately. */
  const recordChanged = (after: Sql, from: Sql) =>
    isLogged
      ? run`${insertInto('undo_change', CHANGE_COLUMNS)}
          ${undoId}, p.id, p.identifier, ${after}, ${PRESENT} from ${from}`
      : discard(sql`p.document_id from ${from}`);

  return {
    id: undoId,
    recordChanged,
    *recordCreated({ firstProduct, firstDocument, created }) {
      if (isLogged) yield* run(insertRow('undo_created', { undoId, firstProduct, firstDocument, created }));
    },
    *close(kind, { created, changed, deleted }) {
      const entry = {
        id: undoId,
        taskNumber,
        at,
        kind,
        author: author === undefined ? null : JSON.stringify(author),
        catalogVersion: state.catalogVersion + 1,
        created,
        changed,
        deleted,
      };
      if (isLogged) yield* run(insertRow('undo_log', entry));
      // Drops the oldest entries; `collectGarbage` removes their changes.
      yield* run`delete from undo_log where ${own()} and (at < ${order.undoSince ?? 0} or id not in
        (select id from undo_log where ${own()} order by id desc limit ${order.undoDepth}))`;
      yield* dropCreatedAlone();
    },
  };
}

export function* dropUndoBefore(undoSince: number | undefined): Program<void> {
  if (undoSince === undefined) return;
  const dropped = yield* run`delete from undo_log where ${own()} and at < ${undoSince}`;
  if (dropped > 0) yield* dropCreatedAlone();
}

const dropCreatedAlone = (): Program<number> =>
  run`delete from undo_created where ${own()} and undo_id not in (select id from undo_log where ${own()})`;

/** @returns the entries, latest first */
const listEntries = (): Program<UndoEntry[]> =>
  rows`select id, task_number as "commit", at, kind, author, catalog_version as "catalogVersion", created,
    changed, deleted from undo_log where ${own()} order by id desc`;

interface UndoEntry extends Omit<UndoableCommit, 'author'> {
  /** The number in the undo log, which is reused after a restore. */
  readonly id: number;
  /** The number of its task, which callers use as the id of the commit. */
  readonly commit: number;
  /** As JSON. */
  readonly author: string | null;
}

export function* listUndoableCommits(): Program<UndoableCommit[]> {
  return (yield* listEntries()).map(toCommit);
}

const toCommit = ({ commit, author, ...entry }: UndoEntry): UndoableCommit => ({
  ...entry,
  id: commit,
  author: author === null ? null : (JSON.parse(author) as UndoableCommit['author']),
});

/** How many overwritten later changes a restore reports. */
const REPORTED = 100_000;

export function* restoreCommit(
  state: CatalogState,
  order: ChangeOrder & RestoreOrder,
): Program<{ result: { result: RestoreResult | OtherLast | null }; isDone: boolean }> {
  yield* planForWholeTables();
  const entries = yield* listEntries();
  const [last] = entries;
  const { commit = last?.commit, ifLast = last?.commit } = order;
  const oldest = entries.findIndex((entry) => entry.commit === commit);
  if (last === undefined || oldest === -1) return { result: { result: null }, isDone: true };
  if (last.commit !== ifLast) return { result: { result: { last: last.commit } }, isDone: true };
  const isAnnounced = (yield* listSubscribed()).has('products.changed');
  const restored: RestoreResult[] = [];
  for (const { id } of entries.slice(0, oldest + 1)) {
    if (isAnnounced) yield* announceEntry(order, id, true);
    restored.push(yield* playBack(state, id));
  }
  const overwritten = new Set(restored.flatMap((restore) => restore.overwritten));
  const result = {
    restored: restored.reduce((sum, restore) => sum + restore.restored, 0),
    overwritten: [...overwritten].sort().slice(0, REPORTED),
    needsExtraction: restored.some(({ needsExtraction }) => needsExtraction),
  };
  return { result: { result }, isDone: true };
}

/** Reverts the last entry, whose id in the log is `last`. */
function* playBack({ ontologyRevision }: CatalogState, last: number): Program<RestoreResult> {
  const ofEntry = sql`${own()} and undo_id = ${last}`;
  const replayed = sql`undo_change u left join product p on ${own('p')} and p.identifier = u.identifier
    where ${own('u')} and u.undo_id = ${last}`;
  // A later deletion of such a product has its own entry, which was reverted first.
  const created = sql`undo_created u join product p on ${own('p')} and p.id >= u.first_product
    and p.id < u.first_product + u.created where ${own('u')} and u.undo_id = ${last}`;
  const overwritten = yield* column<string>`select u.identifier from ${replayed}
    and p.document_id is distinct from u.document_after
    union all select p.identifier from ${created} and p.document_id <> u.first_document + p.id - u.first_product
    order by 1 limit ${REPORTED}`;
  yield* discard(
    sql`p.document_id from ${replayed} and p.id is not null and p.document_id is distinct from u.document_before`,
  );
  yield* discard(sql`p.document_id from ${created}`);
  yield* run`delete from product where ${own()} and id in (select p.id from ${created})`;
  yield* run`delete from product where ${own()} and identifier in
    (select identifier from undo_change where ${ofEntry})`;
  const restored = yield* run`${INTO_PRODUCT} product_id, identifier, ${text(BEFORE)} from undo_change
    where ${ofEntry} and document_before is not null`;
  const outdated = yield* row`select 1 from undo_change where ${ofEntry}
    and revision_before < ${ontologyRevision} limit 1`;
  yield* run`delete from undo_change where ${ofEntry}`;
  yield* run`delete from undo_created where ${ofEntry}`;
  yield* run`delete from undo_log where ${own()} and id = ${last}`;
  return { restored, overwritten, needsExtraction: outdated !== undefined };
}

/** The changes of commits and deletes, as far back as the undo log reaches. */

export function* listCommitChanges(page: ChangePage): Program<CommitChange[] | undefined> {
  const entries = yield* listEntries();
  const index = entries.findIndex(({ commit }) => commit === page.commit);
  const entry = entries[index];
  if (entry === undefined) return undefined;
  yield* planForParts();
  const later = entries.slice(0, index).map(({ id }) => id);
  const changes = yield* listLogged(entry.id, later, page);
  return yield* settle(changes, yield* findNext(entry.id, changes));
}

export function* listProductChanges(identifier: string): Program<ProductChange[]> {
  if (!isStorableText(identifier)) return [];
  const entries = yield* listEntries();
  yield* planForParts();
  const productId = yield* findProductId(identifier, entries);
  if (productId === undefined) return [];
  const changes: ProductChange[] = [];
  // The document before a change is the document after the previous one.
  let next: number | null = null;
  for (const entry of entries) {
    const change: LoggedChange | undefined = yield* findLogged(entry.id, { productId, identifier });
    if (change === undefined) continue;
    const settled = yield* settle([change], new Map(next === null ? [] : [[productId, next]]));
    changes.push(...settled.map((settledChange) => ({ ...settledChange, commit: toCommit(entry) })));
    next = change.before;
  }
  return changes;
}

/** @returns the present product with an identifier, otherwise the product that a commit in the log changed last */
function* findProductId(identifier: string, entries: readonly UndoEntry[]): Program<number | undefined> {
  let productId = yield* cell<number>`select p.id from ${productsOf([identifier])}`;
  for (const { id } of entries)
    productId ??=
      yield* cell<number>`select product_id as id from undo_change where ${own()} and undo_id = ${id}
      and identifier = ${identifier} limit 1`;
  return productId;
}

function* findLogged(
  entry: number,
  { productId, identifier }: Pick<LoggedChange, 'productId' | 'identifier'>,
): Program<LoggedChange | undefined> {
  const changed = yield* row<LoggedChange>`select ${LOGGED} from undo_change where ${own()}
    and undo_id = ${entry} and product_id = ${productId}`;
  if (changed !== undefined) return changed;
  const created = yield* cell<number>`select first_document + ${productId} - first_product as document
    from undo_created
    where ${own()} and undo_id = ${entry} and first_product <= ${productId} and first_product + created > ${productId}`;
  return created === undefined ? undefined : { productId, identifier, before: null, after: created };
}

const OF_KIND = {
  created: 'document_before is null',
  changed: 'document_before is not null and document_after is not null',
  deleted: 'document_after is null',
};

/** Lists the products that existed before the commit, then the products that it created. */
function* listLogged(entry: number, later: readonly number[], page: ChangePage) {
  const { kind, after, limit } = page;
  const changes =
    after.part === 'created'
      ? []
      : yield* rows<LoggedChange>`select ${LOGGED} from undo_change where ${own()} and undo_id = ${entry}
          and product_id > ${after.productId} and ${text(kind ? OF_KIND[kind] : 'true')}
          order by product_id limit ${limit}`;
  if (changes.length === limit || (kind !== undefined && kind !== 'created')) return changes;
  const from = after.part === 'created' ? after.productId : 0;
  return [...changes, ...(yield* listCreated(entry, { later, from, limit: limit - changes.length }))];
}

/** Skips ids without a product. A later entry names the products that were deleted since. */
function* listCreated(
  entry: number,
  { later, from, limit }: { later: readonly number[]; from: number; limit: number },
): Program<LoggedChange[]> {
  const ranges = yield* rows<{ first: number; end: number; document: number }>`select first_product as first,
    first_product + created as "end", first_document as document
    from undo_created where ${own()} and undo_id = ${entry} order by first_product`;
  const created: LoggedChange[] = [];
  for (const { first, end, document } of ranges) {
    if (created.length === limit) break;
    const range = { after: Math.max(from, first - 1), end, limit: limit - created.length };
    for (const [productId, identifier] of yield* listOfRange(range, later))
      created.push({ productId, identifier, before: null, after: document + productId - first });
  }
  return created;
}

function* listOfRange(
  { after, end, limit }: Record<'after' | 'end' | 'limit', number>,
  later: readonly number[],
): Program<(readonly [number, string])[]> {
  if (after + 1 >= end) return [];
  const list = (columns: string, where: Sql) =>
    pairs<number, string>`select ${text(columns)} where ${own()} and ${where} order by 1
      limit ${text(String(limit))}`;
  const products = [...(yield* list('id, identifier from product', sql`id > ${after} and id < ${end}`))];
  for (const id of later) {
    const range = sql`undo_id = ${id} and product_id > ${after} and product_id < ${end}`;
    products.push(...(yield* list('product_id as id, identifier from undo_change', range)));
  }
  return [...new Map(products)].sort(([a], [b]) => a - b).slice(0, limit);
}

/** @returns the document of each product that the next commit found */
function* findNext(entry: number, changes: readonly LoggedChange[]): Program<Map<number, number>> {
  const ids = changes.map(({ productId }) => productId);
  return yield* pairs`select w.value as id, u.document_before as document
    from ${listed('w', 'bigint', ids)} cross join undo_log l
    ${lookupJoin('undo_change', 'u', sql`u.undo_id = l.id and u.product_id = w.value`)}
    where ${own('l')} and l.id > ${entry} and u.document_before is not null order by l.id desc`;
}

/**
 * Reads the documents. If a later commit replaced the document of a change, it reads the document that the next
 * commit found.
 */
function* settle(
  changes: readonly LoggedChange[],
  next: ReadonlyMap<number, number>,
): Program<CommitChange[]> {
  const products = changes.map(({ productId }) => productId);
  const present = yield* pairs<number, number>`select p.id, p.document_id
    from ${listed('w', 'bigint', products)} ${lookupJoin('product', 'p', sql`p.id = w.value`)}`;
  const settled = changes.map((change) => {
    if (change.after === null) return { change, after: null, isChangedSince: false };
    const after = next.get(change.productId) ?? present.get(change.productId) ?? null;
    return { change, after, isChangedSince: after !== change.after };
  });
  const named = settled.flatMap(({ change, after }) => [change.before, after]).filter((id) => id !== null);
  const documents = listed('w', 'bigint', [...new Set(named)]);
  const texts = yield* pairs<number, string>`select d.id, ${uploadText(true)} as text
    from ${documents} ${lookupJoin('document', 'd', sql`d.id = w.value`)}`;
  const textOf = (document: number | null) => (document === null ? null : (texts.get(document) ?? null));
  return settled.map(({ change: { productId, identifier, before, after: left }, after, isChangedSince }) => ({
    productId,
    identifier,
    isChangedSince,
    before: textOf(before),
    after: textOf(after),
    kind: before === null ? 'created' : left === null ? 'deleted' : 'changed',
  }));
}

/** The effect of a restore, counted without performing it, by the same rules as `playBack`. */

type Counts = Pick<RestoreEffect, 'created' | 'changed' | 'deleted' | 'changedSince'>;

export function* weighRestore(commit: number): Program<RestoreEffect | undefined> {
  const entries = yield* listEntries();
  const index = entries.findIndex((entry) => entry.commit === commit);
  const [last, oldest] = [entries[0], entries[index]];
  if (last === undefined || oldest === undefined) return undefined;
  yield* planForWholeTables();
  const span = { from: oldest.id, isOne: index === 0 };
  const present = yield* row<Counts>(weighTouched(span));
  const created = yield* row<Pick<Counts, 'deleted' | 'changedSince'>>(weighCreated(span));
  const countOf = (name: keyof Counts) => Number(present?.[name] ?? 0);
  return {
    commits: index + 1,
    last: last.commit,
    created: countOf('created'),
    changed: countOf('changed'),
    deleted: countOf('deleted') + Number(created?.deleted ?? 0),
    changedSince: countOf('changedSince') + Number(created?.changedSince ?? 0),
  };
}

interface Span {
  /** The id of the oldest entry to undo. */
  readonly from: number;
  readonly isOne: boolean;
}

/** Products that the commits changed or deleted. Several commits may name the same product. */
const touched = ({ from, isOne }: Span): Sql => {
  const rank = (order: string) =>
    text(isOne ? '1' : `row_number() over (partition by identifier order by undo_id ${order})`);
  return sql`(select identifier, product_id, undo_id, document_before, hash_before, document_after,
    ${rank('')} as oldest, ${rank('desc')} as newest
    from undo_change where ${own()} and undo_id >= ${from}) t`;
};

/** The document to which a product returns; null for a product that the commits created. */
const former = ({ from, isOne }: Span): Sql =>
  isOne
    ? text('t.document_before')
    : sql`case when exists (select 1 from undo_created c where ${own('c')} and c.undo_id >= ${from}
        and c.undo_id < t.undo_id and t.product_id >= c.first_product and t.product_id < c.first_product + c.created)
        then null else t.document_before end`;

const sumOf = (condition: string, name: string): string =>
  `coalesce(sum(case when ${condition} then 1 else 0 end), 0) as "${name}"`;

const weighTouched = (span: Span): Sql => sql`select
  ${text(sumOf('r.oldest = 1 and r.former is not null and r.present is null', 'created'))},
  ${text(sumOf('r.oldest = 1 and r.former is not null and r.hash <> r.hash_before', 'changed'))},
  ${text(sumOf('r.oldest = 1 and r.former is null and r.present is not null', 'deleted'))},
  ${text(sumOf('r.newest = 1 and r.present is distinct from r.document_after', 'changedSince'))}
  from (select t.oldest, t.newest, t.hash_before, t.document_after, p.document_id as present, p.hash, ${former(span)} as former
    from ${touched(span)} left join product p on ${own('p')} and p.identifier = t.identifier
    where t.oldest = 1 or t.newest = 1) r`;

/** Products that the commits created and that still exist. */
const weighCreated = (span: Span): Sql => sql`select count(*) as deleted,
  ${text(sumOf('m.document_id <> m.made', 'changedSince'))}
  from (select p.identifier, p.document_id, c.first_document + p.id - c.first_product as made from undo_created c
    join product p on ${own('p')} and p.id >= c.first_product and p.id < c.first_product + c.created
    where ${own('c')} and c.undo_id >= ${span.from}) m
  left join (select t.identifier from ${touched(span)} where t.newest = 1) s on s.identifier = m.identifier
  where s.identifier is null`;
