import type { Postgres, SqlSession, SqlTransaction, SqlValue } from '../storage/storage.ts';
import {
  CopyRows,
  copyInto,
  createPayloadRows,
  findMoveRow,
  MOVE_ROW as MOVE,
  MOVE_PROGRESS,
  SERVICE,
} from '../storage/storage.ts';
import type { Counters, MovedPayload, MoveEnd, Progress, Step, Unit, UnitSize } from './move-ends.ts';
import type { MovedColumn, MovedTable } from './move-layout.ts';
import {
  addToCopy,
  type MovedRow,
  PAGE_BYTES,
  PAGE_ROWS,
  type Page,
  readPlace,
  readValue,
  sizeOf,
  writePlace,
} from './move-rows.ts';

const quoted = (name: string) => `"${name}"`;
const listed = (columns: readonly MovedColumn[]) => columns.map(({ name }) => quoted(name)).join(', ');

/** As sessions of a move are named, beside those of the service, which are `relata` and the id of their process. */
export const MOVE_SESSION = 'relata-migrate-store';

/** A process that serves says something more often than this. */
const SERVED_MS = 10_000;

/** @throws Error when a process of the service was there within the last seconds */
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
      `${name} is served: stop every process that uses it. After a crash wait half a minute, or say --force`,
    );
  }
}

export function createPostgresEnd(
  postgres: Postgres,
  { name, tables }: { name: string; tables: readonly MovedTable[] },
): MoveEnd {
  const payloads = createPayloadRows(postgres);
  return {
    name,
    readIdentity: () => readIdentity(postgres),
    measure: () => postgres.draft((tx) => measureTables(tx, tables)),
    read: (unit, after) => readPage(postgres, unit, after),
    readCounters: () => readCounters(postgres),
    listPayloads: () => postgres.draft((tx) => tx.rows<MovedPayload>(OWNED_PAYLOADS)),
    readPayload: (payload) => payloads.read(payload.projectId, payload.name),
    findMove: () => findMoveRow(postgres),
    beginMove: (identity) => postgres.transaction((tx) => beginMove(tx, identity)),
    findProgress: (unit) => findProgress(postgres, unit),
    write: (unit, rows, step) =>
      postgres.transaction(async (tx) => {
        await advance(tx, unit, step);
        if (rows.length > 0) await copyRows(tx, unit, rows);
      }),
    writeCounters: (counters) => postgres.transaction((tx) => writeCounters(tx, counters)),
    async writePayload(payload, bytes) {
      await payloads.remove(payload.projectId, payload.name);
      await payloads.write(payload.projectId, payload.name, bytes);
    },
    // What is looked up next would be planned for empty tables.
    settle: () => postgres.transaction(async (tx) => void (await tx.run('analyze'))),
    endMove: async () => void (await postgres.run(`drop table ${MOVE_PROGRESS}`)),
    close: () => postgres.close(),
  };
}

async function readIdentity(postgres: SqlSession): Promise<string | undefined> {
  const [account] = await postgres.rows<{ id: number; name: string; createdAt: number }>(
    'select id, name, created_at as "createdAt" from account order by id limit 1',
  );
  return account && JSON.stringify([account.id, account.name, account.createdAt]);
}

/** Octets are counted without reading what is stored outside of the row. */
function sizeExpression(columns: readonly MovedColumn[]): string {
  const sizes = columns.map(({ name, kind }) =>
    kind === 'text' || kind === 'bytes' ? `coalesce(octet_length(${quoted(name)}), 0)` : '8',
  );
  return `(${sizes.join(' + ')})`;
}

async function measureTables(tx: SqlSession, tables: readonly MovedTable[]): Promise<UnitSize[]> {
  const units: UnitSize[] = [];
  for (const table of tables) {
    const project = table.isOfCatalog ? 'project_id' : `${SERVICE}::bigint`;
    const sizes = await tx.rows<{ projectId: number; rows: number; bytes: number }>(
      `select ${project} as "projectId", count(*) as rows, coalesce(sum(${sizeExpression(table.columns)}), 0)::bigint as bytes
       from ${quoted(table.name)} group by 1 order by 1`,
    );
    for (const size of sizes) units.push({ table, ...size });
  }
  return units;
}

/**
 * The number of rows is bounded by a constant, so that the plan is that of an index, their bytes by a running sum:
 * the driver takes an answer whole.
 */
function pageStatement({ columns, isOfCatalog, name, keys }: MovedTable, isFirst: boolean): string {
  const key = keys.postgres;
  const order = listed(key);
  const types = { integer: 'bigint', number: 'double precision', text: 'text', bytes: 'bytea' } as const;
  const first = isOfCatalog ? 2 : 1;
  const places = key.map(({ kind }, at) => `$${first + at}::${types[kind]}`).join(', ');
  const conditions = [
    ...(isOfCatalog ? ['project_id = $1'] : []),
    ...(isFirst || key.length === 0 ? [] : [`(${order}) > (${places})`]),
  ];
  return `select ${listed(columns)} from (
      select *, sum(page_bytes) over (order by ${order || 'project_id'} rows unbounded preceding) - page_bytes as bytes_before
      from (
        select *, ${sizeExpression(columns)} as page_bytes from ${quoted(name)}
        ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
        order by ${order || 'project_id'} limit ${PAGE_ROWS}
      ) page
    ) summed where bytes_before < ${PAGE_BYTES} order by ${order || 'project_id'}`;
}

