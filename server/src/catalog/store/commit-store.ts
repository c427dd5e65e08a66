import { insertEvents, listWanted } from '../../events/events.ts';
import {
  among,
  byEngine,
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
  text,
} from '../../storage/storage.ts';
import type { ChangeOrder, CommitOrder, CommitResult } from '../port.ts';
import { isGuarded } from '../updates/updates.ts';
import { announceEntry, describeCommit } from './change-events-store.ts';
import { insertAttributes } from './ontology-store.ts';
import { planForParts, planForWholeTables } from './planning-store.ts';
import {
  dropOutdated,
  emptyCommitted,
  listStagedBatches,
  openPart,
  type StagedPart,
  stagedList,
} from './staged-store.ts';
import type { CatalogState } from './state-store.ts';
import { discard, openUndo, type Undo } from './undo-store.ts';

type Order = ChangeOrder & CommitOrder;

/** The difference of staged and present products, batch by batch, in one transaction. Source: docs/interface.md §4.4. */
export function* commit(
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
  yield* insertAttributes(order.newAttributes);
  const wanted = yield* listWanted();
  const undo = openUndo(state, order, wanted.has('products.changed'));
  if (deleted > 0) yield* deleteAbsent(order.fullUpdateId, undo);
  const repeated = yield* findRepeated(order.fullUpdateId, compared);
  yield* planForParts();
  const counts = { created: 0, changed: 0 };
  // The last batch first: of a new product that several hold, the last accepted one wins.
  for (const { batch } of (yield* listStagedBatches(order.fullUpdateId)).reverse()) {
    const part = yield* openPart(order.fullUpdateId, batch);
    counts.changed += yield* changePresent(part, { order, undo, repeated: repeated.get(batch) ?? [] });
    counts.created += yield* insertCreated(part, order, undo);
  }
  const done = { ...counts, unchanged: staged - counts.changed, deleted };
  if (wanted.has('catalog.committed')) yield* insertEvents([describeCommit(order, done)]);
  if (wanted.has('products.changed')) yield* announceEntry(order, undo.id);
  yield* undo.close('commit', done);
  yield* emptyCommitted(order.fullUpdateId);
  return { result: { kind: 'done', counts: done }, isDone: true };
}

/** Whether the ontology is as the commit expects it, and every batch is staged: a missing one would delete its products. */
function* isPrepared(state: CatalogState, order: Order): Program<boolean> {
  const staged = yield* listStagedBatches(order.fullUpdateId);
  return (
    state.ontologyRevision === order.revision &&
    state.ontologyMode === order.mode &&
    staged.length === order.batches
  );
}

/** SQLite counts a table without a condition by its pages. */
export const PRODUCTS = byEngine({ sqlite: text('product'), postgres: sql`product where ${own()}` });

interface Counts {
  readonly present: number;
  /** Present products that the full update holds. */
  readonly staged: number;
  /** Whether several batches hold one of them. */
  readonly isRepeated: boolean | 0 | 1;
}

export function* compareCounts(fullUpdateId: number): Program<Counts> {
  const counted = yield* row<Counts>(
    sql`select (select count(*) from ${PRODUCTS}) as present, count(distinct s.value) as staged,
      count(*) > count(distinct s.value) as "isRepeated" from ${stagedList(fullUpdateId, 'products')}`,
  );
  return counted ?? { present: 0, staged: 0, isRepeated: false };
}

/** Present products `p` that a full update does not hold. */
export const absentProducts = (fullUpdateId: number): Sql =>
  byEngine({
    sqlite: sql`product as p where p.id not in (select s.value from ${stagedList(fullUpdateId, 'products')})`,
    postgres: sql`product as p where ${own('p')} and not exists
      (select 1 from ${stagedList(fullUpdateId, 'products')} where s.value = p.id)`,
  });

function* deleteAbsent(fullUpdateId: number, undo: Undo): Program<void> {
  yield* planForWholeTables();
  const absent = absentProducts(fullUpdateId);
  yield* undo.recordDeleted(absent);
  yield* run(sql`delete from ${absent}`);
}

/** @returns by batch the products that a later batch holds too: the last accepted one wins, docs/interface.md §4.4 */
export function* findRepeated(
  fullUpdateId: number,
  { isRepeated }: Counts,
): Program<ReadonlyMap<number, readonly number[]>> {
  if (!isRepeated) return new Map();
  yield* planForWholeTables();
  const listed = stagedList(fullUpdateId, 'products');
  const found = yield* rows<{ batch: number; id: number }>(
    sql`select s.batch, s.value as id from ${listed} join (select s.value, max(s.batch) as last from ${listed}
      group by s.value having count(*) > 1) r on r.value = s.value and r.last > s.batch`,
  );
  const byBatch = Map.groupBy(found, ({ batch }) => batch);
  return new Map([...byBatch].map(([batch, ids]) => [batch, ids.map(({ id }) => id)]));
}

interface Change {
  readonly order: Order;
  readonly undo: Undo;
  /** Products that a later batch holds too. */
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
      sql`update product as p set document_id = s.document_id, hash = s.hash, ${changedBy}
        from ${part.present} where ${own('p')} and p.id = s.product_id and ${fresh}`,
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
  return changed + (yield* run(sql`update product set ${changedBy} where ${own()} and id ${among(gaining)}`));
}

const PRODUCT_OF_ROW = lookupJoin('product', 'p', sql`p.id = s.product_id`);

function* insertCreated(part: StagedPart, order: Order, undo: Undo): Program<number> {
  if (part.created === 0) return 0;
  const { revision, at, taskNumber } = order;
  // A lookup before the insert takes PostgreSQL less, but without statistics it is planned by another index: 100,000
  // products took 90 s.
  const inserted = yield* run(
    insertInto(
      'product',
      'id, identifier, document_id, hash, ontology_revision, updated_at, updated_by',
      sql`s.product_id, s.identifier, s.document_id, s.hash, cast(${revision} as bigint), cast(${at} as bigint),
        cast(${taskNumber} as bigint) from ${part.absent} where true on conflict do nothing`,
    ),
  );
  yield* undo.recordCreated(part);
  // A later batch holds the others.
  if (inserted < part.created)
    yield* discard(
      sql`s.document_id from ${part.absent} where not exists
        (select 1 from product p where ${own('p')} and p.id = s.product_id)`,
    );
  return inserted;
}
