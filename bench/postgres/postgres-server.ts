import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { query, startPostgres } from '../../server/test/support/postgres/postgres-server.ts';
import type { Bench } from '../support/measurement.ts';
import { readFamilyCpuMs } from '../support/process-usage.ts';

/** A PostgreSQL with production settings for such a machine: it confirms a commit only when the commit is on disk. */
export interface BenchPostgres {
  readonly version: number;
  /** Processor time of all its processes, including ended ones. */
  readCpuMs(): number;
  /** Creates an empty database. */
  createDatabase(): Promise<BenchDatabase>;
}

export interface BenchDatabase {
  readonly url: string;
  readSize(): Promise<DatabaseSize>;
  /** @returns the end of the log of the whole server, in bytes */
  readWalEnd(): Promise<number>;
  drop(): Promise<void>;
}

export interface DatabaseSize {
  readonly bytes: number;
  /** Tables with their indexes, the largest first. */
  readonly tables: readonly { readonly name: string; readonly bytes: number }[];
}

const PARAMETERS = {
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  checkpoint_timeout: '15min',
  dynamic_shared_memory_type: 'posix',
};

/** One server for all measurements, each of which makes its own databases. */
export function openPostgresServer(bench: Bench): Promise<BenchPostgres> {
  return bench.share('PostgreSQL', async () => {
    const { url, version, stop } = await startPostgres({ isDurable: true, parameters: PARAMETERS });
    bench.stopAtEnd(stop);
    const pid = await findPid(url);
    let databases = 0;
    return {
      version,
      readCpuMs: () => readFamilyCpuMs(pid),
      createDatabase() {
        databases += 1;
        return createDatabase(url, `bench_${databases}`);
      },
    };
  });
}

export async function describePostgres(bench: Bench): Promise<string> {
  const { version } = await openPostgresServer(bench);
  return (
    `PostgreSQL ${version} on the same machine and disk, with fsync and synchronous_commit on, ` +
    `shared_buffers ${PARAMETERS.shared_buffers}, max_wal_size ${PARAMETERS.max_wal_size}, ` +
    `checkpoint_timeout ${PARAMETERS.checkpoint_timeout}, all else as it comes; no TLS.`
  );
}

/** The first line of its pid file. */
async function findPid(url: string): Promise<number> {
  const [row] = await query<{ folder: string }>(url, "select current_setting('data_directory') as folder");
  return Number.parseInt(readFileSync(join(row?.folder ?? '', 'postmaster.pid'), 'utf8'), 10);
}

const TABLES = `select c.relname as name, pg_total_relation_size(c.oid)::float8 as bytes
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'public' and c.relkind = 'r' order by 2 desc`;

async function createDatabase(adminUrl: string, name: string): Promise<BenchDatabase> {
  await query(adminUrl, `create database ${name}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const readNumber = async (sql: string) => {
    const [row] = await query<{ value: number }>(url.href, `select (${sql})::float8 as value`);
    return row?.value ?? Number.NaN;
  };
  return {
    url: url.href,
    async readSize() {
      const tables = await query<{ name: string; bytes: number }>(url.href, TABLES);
      return { bytes: await readNumber('pg_database_size(current_database())'), tables };
    },
    readWalEnd: () => readNumber("pg_current_wal_lsn() - '0/0'::pg_lsn"),
    async drop() {
      await query(adminUrl, `drop database ${name} with (force)`);
    },
  };
}