async function readPage(
  postgres: SqlSession,
  { table, projectId }: Unit,
  after: MovedRow | undefined,
): Promise<Page | undefined> {
  const key = table.keys.postgres;
  // A catalog has one row.
  if (after !== undefined && key.length === 0) return undefined;
  const values = [...(table.isOfCatalog ? [projectId] : []), ...(after ?? [])];
  const found = await postgres.rows<Record<string, unknown>>(
    pageStatement(table, after === undefined),
    values as SqlValue[],
  );
  const rows = found.map((row) => table.columns.map((column) => readValue(row[column.name], column)));
  const last = rows.at(-1);
  return last && { rows, end: key.map((column) => last[table.columns.indexOf(column)] ?? null) };
}

async function readCounters(postgres: SqlSession): Promise<Counters> {
  const rows = await postgres.rows<{ table: string; last: number }>(
    `select c.relname as "table", coalesce(pg_sequence_last_value(${SEQUENCE}), 0) as last from ${IDENTITIES}`,
  );
  return new Map(rows.map(({ table, last }) => [table, last]));
}

const SEQUENCE = "pg_get_serial_sequence(format('%I', c.relname), a.attname)::regclass";
const IDENTITIES = `pg_class c join pg_attribute a on a.attrelid = c.oid and a.attidentity <> ''
  where c.relnamespace = current_schema()::regnamespace`;

async function writeCounters(tx: SqlTransaction, counters: Counters): Promise<void> {
  for (const [table, last] of counters) {
    if (last > 0) {
      await tx.run(`select setval(${SEQUENCE}, $2::bigint) from ${IDENTITIES} and c.relname = $1`, [
        table,
        last,
      ]);
    }
  }
}

const OWNED_PAYLOADS = `
  with owned as (
    select project_id, payload_name as name from full_update_batch
    union select project_id, payload::json #>> '{source,payloadName}' from task where status in ('PENDING', 'RUNNING')
    union select project_id, json_array_elements_text(payload::json -> 'payloadNames') from task
      where status in ('PENDING', 'RUNNING')
    union select r.project_id, json_array_elements_text(r.upload::json -> 'pieces') from task t
      join pipeline_run r on r.project_id = t.project_id and r.task_number = t.number
      where t.status in ('PENDING', 'RUNNING')
    union select project_id, p ->> 'name' from channel_snapshot,
      json_array_elements(files::json) f, json_array_elements(f -> 'pieces') p
  )
  select project_id as "projectId", name, sum(octet_length(bytes))::bigint as bytes
  from payload join owned using (project_id, name) group by 1, 2 order by 1, 2`;

async function beginMove(tx: SqlTransaction, identity: string): Promise<void> {
  await tx.run(
    `create table ${MOVE_PROGRESS} (
       project_id bigint not null, table_name text not null, row_count bigint not null, place text, is_done bigint not null,
       primary key (project_id, table_name))`,
  );
  await tx.run(`insert into ${MOVE_PROGRESS} values ($1, $2, 0, $3, 0)`, [SERVICE, MOVE, identity]);
}

async function findProgress(postgres: SqlSession, { table, projectId }: Unit): Promise<Progress | undefined> {
  const [row] = await postgres.rows<{ rows: number; place: string | null; isDone: number }>(
    `select row_count as rows, place, is_done as "isDone" from ${MOVE_PROGRESS} where project_id = $1 and table_name = $2`,
    [projectId, table.name],
  );
  return (
    row && {
      rows: row.rows,
      place: row.place === null ? undefined : readPlace(row.place),
      isDone: row.isDone === 1,
    }
  );
}

/** @throws Error when another process wrote to the target meanwhile */
async function advance(
  tx: SqlTransaction,
  { table, projectId }: Unit,
  { before, after }: Step,
): Promise<void> {
  const changed = await tx.run(
    `insert into ${MOVE_PROGRESS} as known (project_id, table_name, row_count, place, is_done) values ($1, $2, $3, $4, $5)
     on conflict (project_id, table_name) do update
       set row_count = excluded.row_count, place = excluded.place, is_done = excluded.is_done
       where known.row_count = $6 and known.is_done = 0`,
    [
      projectId,
      table.name,
      after.rows,
      after.place === undefined ? null : writePlace(after.place),
      after.isDone ? 1 : 0,
      before?.rows ?? 0,
    ],
  );
  if (changed !== 1) throw new Error('Another process moves a store to the same database');
}

async function copyRows(
  tx: SqlTransaction,
  { table, projectId }: Unit,
  rows: readonly MovedRow[],
): Promise<void> {
  const names = table.columns.map(({ name }) => quoted(name));
  const copied = table.isOfCatalog ? ['project_id', ...names] : names;
  const bytes = rows.reduce((sum, row) => sum + sizeOf(row) + 4 * copied.length + 10, 0);
  const copy = new CopyRows(copied.length, bytes);
  for (const row of rows) {
    copy.begin();
    if (table.isOfCatalog) copy.integer(projectId);
    addToCopy(copy, row, table.columns);
  }
  await tx.copyIn(copyInto(quoted(table.name), copied), copy.finish());
}
