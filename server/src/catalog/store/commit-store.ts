import { insertEvents, listWanted } from '../../events/events.ts';
import {
  among,
  ask,
  byEngine,
  insertInto,
  own,
  type Program,
  row,
  rows,
  run,
  sql,
  text,
} from '../../storage/storage.ts';
import type {
  BatchReview,
  ChangeCounts,
  ChangeOrder,
  CommitOrder,
  CommitResult,
  StagedBatch,
} from '../port.ts';
import { keepRequestLines } from '../report-lines.ts';
import { isGuarded } from '../updates/updates.ts';
import { announceEntry, describeCommit } from './change-events-store.ts';
import { insertAttributes } from './ontology-store.ts';
import type { CatalogState } from './state-store.ts';
import {
  CHANGED_BY_STAGED,
  discard,
  dropUndoBeyond,
  ofStaged,
  openUndo,
  stagedPresent,
} from './undo-store.ts';

/** A product staged as unchanged that is another by now, with the document that it was found with. */
export interface ReplacedProduct {
  readonly identifier: string;
  readonly document: number;
  readonly productId: number;
}

/** A staged document whose product has another id than was foreseen. */
export interface MovedProduct {
  readonly identifier: string;
  readonly document: number;
  readonly productId: number;
}

/** What an engine writes in bulk, and what is derived from documents with it. */
export interface CommitBulk {
  /** The statements that follow compare whole tables. */
  plan(): void | Promise<void>;
  copyDocuments(replaced: readonly ReplacedProduct[]): void | Promise<void>;
  moveDocuments(moved: readonly MovedProduct[]): void | Promise<void>;
}

type Order = ChangeOrder & CommitOrder;

/** The set-based difference of staged and present products, in one transaction. Source: docs/interface.md §4.4. */
export function* commit(
  state: CatalogState,
  order: Order,
  bulk: CommitBulk,
): Program<{ result: CommitResult; isDone: boolean }> {
  if (!(yield* isPrepared(state, order))) return { result: { kind: 'stale' }, isDone: false };
  yield* ask(() => bulk.plan());
  yield* adoptReplaced(order, bulk);
  const counts = yield* compareCounts(order.fullUpdateId);
  const { present, deleted } = counts;
  if (isGuarded(order, present, deleted))
    return { result: { kind: 'guarded', present, deleted }, isDone: false };
  yield* adoptIds(state, order, bulk);
  yield* insertAttributes(order.newAttributes);
  const changed = yield* commitRows(state, order, counts);
  return { result: { kind: 'done', counts: changed }, isDone: true };
}

export const listStagedBatches = (fullUpdateId: number): Program<StagedBatch[]> =>
  rows(
    sql`select batch, observed, extracted_by as "extractedBy" from staged_batch
      where ${own()} and full_update_id = ${fullUpdateId} order by batch`,
  );

/** Replaces what was found of a staged batch by another ontology. */
export function* reviewBatch(_: CatalogState, reviewed: BatchReview): Program<void> {
  const { fullUpdateId, batch, extractedBy, report, gaining } = reviewed;
  const ofBatch = sql`${own()} and full_update_id = ${fullUpdateId} and batch = ${batch}`;
  yield* run(sql`update staged_product set gains_facts = 0 where ${ofBatch} and gains_facts <> 0`);
  yield* run(
    sql`update staged_product set gains_facts = 1 where ${ofBatch} and is_fresh = 0
      and identifier ${among(gaining)}`,
  );
  const known = yield* row<{ report: string }>(sql`select report from staged_batch where ${ofBatch}`);
  yield* run(
    sql`update staged_batch set extracted_by = ${extractedBy}, report = ${keepRequestLines(known?.report) + report}
      where ${ofBatch}`,
  );
}

/** The batch of products that are in none: of those that were left out as not valid. */
const NO_BATCH = 0;

