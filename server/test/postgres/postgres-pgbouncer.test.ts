// runs: postgres deep
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { passOverHung } from '../support/postgres/hung-process.ts';
import { findProcessOwner, findTemporaryFolder } from '../support/postgres/postgres-binaries.ts';
import { findPort, guardFolders, query } from '../support/postgres/postgres-server.ts';
import { createDatabase, type TestDatabase } from '../support/postgres/test-database.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { findServer, makeTestStore, postgresStoreOn } from '../support/test-store.ts';

/** PgBouncer in transaction mode lends a connection per transaction, so sessions cannot keep state. */

const PROGRAM = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find(existsSync);
const isInstalled = { skip: PROGRAM === undefined && 'PgBouncer is not installed here' };
/** Fewer than one process would use. */
const POOL = 4;
const START_MS = 10_000;

/** Since this version it supports prepared statements. For older versions they have to be switched off. */
function findsPrepared(): boolean {
  const output = execFileSync(PROGRAM ?? '', ['--version'], { encoding: 'utf8' });
  const [, major, minor] = /(\d+)\.(\d+)/.exec(output) ?? [];
  return Number(major) > 1 || Number(minor) >= 21;
}

/** @returns the database through a new PgBouncer, which ends with the test */
async function startBouncer(t: TestContext, database: TestDatabase): Promise<string> {
  const owner = await findProcessOwner();
  const root = await mkdtemp(join(findTemporaryFolder(owner), 'relata-pgbouncer-'));
  t.after(guardFolders(root));
  const folder = join(root, 'run');
  await mkdir(folder);
  for (const path of [root, folder]) if (owner !== undefined) await chown(path, owner.uid, owner.gid);
  const server = new URL(database.url);
  const port = await findPort();
  const paths = { config: join(folder, 'ini'), users: join(folder, 'users'), log: join(folder, 'log') };
  await writeFile(paths.users, `"${server.username}" "${server.password}"\n`, { mode: 0o644 });
  await writeFile(
    paths.config,
    `[databases]
* = host=${server.hostname} port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${paths.users}
pool_mode = transaction
default_pool_size = ${POOL}
max_client_conn = 400
${findsPrepared() ? 'max_prepared_statements = 200' : ''}
ignore_startup_parameters = statement_timeout
logfile = ${paths.log}
pidfile = ${join(folder, 'pgbouncer.pid')}
`,
  );
  const child = spawn(PROGRAM ?? '', [paths.config], {
    stdio: 'ignore',
    detached: true,
    ...(owner && { uid: owner.uid, gid: owner.gid }),
  });
  child.unref();
  await once(child, 'spawn');
  const url = Object.assign(new URL(database.url), { port }).href;
  for (const end = Date.now() + START_MS; ; await delay(20)) {
    const isThere = await query(url, 'select 1').then(
      () => true,
      () => false,
    );
    if (isThere) return url;
    assert.ok(
      child.exitCode === null && Date.now() < end,
      await readFile(paths.log, 'utf8').catch(() => 'no log'),
    );
  }
}

/** A database without tables, directly and through a PgBouncer. */
async function makeBouncedStore(t: TestContext) {
  const database = await createDatabase(await findServer(), { isEmpty: true });
  const direct = postgresStoreOn(database, (await makeTestStore()).dataDir);
  t.after(direct.remove);
  const url = await startBouncer(t, database);
  const bounced = { ...direct, settings: { ...direct.settings, RELATA_DATABASE_URL: url } };
  const settings = { RELATA_DATABASE_PREPARED_STATEMENTS: String(findsPrepared()) };
  return { database, direct, bounced, settings };
}

