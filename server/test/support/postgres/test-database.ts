import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { migratePostgres } from '../../../src/storage/postgres/migrate.ts';
import { openPostgres } from '../../../src/storage/postgres/open-postgres.ts';
import { distributeStore } from '../../../src/transfer/transfer.ts';
import { query } from './postgres-server.ts';

/** A database for one test. */
export interface TestDatabase {
  readonly url: string;
  /** Ends all sessions on it, then drops it. */
  drop(): Promise<void>;
}

/**
 * @param adminUrl a database of the server, with a user who may create others
 * @returns a database with the newest schema, copied from a template that is migrated once, or an empty database
 */
export async function createDatabase(
  adminUrl: string,
  { isEmpty = false }: { isEmpty?: boolean } = {},
): Promise<TestDatabase> {
  if (adminUrl === process.env.RELATA_TEST_CITUS) return createCluster(adminUrl, { isEmpty });
  const template = isEmpty ? 'template0' : await provideTemplate(adminUrl);
  const name = `relata_test_${randomBytes(8).toString('hex')}`;
  const strategy = (await readVersion(adminUrl)) >= 15 ? 'strategy file_copy' : '';
  await query(adminUrl, `create database ${name} template ${template} ${strategy}`);
  return {
    url: onDatabase(adminUrl, name),
    async drop() {
      await query(adminUrl, `drop database if exists ${name} with (force)`);
    },
  };
}

/** Enough to spread projects over the workers. A database of 32 shards takes eight times as long to make. */
const SHARDS = 4;

/** A database on the coordinator of Citus and its workers. It is distributed unless it is empty. */
async function createCluster(adminUrl: string, { isEmpty }: { isEmpty: boolean }): Promise<TestDatabase> {
  const name = `relata_test_${randomBytes(8).toString('hex')}`;
  const { coordinator, workers } = await listNodes(adminUrl);
  const url = onDatabase(coordinator, name);
  for (const node of [coordinator, ...workers]) {
    await query(node, `create database ${name} template template0`);
    await query(onDatabase(node, name), 'create extension citus');
  }
  await addNode(url, 'citus_set_coordinator_host', coordinator);
  for (const worker of workers) await addNode(url, 'citus_add_node', worker);
  if (!isEmpty) await distributeStore({ url, shards: SHARDS });
  return {
    url,
    async drop() {
      for (const node of [coordinator, ...workers])
        await query(node, `drop database if exists ${name} with (force)`);
    },
  };
}

const ADDS = 5;

/**
 * All databases of a node share their roles. Two test files that add a role at the same time fail with "tuple
 * concurrently updated".
 */
async function addNode(url: string, add: string, node: string): Promise<void> {
  const { hostname, port } = new URL(node);
  for (let index = 1; ; index += 1) {
    try {
      await query(url, `select ${add}($1, $2)`, [hostname, Number(port)]);
      return;
    } catch (error) {
      if (index === ADDS || !String(error).includes('marked as essential')) throw error;
    }
  }
}

/** @returns the coordinator and the workers of Citus, as URLs of the same database and user */
export async function listNodes(adminUrl: string): Promise<{ coordinator: string; workers: string[] }> {
  const nodes = await query<{ host: string; port: number }>(
    adminUrl,
    "select nodename as host, nodeport as port from pg_dist_node where noderole = 'primary' and groupid <> 0 order by nodeid",
  );
  const workers = nodes.map(({ host, port }) =>
    Object.assign(new URL(adminUrl), { hostname: host, port: `${port}` }),
  );
  return { coordinator: adminUrl, workers: workers.map(({ href }) => href) };
}

function onDatabase(adminUrl: string, name: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

const versions = new Map<string, Promise<number>>();

/**
 * @returns the major version, such as 15. file_copy copies a database in half the time, and 14 has no other strategy.
 */
function readVersion(adminUrl: string): Promise<number> {
  const template =
    versions.get(adminUrl) ??
    query<{ version: number }>(
      adminUrl,
      "select current_setting('server_version_num')::int / 10000 as version",
    ).then(([row]) => row?.version ?? 0);
  versions.set(adminUrl, template);
  return template;
}

const templates = new Map<string, Promise<string>>();

function provideTemplate(adminUrl: string): Promise<string> {
  const template = templates.get(adminUrl) ?? createTemplate(adminUrl);
  templates.set(adminUrl, template);
  return template;
}

/** Test files that run at the same time share one template. Its name changes with the schema. */
async function createTemplate(adminUrl: string): Promise<string> {
  const name = `relata_template_${hashMigrations()}`;
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    await admin.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rows } = await admin.query('select datistemplate from pg_database where datname = $1', [name]);
    if (rows[0]?.datistemplate) return name;
    await admin.query(`drop database if exists ${name} with (force)`);
    await admin.query(`create database ${name} template template0`);
    const postgres = openPostgres({ url: onDatabase(adminUrl, name), connections: 1, prepares: false });
    await migratePostgres(postgres).finally(() => postgres.close());
    // Connections to a template prevent copies, even those of autovacuum.
    await admin.query(`alter database ${name} with is_template true allow_connections false`);
    return name;
  } finally {
    await admin.end();
  }
}

/** Any number that is not used elsewhere. */
const TEMPLATE_LOCK = 8_135_772_001;

function hashMigrations(): string {
  const hash = createHash('sha256');
  const folder = new URL('../../../migrations/postgres/', import.meta.url);
  for (const name of readdirSync(folder).sort()) hash.update(readFileSync(new URL(name, folder)));
  hash.update(readFileSync(new URL('../../../src/storage/postgres/migrate.ts', import.meta.url)));
  return hash.digest('hex').slice(0, 16);
}
