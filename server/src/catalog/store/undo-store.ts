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
import type { ChangeOrder, RestoreResult } from '../port.ts';
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
  /** Call it before products change; `from` has each as `p`, `after` says which document it gets. */
  recordChanged(after: Sql, from: Sql): Program<number>;
  /** Call it before products are deleted; `from` has each as `p`. */
  recordDeleted(from: Sql): Program<number>;
  /** Products whose ids and documents run on; ids among them that no product got do no harm. */
  recordCreated(created: CreatedRange): Program<void>;
}

export interface CreatedRange {
  readonly firstProduct: number;
  readonly firstDocument: number;
  readonly created: number;
}

const BEFORE = 'document_before, hash_before, revision_before, updated_at_before, updated_by_before';
const COLUMNS = `undo_id, product_id, identifier, document_after, ${BEFORE}`;
const PRESENT = sql`p.document_id, p.hash, p.ontology_revision, p.updated_at, p.updated_by`;

/** Opens the entry of a task; with `keptCommits` 0 nothing is recorded. */
export function* openUndo(
  state: CatalogState,
  { taskNumber, at, keptCommits }: ChangeOrder & { keptCommits: number },
): Program<Undo> {
  const isKept = keptCommits > 0;
  const undoId = isKept ? state.nextUndoId++ : 0;
  if (isKept) yield* run(insertInto('undo_log', 'id, task_number, at', sql`${undoId}, ${taskNumber}, ${at}`));
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
    recordChanged,
    recordDeleted: (from) => recordChanged(text('null'), from),
    *recordCreated({ firstProduct, firstDocument, created }) {
      if (!isKept) return;
      const range = sql`${undoId}, ${firstProduct}, ${firstDocument}, ${created}`;
      yield* run(insertInto('undo_created', 'undo_id, first_product, first_document, created', range));
    },
  };
}

/** Drops the oldest entries; `collectGarbage` removes their changes. */
export function* dropUndoBeyond(keptCommits: number): Program<void> {
  yield* run(
    sql`delete from undo_log where ${own()} and id not in
      (select id from undo_log where ${own()} order by id desc limit ${keptCommits})`,
  );
  yield* run(
    sql`delete from undo_created where ${own()} and undo_id not in (select id from undo_log where ${own()})`,
  );
}

export function* canRestore(): Program<boolean> {
  return (yield* row(sql`select 1 from undo_log where ${own()} limit 1`)) !== undefined;
}

const REPORTED = 100_000;

/** Reverts the last entry. @returns undefined when there is none */
export function* playBack({ ontologyRevision }: CatalogState): Program<RestoreResult | undefined> {
  const last = yield* row<{ id: number | null }>(sql`select max(id) as id from undo_log where ${own()}`);
  if (last === undefined || last.id === null) return undefined;
  const ofEntry = sql`${own()} and undo_id = ${last.id}`;
  const replayed = sql`undo_change u left join product p on ${own('p')} and p.identifier = u.identifier
    where ${own('u')} and u.undo_id = ${last.id}`;
  // Whatever deleted one of them since has an entry of its own, which was reverted before.
  const created = sql`undo_created u join product p on ${own('p')} and p.id >= u.first_product
    and p.id < u.first_product + u.created where ${own('u')} and u.undo_id = ${last.id}`;
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
  yield* run(sql`delete from undo_log where ${own()} and id = ${last.id}`);
  return {
    restored,
    overwritten: overwritten.map(({ identifier }) => identifier),
    needsExtraction: outdated !== undefined,
  };
}