/** Writes and reads of all kinds in a new project, each answered by one of the processes. */
async function useService(processes: readonly ServiceProcess[], name: string): Promise<void> {
  let turn = 0;
  async function call(method: string, path: string, body?: unknown) {
    turn += 1;
    const answer = await processes[turn % processes.length]?.call(method, path, { body });
    assert.ok(
      answer !== undefined && answer.status < 300,
      `${method} ${path}: ${answer?.status} ${answer?.text}`,
    );
    return answer.body;
  }
  async function ended(task: { id: string }) {
    const { task: endedTask } = await call('GET', `/tasks/${task.id}?wait=60`);
    assert.equal(endedTask.taskStatus, 'FINISHED', JSON.stringify(endedTask));
  }
  const group = await call('POST', '/management/project-groups', { name });
  const { id } = await call('POST', '/management/projects', {
    name,
    projectGroupId: group.id,
    locale: 'de-DE',
  });
  const lookUp = async (...identifiers: string[]) => {
    const { products } = await call('POST', `/product-service/products-by-sku?projectId=${id}`, {
      identifiers,
    });
    return products.map((product: { name: string }) => product.name);
  };
  const products = Array.from({ length: 200 }, (_, index) => ({
    identifier: `P${index}`,
    name: `${name} ${index}`,
    attributes: [{ key: 'Size', value: `${index % 10}` }],
  }));

  await call('POST', `/products/batch/initiate?projectId=${id}`);
  await call('POST', `/products/batch/upload?projectId=${id}`, { products: products.slice(0, 100) });
  await call('POST', `/products/batch/upload?projectId=${id}`, { products: products.slice(100) });
  await ended((await call('POST', `/products/batch/start?projectId=${id}`)).data.task);
  assert.deepEqual(await lookUp('P0', 'P199'), [`${name} 0`, `${name} 199`]);

  const match = [{ target: 'Size', operator: 'equals', source: 'Size' }];
  const relation = { name: 'Same size', tag: 'same', source: { all: [] }, target: { all: [] }, match };
  await call('POST', `/management/projects/${id}/relations`, relation);
  const { tasks } = await call('GET', `/tasks?projectId=${id}&limit=10`);
  for (const task of tasks) await ended(task);
  const { tags } = await call(
    'GET',
    `/search/relations/result?projectId=${id}&identifier=P3&includeTags=[{"tag":"same","limitPerRelation":100}]`,
  );
  const [answered] = tags[0].relations;
  assert.equal(answered.searchResult.length, 19, 'the others with the same last digit');

  const renamed = { products: [{ identifier: 'P3', name: 'renamed' }] };
  await ended((await call('POST', `/products?projectId=${id}&partial=true`, renamed)).task);
  await ended((await call('DELETE', `/products?projectId=${id}`, { identifiers: ['P4'] })).task);
  assert.deepEqual(await lookUp('P3', 'P4', 'P5'), ['renamed', `${name} 5`]);
}

test(
  'two processes support all features through a PgBouncer in transaction mode with few connections',
  isInstalled,
  async (t) => {
    const { database, bounced, settings } = await makeBouncedStore(t);
    const start = () => startProcess(bounced, settings);
    const processes = await Promise.all([start(), start()]);
    await Promise.all(['a', 'b', 'c'].map((name) => useService(processes, name)));
    const [row] = await query<{ count: number }>(
      database.url,
      'select count(*)::int as count from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    assert.ok(Number(row?.count) <= POOL, `${row?.count} connections of ${POOL}: all went through PgBouncer`);
    for (const process of processes) {
      assert.equal(process.faults(), '');
      assert.equal(await process.stop(), 0);
    }
  },
);

for (const hangsIn of ['statement', 'copy'] as const) {
  test(
    `through PgBouncer, a process that hangs at a ${hangsIn} does not block others`,
    isInstalled,
    async (t) => {
      const { direct, bounced, settings } = await makeBouncedStore(t);
      const seconds = await passOverHung({ direct, used: bounced, settings, hangsIn });
      t.diagnostic(`the task of the process that hangs ended after ${seconds.toFixed(1)} s`);
      // Within 15 s, on an otherwise idle machine.
      assert.ok(seconds < 30, `it took ${seconds} s`);
    },
  );
}
