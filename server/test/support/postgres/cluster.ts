import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { query } from './postgres-server.ts';
import { listNodes } from './test-database.ts';

/** The workers of a coordinator on this machine. */

/** @returns the worker with the rows of a project, as a URL of the same database */
export async function findWorker(url: string, projectId: number): Promise<string> {
  const [node] = await query<{ port: number }>(
    url,
    `select nodeport as port from pg_dist_shard_placement
     where shardid = get_shard_id_for_distribution_column('document', $1::bigint)`,
    [projectId],
  );
  const { workers } = await listNodes(url);
  const workerUrl = workers.find((worker) => Number(new URL(worker).port) === node?.port);
  if (workerUrl === undefined) throw new Error(`no worker has the rows of project ${projectId}`);
  return workerUrl;
}

/**
 * Kills the server and all its sessions immediately, like a crash of its machine. @returns a function that restarts it
 */
export async function killWorker(url: string): Promise<() => Promise<void>> {
  const [row] = await query<{ folder: string }>(url, "select current_setting('data_directory') as folder");
  const folder = row?.folder ?? '';
  const { uid, gid } = await stat(folder);
  const pid = Number((await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n')[0]);
  const [program = '', ...args] = [
    ...(await readFile(join(folder, 'postmaster.opts'), 'utf8')).matchAll(/"([^"]*)"|(\S+)/g),
  ].map(([, quoted, plain]) => quoted ?? plain ?? '');
  // Its child processes notice that the parent ended, and end.
  process.kill(pid, 'SIGKILL');
  return async () => {
    const log = openSync(join(folder, 'server.log'), 'a');
    for (const end = Date.now() + RESTART_MS; ; await delay(200)) {
      const child = spawn(program, args, { cwd: '/', uid, gid, detached: true, stdio: ['ignore', log, log] });
      child.unref();
      if (await answers(url, child)) return;
      // The sessions of the killed server may still be open.
      if (Date.now() > end) throw new Error(`the worker in ${folder} does not start again`);
    }
  };
}

const RESTART_MS = 60_000;

async function answers(url: string, child: { readonly exitCode: number | null }): Promise<boolean> {
  for (; child.exitCode === null; await delay(100)) {
    if ((await query(url, 'select 1').catch(() => [])).length === 1) return true;
  }
  return false;
}
