import type { Postgres } from '../../storage/postgres/postgres.ts';

/** The requests counted within a window. */
export interface RateWindow {
  readonly count: number;
  readonly msLeft: number;
}

/**
 * Counts one request for all processes, in one statement and by the database's clock: those of the processes differ.
 * A window that is over begins anew.
 */
export async function countInWindow(
  postgres: Postgres,
  { key, windowMs }: { key: string; windowMs: number },
): Promise<RateWindow> {
  const [row] = await postgres.rows<RateWindow>(
    `insert into rate_window as present (key, points, expire)
     values ($1, 1, (extract(epoch from statement_timestamp()) * 1000)::bigint + $2::bigint)
     on conflict (key) do update set
       points = case when present.expire <= excluded.expire - $2::bigint then 1 else present.points + 1 end,
       expire = case when present.expire <= excluded.expire - $2::bigint then excluded.expire else present.expire end
     returning points as count,
       expire - (extract(epoch from statement_timestamp()) * 1000)::bigint as "msLeft"`,
    [key, windowMs],
  );
  return row ?? { count: 1, msLeft: windowMs };
}

/** Forgets windows that are over. */
export async function dropEndedWindows(postgres: Postgres): Promise<void> {
  await postgres.run(
    'delete from rate_window where expire < (extract(epoch from statement_timestamp()) * 1000)::bigint',
  );
}