/** Each time anew: they may have changed since. Only a task of the project's order changes them before the commit. */
export function* keepSkipped(
  _: CatalogState,
  { fullUpdateId, identifiers }: { fullUpdateId: number; identifiers: readonly string[] },
): Program<void> {
  const kept = sql`${ofStaged(fullUpdateId)} and s.batch = ${NO_BATCH}`;
  yield* discard(sql`s.document_id, s.identifier from staged_product s where ${kept}`);
  yield* run(sql`delete from staged_product as s where ${kept}`);
  yield* run(
    insertInto(
      'staged_product',
      'full_update_id, identifier, batch, document_id, is_fresh, product_id, is_reserved, hash, gains_facts',
      sql`cast(${fullUpdateId} as bigint), p.identifier, ${NO_BATCH}, p.document_id, 0, p.id, 0, p.hash, 0
        from product p where ${own('p')} and p.identifier ${among(identifiers)} and not exists
          (select 1 from staged_product s where ${ofStaged(fullUpdateId)} and s.identifier = p.identifier)`,
    ),
  );
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

const stagedWithPresent = (fullUpdateId: number) => sql`staged_product s
  left join product p on ${own('p')} and p.identifier = s.identifier where ${ofStaged(fullUpdateId)}`;

/**
 * Products that were staged as unchanged and are another by now get a document of their own: the old one belongs to
 * the undo log or is garbage, and a document with two owners would be removed by one of them.
 */
function* adoptReplaced({ fullUpdateId }: Order, bulk: CommitBulk): Program<void> {
  const replaced = yield* rows<ReplacedProduct>(
    sql`select s.identifier, s.document_id as document, s.product_id as "productId"
      from ${stagedWithPresent(fullUpdateId)} and s.is_fresh = 0 and p.hash is distinct from s.hash`,
  );
  if (replaced.length > 0) yield* ask(() => bulk.copyDocuments(replaced));
}

/**
 * A product got its id when it was staged. Since then it may have come another way, with another id, or one that was
 * there may have gone: an id is never given twice, so it comes back under a new one.
 */
function* adoptIds(state: CatalogState, { fullUpdateId }: Order, bulk: CommitBulk): Program<void> {
  const differing = yield* rows<{ identifier: string; document: number; id: number | null }>(
    sql`select s.identifier, s.document_id as document, p.id from ${stagedWithPresent(fullUpdateId)}
      and s.is_fresh = 1 and (p.id <> s.product_id or (p.id is null and s.is_reserved = 0))`,
  );
  if (differing.length === 0) return;
  const moved = differing.map(({ identifier, document, id }) => ({
    identifier,
    document,
    productId: id ?? state.nextProductId++,
  }));
  yield* ask(() => bulk.moveDocuments(moved));
}

interface Counts {
  readonly present: number;
  readonly deleted: number;
  readonly staged: number;
  readonly created: number;
}

/** SQLite counts a table without a condition by its pages. */
export const PRODUCTS = byEngine({ sqlite: text('product'), postgres: sql`product where ${own()}` });

function* compareCounts(fullUpdateId: number): Program<Counts> {
  const counted = yield* row<{ present: number; kept: number; staged: number }>(
    sql`select (select count(*) from ${PRODUCTS}) as present,
      (select count(*) from staged_product s where ${ofStaged(fullUpdateId)}) as staged,
      (select count(*) from ${stagedPresent(fullUpdateId)}) as kept`,
  );
  const { present = 0, kept = 0, staged = 0 } = counted ?? {};
  return { present, deleted: present - kept, staged, created: staged - kept };
}

/** What is not there to be done is left out: each statement reads both tables. */
function* commitRows(
  state: CatalogState,
  order: Order,
  { staged, deleted, created }: Counts,
): Program<ChangeCounts> {
  const { fullUpdateId, revision, taskNumber, at } = order;
  const wanted = yield* listWanted();
  const undo = yield* openUndo(state, order, wanted.has('products.changed'));
  yield* undo.recordChanged(fullUpdateId);
  if (deleted > 0) {
    yield* undo.recordAbsent(fullUpdateId);
    yield* run(
      sql`delete from product as p where ${own('p')} and not exists (select 1 from staged_product s
        where ${ofStaged(fullUpdateId)} and s.identifier = p.identifier)`,
    );
  }
  // Staged documents that nobody will point to: the catalog got the same product another way meanwhile.
  yield* discard(
    sql`s.document_id, s.identifier from ${stagedPresent(fullUpdateId)}
      and s.is_fresh = 1 and not ${CHANGED_BY_STAGED}`,
  );
  const changed = yield* run(
    sql`update product as p set document_id = s.document_id, hash = s.hash,
        ontology_revision = ${revision}, updated_at = ${at}, updated_by = ${taskNumber}
      from staged_product s where ${own('p')} and ${ofStaged(fullUpdateId)} and s.identifier = p.identifier
        and ${CHANGED_BY_STAGED}`,
  );
  if (created > 0) {
    yield* undo.recordCreated(fullUpdateId);
    yield* insertCreated(order);
  }
  yield* dropUndoBeyond(order.keptCommits);
  yield* run(noteCommit(fullUpdateId));
  const counts = { created, changed, unchanged: staged - created - changed, deleted };
  if (wanted.has('catalog.committed')) yield* insertEvents([describeCommit(order, counts)]);
  if (wanted.has('products.changed')) yield* announceEntry(order, undo.id);
  return counts;
}

/** Sorted keys make the index grow page by page instead of all over. */
const insertCreated = ({ fullUpdateId, revision, at, taskNumber }: Order) =>
  run(
    insertInto(
      'product',
      'id, identifier, document_id, hash, ontology_revision, updated_at, updated_by',
      sql`s.product_id, s.identifier, s.document_id, s.hash, cast(${revision} as bigint), cast(${at} as bigint),
        cast(${taskNumber} as bigint)
        from ${stagedWithPresent(fullUpdateId)} and p.id is null order by s.identifier`,
    ),
  );

/** Its documents are products by now; `dropGarbage` asks. */
const noteCommit = (fullUpdateId: number) =>
  byEngine({
    sqlite: sql`insert or replace into meta (name, value) values ('committed:' || ${fullUpdateId}, 1)`,
    postgres: sql`${insertInto('committed_full_update', 'full_update_id', sql`${fullUpdateId}`)}
      on conflict do nothing`,
  });
