import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely';
import type { ControlSchema, Database } from '../database.ts';
import type { Postgres } from './open-postgres.ts';

/** The service's own tables in PostgreSQL, which other processes also read and write. */
export function openPostgresDatabase({ connect }: Postgres, processId: string): Database {
  // The connections belong to the service, which closes them.
  const pool = { connect, end: async () => {} } as PostgresPool;
  const kysely = new Kysely<ControlSchema>({ dialect: new PostgresDialect({ pool }) });
  return {
    isShared: true,
    processId,
    read: kysely,
    now: sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`,
    write: (of, work) =>
      kysely.transaction().execute(async (tx) => {
        // If two tasks of a project are accepted at the same time, the task with the greater number becomes visible
        // second.
        if (of === 'all') await sql`select from service where id = 1 for update`.execute(tx);
        else if (of !== 'rows') await sql`select from project where id = ${of} for no key update`.execute(tx);
        return work(tx);
      }),
    close: () => kysely.destroy(),
  };
}
