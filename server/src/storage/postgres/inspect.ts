import { openPostgres, type PostgresSettings } from './connections.ts';

/** What a PostgreSQL server and the database on it are, for a program that only reads. */
export interface PostgresFacts {
  /** As people write it, e.g. 18.1. */
  readonly version: string;
  readonly major: number;
  readonly isReplica: boolean;
  /** 0: the service has made no tables yet. */
  readonly schema: number;
  /** The last beat of a service, epoch milliseconds; 0: none. */
  readonly beat: number;
}

/** Creates and migrates nothing. @throws not_ready when the server cannot be reached, or refuses the user */
export async function inspectPostgres(settings: PostgresSettings): Promise<PostgresFacts> {
  const postgres = openPostgres({ ...settings, connections: 1 });
  try {
    const [server] = await postgres.rows<{
      version: string;
      number: string;
      isReplica: boolean;
      table: string | null;
    }>(
      `select current_setting('server_version') as version, current_setting('server_version_num') as number,
         pg_is_in_recovery() as "isReplica", to_regclass('service')::text as table`,
    );
    const rows = server?.table
      ? await postgres.rows<{ schema: number; beat: number }>(
          'select schema_version as schema, beat_at as beat from service',
        )
      : [];
    const { schema = 0, beat = 0 } = rows[0] ?? {};
    const major = Math.floor(Number(server?.number) / 10_000);
    return { version: server?.version ?? '', major, isReplica: server?.isReplica === true, schema, beat };
  } finally {
    await postgres.close();
  }
}
