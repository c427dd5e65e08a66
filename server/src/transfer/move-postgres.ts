import { createPayloadRows } from '../storage/payloads/payloads.ts';
import {
  CopyRows,
  copyInto,
  openPostgres,
  type Postgres,
  type SqlTransaction,
} from '../storage/postgres/postgres.ts';
import { performOn, SERVICE, type SqlSession } from '../storage/programs/programs.ts';
import { findMove, MOVE_PROGRESS } from '../storage/storage.ts';
import type { MoveDriver, Unit } from './move-driver.ts';
import { addToCopy, type MovedRow, quoted, sizeOfRow } from './move-tables.ts';

/** The name of a move's sessions. Sessions of the service are named `relata` with the id of their process. */
export const MOVE_SESSION = 'relata-migrate-store';

/**
 * Does not prepare statements, so that any proxy accepts them. Parsing a statement takes little time compared
 * with copying a page.
 */
export function openMoved(url: string): Postgres {
  const named = new URL(url);
  named.searchParams.set('application_name', MOVE_SESSION);
  return openPostgres({ url: named.href, connections: 1, prepares: false });
}

export function hidePassword(url: string): string {
  const shown = new URL(url);
  shown.password = '';
  shown.search = '';
  return shown.href;
}

/** A serving process updates its heartbeat more often than this. */
const SERVED_MS = 10_000;

/** @throws Error if a process of the service was active within the last 10 seconds */
export async function refuseServed(postgres: SqlSession, name: string): Promise<void> {
  const [row] = await postgres.rows<{ isServed: boolean }>(
    `with clock as (select clock_timestamp() as at, extract(epoch from clock_timestamp()) * 1000 as now)
     select exists (select 1 from service, clock where beat_at > now - $1::bigint)
       or exists (select 1 from task, clock where status in ('PENDING', 'RUNNING') and lease_until > now)
       or exists (select 1 from pg_stat_activity, clock
         where datname = current_database() and split_part(application_name, ' ', 1) = 'relata'
           and (state <> 'idle' or state_change > at - $1::bigint * interval '1 ms')) as "isServed"`,
    [SERVED_MS],
  );
  if (row?.isServed) {
    throw new Error(
      `${name} is served: stop every process that uses it. After a crash, wait half a minute or use --force`,
    );
  }
}

export function createPostgresDriver(postgres: Postgres, name: string): MoveDriver {
  // Uses `draft`, because counting takes longer than the time limit for statements of the service.
  const session: SqlSession = {
    rows: (sql, values) => postgres.draft((tx) => tx.rows(sql, values)),
    run: (sql, values) => postgres.draft((tx) => tx.run(sql, values)),
  };
  return {
    name,
    engine: 'postgres',
    payloads: createPayloadRows(postgres),
    async findPayloadBytes(projectId, payload) {
      const [row] = await session.rows<{ bytes: number | null }>(
        'select cast(sum(octet_length(bytes)) as bigint) as bytes from payload where project_id = $1 and name = $2',
        [projectId, payload],
      );
      return row?.bytes ?? undefined;
    },
    listProjects: async () => [SERVICE],
    open: () => session,
    transaction: (_projectId, work) =>
      postgres.transaction((tx) => work({ ...tx, insert: (unit, rows) => copyRows(tx, unit, rows) })),
    async readCounters() {
      const rows = await postgres.rows<{ table: string; last: number }>(
        `select c.relname as "table", coalesce(pg_sequence_last_value(${SEQUENCE}), 0) as last from ${IDENTITIES}`,
      );
      return new Map(rows.map(({ table, last }) => [table, last]));
    },
    writeCounters: (counters) =>
      postgres.transaction(async (tx) => {
        const statement = `select setval(${SEQUENCE}, $2::bigint) from ${IDENTITIES} and c.relname = $1`;
        for (const [table, last] of counters) if (last > 0) await tx.run(statement, [table, last]);
      }),
    findMove: () => performOn(postgres, SERVICE, findMove()),
    // Without `analyze` the next lookups would be planned for empty tables.
    settle: () => postgres.transaction(async (tx) => void (await tx.run('analyze'))),
    endMove: async () => void (await postgres.run(`drop table ${MOVE_PROGRESS}`)),
    close: () => postgres.close(),
  };
}

const SEQUENCE = "pg_get_serial_sequence(format('%I', c.relname), a.attname)::regclass";
const IDENTITIES = `pg_class c join pg_attribute a on a.attrelid = c.oid and a.attidentity <> ''
  where c.relnamespace = current_schema()::regnamespace`;

async function copyRows(tx: SqlTransaction, { table, projectId }: Unit, rows: readonly MovedRow[]) {
  const names = table.columns.map(({ name }) => quoted(name));
  const copied = table.isOfCatalog ? ['project_id', ...names] : names;
  const bytes = rows.reduce((sum, row) => sum + sizeOfRow(row) + 4 * copied.length + 10, 0);
  const copy = new CopyRows(copied.length, bytes);
  for (const row of rows) {
    copy.begin();
    if (table.isOfCatalog) copy.integer(projectId);
    addToCopy(copy, row, table.columns);
  }
  await tx.copyIn(copyInto(quoted(table.name), copied), copy.finish());
}
