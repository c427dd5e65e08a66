import { DatabaseSync } from 'node:sqlite';
import type { DataFolder } from '../storage/folder/folder.ts';
import { findLostTask } from '../transfer/transfer.ts';

/** Reconciles the copies in a backup. Catalogs were copied after the control database, so they are ahead of it. */

/**
 * Discards staged batches. Open full updates are staged again from their bodies. The number of a full update that began
 * after the control database was copied may be used again.
 * @returns the number of the last task that took effect
 */
export function settleCatalog(path: string): number {
  using catalog = new DatabaseSync(path);
  catalog.exec(`
    begin immediate;
    insert or ignore into garbage_document select d.id from staged_batch b
      join document d on d.id >= b.first_document and d.id < b.first_document + b.created + b.changed;
    delete from staged_batch;
    commit;
  `);
  return Number(catalog.prepare("select value from meta where name = 'last_task'").get()?.value);
}

const TAKE_END = `update task set status = o.status, progress = o.progress, finish_time = o.finish_time,
   failure = o.failure, result = o.result, log_counter = o.log_counter, leased_by = null, lease_until = null`;

/**
 * Brings the copied control database up to the state of the catalogs, which were copied later. Tasks that ended in
 * between are read from the original. An ordered task ends before the next one takes effect, so of the tasks in a
 * catalog only the last may still be open.
 * @throws Error if the body of a task that has not taken effect is missing
 */
export function settleControl(
  control: DatabaseSync,
  source: DataFolder,
  copied: { applied: ReadonlyMap<number, number>; missing: readonly string[] },
): void {
  const applied = JSON.stringify(Object.fromEntries(copied.applied));
  const missing = JSON.stringify(copied.missing);
  control.prepare('attach ? as original').run(source.control);
  // `begin immediate` would also take the write lock of the original.
  control.exec('begin');
  const isApplied = `task.number <= (select value from json_each(:applied) where key = cast(task.project_id as text))`;
  const ended = control
    .prepare(
      `${TAKE_END} from original.task o where o.number = task.number and task.is_ordered = 1
         and task.status in ('PENDING', 'RUNNING')
         and (o.status in ('FAILED', 'CANCELLED') or (o.status = 'FINISHED' and ${isApplied}))
       returning task.number`,
    )
    .all({ applied });
  for (const { number } of [...ended, ...endRuns(control, missing)]) copyEnd(control, Number(number));
  control
    .prepare(
      `update task set status = 'FINISHED', progress = 100, finish_time = :now, leased_by = null, lease_until = null
       where is_ordered = 1 and status in ('PENDING', 'RUNNING') and ${isApplied}`,
    )
    .run({ applied, now: Date.now() });
  // Discards full updates that a call closed after the control database was copied.
  control
    .prepare(
      `update full_update set state = 'discarded' where state = 'open' and id in (select full_update_id
       from full_update_batch where payload_name in (select value from json_each(?)))`,
    )
    .run(missing);
  raiseTaskNumber(control, Math.max(0, ...copied.applied.values()));
  const lost = findLostTask(control, copied.missing);
  if (lost !== undefined) throw new Error(`a body of the open task ${lost} is missing`);
  control.exec('commit');
}

/** A run whose file was removed ended before the catalogs were copied, so the catalogs have all its writes. */
function endRuns(control: DatabaseSync, missing: string) {
  return control
    .prepare(
      `${TAKE_END} from original.task o where o.number = task.number and task.status in ('PENDING', 'RUNNING')
         and task.number in (select r.task_number from pipeline_run r, json_each(r.upload, '$.pieces') p
           where p.value in (select value from json_each(:missing)))
       returning task.number`,
    )
    .all({ missing });
}

function copyEnd(control: DatabaseSync, taskNumber: number): void {
  for (const table of ['task_log', 'task_report']) {
    control.prepare(`delete from ${table} where task_number = ?`).run(taskNumber);
    control
      .prepare(`insert into ${table} select * from original.${table} where task_number = ?`)
      .run(taskNumber);
  }
}

function raiseTaskNumber(control: DatabaseSync, least: number): void {
  const { changes } = control
    .prepare("update sqlite_sequence set seq = max(seq, ?) where name = 'task'")
    .run(least);
  if (changes === 0) control.prepare("insert into sqlite_sequence (name, seq) values ('task', ?)").run(least);
}
