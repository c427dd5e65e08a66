import { readMigrations } from '../migrations/migrations.ts';
import { CopyRows, copyInto } from './copy-rows.ts';
import type { Postgres } from './open-postgres.ts';
import type { SqlTransaction } from './postgres-session.ts';

/**
 * An id that no project, account or task has. The trial sets ids explicitly, because an identity column never issues a
 * number again.
 */
const NONE = -1;

/**
 * Makes one write of each kind that the service makes, in every table, and rolls them all back. So a start detects a
 * database that would refuse some writes, and it does so before the service accepts requests.
 * @throws not_ready, or the error of the database
 */
export function tryWrites(postgres: Postgres): Promise<void> {
  return postgres.draft(async (tx) => {
    await tx.run(inEveryTable());
    await acceptAndClaim(tx);
    const rows = new CopyRows(4).begin().integer(NONE).integer(NONE).integer(NONE).text('{}');
    await tx.copyIn(copyInto('document', ['project_id', 'id', 'product_id', 'raw']), rows.finish());
  });
}

/** PostgreSQL checks privileges even for a statement that matches no rows. Only the service's own tables are tried. */
function inEveryTable(): string {
  const tables = readMigrations('postgres').flatMap(({ sql }) =>
    [...sql.matchAll(/^create table (\w+)/gm)].map(([, name]) => `'${name}'`),
  );
  return `do $$ declare one record; begin
  for one in select relname, attname from pg_class join pg_attribute on attrelid = pg_class.oid and attnum = 1
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
      and relname in (${tables})
  loop
    execute format('insert into %1$I (%2$I) select %2$I from %1$I where false', one.relname, one.attname);
    execute format('update %1$I set %2$I = %2$I where false', one.relname, one.attname);
    execute format('delete from %1$I where false', one.relname);
  end loop;
end $$`;
}

/**
 * Statements that a distributed database may refuse: references, queries among values, locks in joins, the clock in an
 * update.
 */
async function acceptAndClaim(tx: SqlTransaction): Promise<void> {
  await tx.run('insert into account (id, name, created_at) values ($1, $2, 0)', [NONE, 'trial of the start']);
  await tx.run(
    `insert into api_key (id, account_id, name, scope_type, access, hash, first_characters, created_at, created_by)
     values ($1, $1, '', 'account', 'read', 'trial of the start', '', 0, '')`,
    [NONE],
  );
  await tx.run(
    `insert into task (project_id, number, id, project_name, kind, name, origin, increment_type, status, is_ordered,
       request_time, start_time, payload, log_counter)
     values ($1, $1, '', '', '', '', '', '', 'PENDING', 1, 0, 0, '{}',
       (select count(*) from task where project_id = $1))`,
    [NONE],
  );
  const claimed = await tx.run(
    `with claimed as (
       select task.project_id, task.number
       from (select project_id, number from task where project_id = $1 order by number limit 1) head
       join task on task.project_id = head.project_id and task.number = head.number
       for update of task skip locked)
     update task set lease_until = (extract(epoch from clock_timestamp()) * 1000)::bigint
     from claimed where task.project_id = claimed.project_id and task.number = claimed.number`,
    [NONE],
  );
  if (claimed !== 1) throw new Error('a task that was just accepted cannot be claimed');
}
