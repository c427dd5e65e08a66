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

/**
 * Whether a staged product `s` changes the present product `p`: the upload differs, or it gains facts of attributes that
 * the full update creates.
 */
export const CHANGED_BY_STAGED = sql`(s.hash <> p.hash or s.gains_facts = 1)`;

export const ofStaged = (fullUpdateId: number) => sql`${own('s')} and s.full_update_id = ${fullUpdateId}`;

/** Staged products `s` with the present product `p` of the same identifier. */
export const stagedPresent = (fullUpdateId: number) => sql`staged_product s
  join product p on ${own('p')} and p.identifier = s.identifier where ${ofStaged(fullUpdateId)}`;

/** Present products `p` that a full update does not hold. */
const absent = (fullUpdateId: number) => sql`product p where ${own('p')} and not exists
  (select 1 from staged_product s where ${ofStaged(fullUpdateId)} and s.identifier = p.identifier)`;

/** Present products `p` of these identifiers. */
export const wantedProducts = (identifiers: readonly string[]): Sql =>
  sql`${listed('w', 'text', identifiers)} ${lookupJoin('product', 'p', sql`p.identifier = w.value`)} where true`;

/** Notes documents without a pointer as garbage; `from` selects each with the identifier of its product. */
export const discard = (from: Sql): Program<number> =>
  run(insertInto('garbage_document', 'document_id, identifier', sql`${from} on conflict do nothing`));

export interface Undo {
  /** 0: nothing is recorded. */
  readonly id: number;
  /** Call it before a commit changes products. */
  recordChanged(fullUpdateId: number): Program<number>;
  /** Call it before a commit deletes products. */
  recordAbsent(fullUpdateId: number): Program<number>;
  /** Call it before a commit creates products. */
  recordCreated(fullUpdateId: number): Program<void>;
  /** Call it before products are deleted. */
  recordDeleted(identifiers: readonly string[]): Program<number>;
}

const BEFORE = 'document_before, hash_before, revision_before, updated_at_before, updated_by_before';
const COLUMNS = `undo_id, product_id, identifier, document_after, ${BEFORE}`;
const PRESENT = sql`p.document_id, p.hash, p.ontology_revision, p.updated_at, p.updated_by`;

/** Opens the entry of a task; with `keptCommits` 0 nothing is recorded, unless an event will tell of it. */
export function* openUndo(
  state: CatalogState,
  { taskNumber, at, keptCommits }: ChangeOrder & { keptCommits: number },
  isTold = false,
): Program<Undo> {
  const isKept = keptCommits > 0 || isTold;
  const undoId = isKept ? state.nextUndoId++ : 0;
  if (isKept) yield* run(insertInto('undo_log', 'id, task_number, at', sql`${undoId}, ${taskNumber}, ${at}`));
  /** Without an entry, replaced documents are garbage at once. */
  const keep = (after: string, from: Sql) =>
    isKept
      ? run(
          insertInto(
            'undo_change',
            COLUMNS,
            sql`${undoId}, p.id, p.identifier, ${text(after)}, ${PRESENT} from ${from}`,
          ),
        )
      : discard(sql`p.document_id, p.identifier from ${from}`);

  return {
    id: undoId,
    recordChanged: (fullUpdateId) =>
      keep('s.document_id', sql`${stagedPresent(fullUpdateId)} and ${CHANGED_BY_STAGED}`),
    recordAbsent: (fullUpdateId) => keep('null', absent(fullUpdateId)),
    *recordCreated(fullUpdateId) {
      if (!isKept) return;
      const created = sql`${undoId}, s.product_id, s.identifier, s.document_id
        from staged_product s left join product p on ${own('p')} and p.identifier = s.identifier
        where ${ofStaged(fullUpdateId)} and p.id is null`;
      yield* run(insertInto('undo_change', 'undo_id, product_id, identifier, document_after', created));
    },
    recordDeleted: (identifiers) => keep('null', wantedProducts(identifiers)),
  };
}

/** Drops the oldest entries; `collectGarbage` removes their changes. */
export const dropUndoBeyond = (keptCommits: number): Program<number> =>
  run(
    sql`delete from undo_log where ${own()} and id not in
      (select id from undo_log where ${own()} order by id desc limit ${keptCommits})`,
  );

export function* canRestore(): Program<boolean> {
  return (yield* row(sql`select 1 from undo_log where ${own()} limit 1`)) !== undefined;
}

const REPORTED = 100_000;

/** Reverts the last entry; `tell` says which it was, while it is there. @returns undefined when there is none */
export function* playBack(
  { ontologyRevision }: CatalogState,
  tell: (undoId: number) => Program<void>,
): Program<RestoreResult | undefined> {
  const last = yield* row<{ id: number | null }>(sql`select max(id) as id from undo_log where ${own()}`);
  if (last === undefined || last.id === null) return undefined;
  const ofEntry = sql`${own()} and undo_id = ${last.id}`;
  const replayed = sql`undo_change u left join product p on ${own('p')} and p.identifier = u.identifier
    where ${own('u')} and u.undo_id = ${last.id}`;
  const overwritten = yield* rows<{ identifier: string }>(
    sql`select u.identifier from ${replayed} and p.document_id is distinct from u.document_after
      order by u.identifier limit ${REPORTED}`,
  );
  yield* discard(
    sql`p.document_id, p.identifier from ${replayed} and p.id is not null
      and p.document_id is distinct from u.document_before`,
  );
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
  yield* tell(last.id);
  yield* run(sql`delete from undo_change where ${ofEntry}`);
  yield* run(sql`delete from undo_log where ${own()} and id = ${last.id}`);
  return {
    restored,
    overwritten: overwritten.map(({ identifier }) => identifier),
    needsExtraction: outdated !== undefined,
  };
}
