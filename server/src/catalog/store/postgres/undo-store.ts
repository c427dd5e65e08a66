import type { SqlTransaction } from '../../../storage/storage.ts';
import type { ChangeOrder, RestoreResult } from '../../port.ts';
import { WANTED_PRODUCTS } from './reader-store.ts';
import type { CatalogChange } from './writer-store.ts';

/** The undo log in PostgreSQL: what undo-store.ts says holds here too. */

const BEFORE = 'p.document_id, p.hash, p.ontology_revision, p.updated_at, p.updated_by';
const COLUMNS = `(project_id, undo_id, product_id, identifier, document_after,
  document_before, hash_before, revision_before, updated_at_before, updated_by_before)`;

/** Whether a staged product `s` changes the present product `p`, as in undo-store.ts. */
export const CHANGED_BY_STAGED = `(s.hash <> p.hash or s.ontology_revision < 0
  or (s.is_fresh = 1 and (select answer from document d where d.project_id = s.project_id and d.id = s.document_id)
    <> (select answer from document d where d.project_id = p.project_id and d.id = p.document_id)))`;

/** Staged products `s` of project $1 and full update $2 with the present product `p` of the same identifier. */
export const STAGED_PRESENT = `staged_product s join product p
  on p.project_id = $1 and p.identifier = s.identifier where s.project_id = $1 and s.full_update_id = $2`;

export interface Undo {
  /** Before a commit changes products: those that it will change. */
  recordChanged(fullUpdateId: number): Promise<void>;
  /** Before a commit deletes products: those that it will delete. */
  recordAbsent(fullUpdateId: number): Promise<void>;
  recordCreated(fullUpdateId: number): Promise<void>;
  recordDeleted(identifiers: readonly string[]): Promise<void>;
}

/** Opens the entry of a task; nothing is kept where no commit is. */
export async function openUndo(
  { tx, projectId, row }: CatalogChange,
  { taskNumber, at, keptCommits }: ChangeOrder & { keptCommits: number },
): Promise<Undo> {
  const isKept = keptCommits > 0;
  const undoId = isKept ? row.nextUndoId++ : 0;
  if (isKept) {
    await tx.run('insert into undo_log (project_id, id, task_number, at) values ($1, $2, $3, $4)', [
      ...[projectId, undoId, taskNumber, at],
    ]);
  }
  /** Without an entry the replaced documents are garbage at once. `from` takes $1 and $2, and is about product p. */
  const keep = (after: string, from: string, second: number | readonly string[]) =>
    isKept
      ? tx.run(
          `insert into undo_change ${COLUMNS} select $1, $3, p.id, p.identifier, ${after}, ${BEFORE} from ${from}`,
          [projectId, second, undoId],
        )
      : tx.run(
          `insert into garbage_document (project_id, document_id, identifier)
           select $1, p.document_id, p.identifier from ${from} on conflict do nothing`,
          [projectId, second],
        );

  return {
    async recordChanged(fullUpdateId) {
      await keep('s.document_id', `${STAGED_PRESENT} and ${CHANGED_BY_STAGED}`, fullUpdateId);
    },
    async recordAbsent(fullUpdateId) {
      await keep(
        'null',
        `product p where p.project_id = $1 and not exists (select 1 from staged_product s
         where s.project_id = $1 and s.full_update_id = $2 and s.identifier = p.identifier)`,
        fullUpdateId,
      );
    },
    async recordCreated(fullUpdateId) {
      if (!isKept) return;
      await tx.run(
        `insert into undo_change (project_id, undo_id, product_id, identifier, document_after)
         select $1, $3, s.product_id, s.identifier, s.document_id
         from staged_product s left join product p on p.project_id = $1 and p.identifier = s.identifier
         where s.project_id = $1 and s.full_update_id = $2 and p.id is null`,
        [projectId, fullUpdateId, undoId],
      );
    },
    async recordDeleted(identifiers) {
      await keep('null', WANTED_PRODUCTS, identifiers);
    },
  };
}

/** Marks the entries beyond those that are kept; `collectGarbage` takes them apart. */
export async function dropUndoBeyond(
  tx: SqlTransaction,
  projectId: number,
  keptCommits: number,
): Promise<void> {
  await tx.run(
    `delete from undo_log where project_id = $1 and id not in
     (select id from undo_log where project_id = $1 order by id desc limit $2)`,
    [projectId, keptCommits],
  );
}

const REPORTED = 100_000;

/** Plays the last entry back. @returns undefined when there is none */
export async function playBack({ tx, projectId, row }: CatalogChange): Promise<RestoreResult | undefined> {
  const [last] = await tx.rows<{ id: number | null }>(
    'select max(id) as id from undo_log where project_id = $1',
    [projectId],
  );
  if (last === undefined || last.id === null) return undefined;
  const values = [projectId, last.id];
  const overwritten = await tx.rows<{ identifier: string }>(
    `select u.identifier from undo_change u left join product p on p.project_id = $1 and p.identifier = u.identifier
     where u.project_id = $1 and u.undo_id = $2 and p.document_id is distinct from u.document_after
     order by u.identifier limit ${REPORTED}`,
    values,
  );
  await tx.run(
    `insert into garbage_document (project_id, document_id, identifier) select $1, p.document_id, p.identifier
     from undo_change u join product p on p.project_id = $1 and p.identifier = u.identifier
     where u.project_id = $1 and u.undo_id = $2 and p.document_id is distinct from u.document_before
     on conflict do nothing`,
    values,
  );
  await tx.run(
    `delete from product where project_id = $1 and identifier in
     (select identifier from undo_change where project_id = $1 and undo_id = $2)`,
    values,
  );
  const restored = await tx.run(
    `insert into product (project_id, id, identifier, document_id, hash, ontology_revision, updated_at, updated_by)
     select $1, product_id, identifier, document_before, hash_before, revision_before, updated_at_before,
       updated_by_before
     from undo_change where project_id = $1 and undo_id = $2 and document_before is not null`,
    values,
  );
  const outdated = await tx.rows(
    'select 1 from undo_change where project_id = $1 and undo_id = $2 and revision_before < $3 limit 1',
    [...values, row.ontologyRevision],
  );
  await tx.run('delete from undo_change where project_id = $1 and undo_id = $2', values);
  await tx.run('delete from undo_log where project_id = $1 and id = $2', values);
  return {
    restored,
    overwritten: overwritten.map(({ identifier }) => identifier),
    needsExtraction: outdated.length > 0,
  };
}
