import {
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely';
import type { ControlSchema, Database } from '../database.ts';
import type { Postgres, SqlConnection } from './connections.ts';

/** The service's own tables in PostgreSQL, which other processes read and write too. */
export function openPostgresDatabase(postgres: Postgres, processId: string): Database {
  const kysely = new Kysely<ControlSchema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => createPoolDriver(postgres),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  return {
    isShared: true,
    processId,
    read: kysely,
    now: sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`,
    write: (of, work) =>
      kysely.transaction().execute(async (tx) => {
        // Of two tasks of a project accepted at once, the one with the greater number becomes visible second.
        if (of === 'all') await sql`select from service where id = 1 for update`.execute(tx);
        else if (of !== 'rows') await sql`select from project where id = ${of} for no key update`.execute(tx);
        return work(tx);
      }),
    close: () => kysely.destroy(),
  };
}

/** Kysely's own driver has neither our errors nor prepared statements. */
function createPoolDriver(postgres: Postgres): Driver {
  const lent = new WeakMap<DatabaseConnection, SqlConnection>();
  const execute = (connection: DatabaseConnection, text: string) =>
    (lent.get(connection) as SqlConnection).query(text, []);
  return {
    async init() {},
    async acquireConnection() {
      const sqlConnection = await postgres.connect();
      const connection: DatabaseConnection = {
        async executeQuery<Row>({ sql: text, parameters }: { sql: string; parameters: readonly unknown[] }) {
          const { rows, changed } = await sqlConnection.query(text, parameters);
          return { rows: rows as Row[], numAffectedRows: BigInt(changed) };
        },
        streamQuery() {
          throw new Error('nothing is streamed');
        },
      };
      lent.set(connection, sqlConnection);
      return connection;
    },
    beginTransaction: async (connection) => lent.get(connection)?.begin(),
    commitTransaction: async (connection) => void (await execute(connection, 'commit')),
    // A lost connection has rolled back already.
    rollbackTransaction: async (connection) => void (await execute(connection, 'rollback').catch(() => {})),
    releaseConnection: async (connection) => lent.get(connection)?.release(),
    destroy: async () => {},
  };
}
