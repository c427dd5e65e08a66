import {
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
import type { ChangeCounts, ChangeOrder, KeptCommit, RestoreResult, UndoOrder } from '../port.ts';
import type { CatalogState } from './state-store.ts';

/**
 * What a commit or delete replaced. Its size is that of the change: documents stay where they are, and the log points
 * to them. Source: docs/interface.md §4.5.
 */

/** Present products `p` of these identifiers. */
export const wantedProducts = (identifiers: readonly string[]): Sql =>
  sql`${listed('w', 'text', identifiers)} ${lookupJoin('product', 'p', sql`p.identifier = w.value`)} where true`;

/** Notes documents without a pointer as garbage; `from` selects each, with a condition. */
export const discard = (from: Sql): Program<number> =>
  run(insertInto('garbage_document', 'document_id', sql`${from} on conflict do nothing`));

export interface Undo {
  /** 0: nothing is recorded. */
  readonly id: number;
  /** Call it before products change; `from` has each as `p`, `after` says which document it gets. */
  recordChanged(after: Sql, from: Sql): Program<number>;
  /** Call it before products are deleted; `from` has each as `p`. */
  recordDeleted(from: Sql): Program<number>;
  /** Products whose ids and documents run on; ids among them that no product got do no harm. */
  recordCreated(created: CreatedRange): Program<void>;
  /** Writes the entry, and drops what is beyond the limits. */
  close(kind: KeptCommit['kind'], counts: Omit<ChangeCounts, 'unchanged'>): Program<void>;
}

export interface CreatedRange {
  readonly firstProduct: number;
  readonly firstDocument: number;
  readonly created: number;
}

const BEFORE = 'document_before, hash_before, revision_before, updated_at_before, updated_by_before';
const COLUMNS = `undo_id, product_id, identifier, document_after, ${BEFORE}`;
const COUNTS = 'created, changed, deleted';
const ABOUT = `kind, author, catalog_version, ${COUNTS}`;
const PRESENT = sql`p.document_id, p.hash, p.ontology_revision, p.updated_at, p.updated_by`;

/** Opens the entry of a task; with `keptCommits` 0 nothing is recorded, unless an event will tell of it. */
export function openUndo(state: CatalogState, order: ChangeOrder & UndoOrder, isTold = false): Undo {
  const { taskNumber, at, author } = order;
  const isKept = order.keptCommits > 0 || isTold;
  const undoId = isKept ? state.nextUndoId++ : 0;
  /** Without an entry, replaced documents are garbage at once. */
  const recordChanged = (after: Sql, from: Sql) =>
    isKept
      ? run(
          insertInto(
            'undo_change',
            COLUMNS,
            sql`${undoId}, p.id, p.identifier, ${after}, ${PRESENT} from ${from}`,
          ),
        )
      : discard(sql`p.document_id from ${from}`);

  return {
    id: undoId,
    recordChanged,
    recordDeleted: (from) => recordChanged(text('null'), from),
    *recordCreated({ firstProduct, firstDocument, created }) {
      if (!isKept) return;
      const range = sql`${undoId}, ${firstProduct}, ${firstDocument}, ${created}`;
      yield* run(insertInto('undo_created', 'undo_id, first_product, first_document, created', range));
    },
    *close(kind, { created, changed, deleted }) {
      const who = author === undefined ? null : JSON.stringify(author);
      const entry = sql`${undoId}, ${taskNumber}, ${at}, ${kind}, ${who}, ${state.catalogVersion + 1},
        ${created}, ${changed}, ${deleted}`;
      if (isKept) yield* run(insertInto('undo_log', `id, task_number, at, ${ABOUT}`, entry));
      yield* dropUndoBeyond(order);
    },
  };
}

/** Drops the oldest entries; `collectGarbage` removes their changes. */
function* dropUndoBeyond({ keptCommits, keptSince = 0 }: UndoOrder): Program<void> {
  yield* run(
    sql`delete from undo_log where ${own()} and (at < ${keptSince} or id not in
      (select id from undo_log where ${own()} order by id desc limit ${keptCommits}))`,
  );
  yield* dropCreatedAlone();
}

/** Drops entries of an earlier time. */
export function* dropUndoBefore(keptSince: number | undefined): Program<void> {
  if (keptSince === undefined) return;
  const dropped = yield* run(sql`delete from undo_log where ${own()} and at < ${keptSince}`);
  if (dropped > 0) yield* dropCreatedAlone();
}

function* dropCreatedAlone(): Program<void> {
  yield* run(
    sql`delete from undo_created where ${own()} and undo_id not in (select id from undo_log where ${own()})`,
  );
}

/** @returns the entries, the last one first */
export const listEntries = (): Program<UndoEntry[]> =>
  rows(
    sql`select id, task_number as "commit", at, kind, author, catalog_version as "catalogVersion", ${text(COUNTS)}
      from undo_log where ${own()} order by id desc`,
  );

export interface UndoEntry extends Omit<KeptCommit, 'author'> {
  /** In the log; given again after a restore. */
  readonly id: number;
  /** The number of its task, by which callers know it. */
  readonly commit: number;
  /** JSON */
  readonly author: string | null;
}

export function* listKeptCommits(): Program<KeptCommit[]> {
  return (yield* listEntries()).map(toKeptCommit);
}

export const toKeptCommit = ({ commit, author, ...entry }: UndoEntry): KeptCommit => ({
  ...{ ...entry, id: commit },
  author: author === null ? null : (JSON.parse(author) as KeptCommit['author']),
});

/** Of later changes that a restore overwrites. */
export const REPORTED = 100_000;

/** Reverts the last entry, whose id in the log is `last`. */
export function* playBack({ ontologyRevision }: CatalogState, last: number): Program<RestoreResult> {
  const ofEntry = sql`${own()} and undo_id = ${last}`;
  const replayed = sql`undo_change u left join product p on ${own('p')} and p.identifier = u.identifier
    where ${own('u')} and u.undo_id = ${last}`;
  // Whatever deleted one of them since has an entry of its own, which was reverted before.
  const created = sql`undo_created u join product p on ${own('p')} and p.id >= u.first_product
    and p.id < u.first_product + u.created where ${own('u')} and u.undo_id = ${last}`;
  const overwritten = yield* rows<{ identifier: string }>(
    sql`select u.identifier from ${replayed} and p.document_id is distinct from u.document_after
      union all select p.identifier from ${created} and p.document_id <> u.first_document + p.id - u.first_product
      order by 1 limit ${REPORTED}`,
  );
  yield* discard(
    sql`p.document_id from ${replayed} and p.id is not null and p.document_id is distinct from u.document_before`,
  );
  yield* discard(sql`p.document_id from ${created}`);
  yield* run(sql`delete from product where ${own()} and id in (select p.id from ${created})`);
  yield* run(
    sql`delete from product where ${own()} and identifier in
      (select identifier from undo_change where ${ofEntry})`,
  );
  const restored = yield* run(
    insertInto(
      'product',
      'id, identifier, document_id, hash, ontology_revision, updated_at, updated_by',
      sql`product_id, identifier, ${text(BEFORE)} from undo_change
        where ${ofEntry} and document_before is not null`,
    ),
  );
  const outdated = yield* row(
    sql`select 1 from undo_change where ${ofEntry} and revision_before < ${ontologyRevision} limit 1`,
  );
  yield* run(sql`delete from undo_change where ${ofEntry}`);
  yield* run(sql`delete from undo_created where ${ofEntry}`);
  yield* run(sql`delete from undo_log where ${own()} and id = ${last}`);
  return {
    restored,
    overwritten: overwritten.map(({ identifier }) => identifier),
    needsExtraction: outdated !== undefined,
  };
}
