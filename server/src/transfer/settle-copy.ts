import { DatabaseSync } from 'node:sqlite';
import type { DataFolder } from '../storage/storage.ts';

/** Makes the copies of a backup agree: catalogs that were copied after the control database are ahead of it. */

/**
 * Nothing stays staged: open full updates are staged anew from their bodies, and the number of a full update that was
 * begun after the control database was copied may be given again.
 * @returns the number of the last task applied
 */
export function settleCatalog(path: string): number {
  const catalog = new DatabaseSync(path);
  catalog.exec(`
    begin immediate;
    insert or ignore into garbage_document select d.id from staged_batch b
      join document d on d.id >= b.first_document and d.id < b.first_document + b.created + b.changed;
    delete from staged_batch;
    commit;
  `);
  const lastTask = catalog.prepare("select value from meta where name = 'last_task'").get()?.value;
  catalog.close();
  return Number(lastTask);
}

const TAKE_END = `update task set status = o.status, progress = o.progress, finish_time = o.finish_time,
   failure = o.failure, result = o.result, log_counter = o.log_counter, leased_by = null, lease_until = null`;

/**
 * Brings the copied control database up to the catalogs, which were copied later. What ended in between is taken from
 * the original: an ordered task ends before the next one takes effect, so of those that a catalog holds only the last
 * may still be open there.
 * @throws Error when a body is missing whose task has not taken effect
 */
export function settleControl(
  control: DatabaseSync,
  source: DataFolder,
  copied: { applied: ReadonlyMap<number, number>; missing: readonly string[] },
): void {
  const applied = JSON.stringify(Object.fromEntries(copied.applied));
  const missing = JSON.stringify(copied.missing);
  control.prepare('attach ? as original').run(source.control);
  // Not immediate: that would take the write lock of the original too.
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
  // Closed by a call that came after the control database was copied.
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

/** A run whose file is gone has ended before the catalogs were copied, which have all that it wrote. */
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

/** @returns the id of an open task that needs one of the bodies that are missing; undefined: there is none */
export function findLostTask(control: DatabaseSync, names: readonly string[]): string | undefined {
  const missing = JSON.stringify(names);
  const lost = control
    .prepare(
      `select id from task where status in ('PENDING', 'RUNNING')
         and (payload ->> '$.source.payloadName' in (select value from json_each(:missing))
           or exists (select 1 from json_each(task.payload, '$.payloadNames') n, json_each(:missing) m where n.value = m.value))
       union select t.id from full_update_batch b join full_update f on f.id = b.full_update_id
         join task t on t.id = f.commit_task_id
       where t.status in ('PENDING', 'RUNNING') and b.payload_name in (select value from json_each(:missing))`,
    )
    .get({ missing });
  return lost && String(lost.id);
}

function raiseTaskNumber(control: DatabaseSync, least: number): void {
  const { changes } = control
    .prepare("update sqlite_sequence set seq = max(seq, ?) where name = 'task'")
    .run(least);
  if (changes === 0) control.prepare("insert into sqlite_sequence (name, seq) values ('task', ?)").run(least);
}
