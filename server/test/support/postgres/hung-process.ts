import assert from 'node:assert/strict';
import { type ServiceProcess, startProcess } from '../service-process.ts';
import { until } from '../task-process.ts';
import type { TestStore } from '../test-store.ts';
import { query } from './postgres-server.ts';

/** Many times the usual time, for busy machines. */
const LONG_MS = 60_000;

/** @returns the process ids of the database's sessions that wait for a lock */
export async function listWaiting(store: TestStore): Promise<number[]> {
  const rows = await query<{ pid: number }>(
    `${store.settings.RELATA_DATABASE_URL}`,
    `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.map(({ pid }) => pid);
}

/** @returns a new project @throws AssertionError */
export async function makeProject(service: ServiceProcess): Promise<number> {
  const group = await service.call('POST', '/management/project-groups', { body: { name: 'Group' } });
  const body = { name: 'Project', projectGroupId: group.body.id, locale: 'de-DE' };
  const { body: project } = await service.call('POST', '/management/projects', { body });
  return project.id;
}

export interface Hang {
  /** The database, through the connection of the test. */
  readonly direct: TestStore;
  /** The database, through the connections of the processes. */
  readonly used: TestStore;
  readonly settings?: Record<string, string>;
  /** Between two statements, or within a COPY. */
  readonly hangsIn: 'statement' | 'copy';
}

/**
 * Hangs a process in the middle of a transaction that holds the lock of a project.
 * @returns the seconds until another process had ended the task
 */
export async function passOverHung({ direct, used, settings = {}, hangsIn }: Hang): Promise<number> {
  const [hung, other] = [await startProcess(used, settings), await startProcess(used, settings)];
  const projectId = await makeProject(hung);
  const path = `/products?projectId=${projectId}`;
  const productsOf = (identifier: string) => ({ products: [{ identifier, name: identifier }] });
  const first = await hung.call('POST', path, { body: productsOf('first') });
  await hung.call('GET', `/tasks/${first.body.task.id}?wait=60`);
  // This process must not claim the task first.
  other.pause();
  const accept = () => hung.call('POST', path, { body: productsOf('A') });
  const held =
    hangsIn === 'copy'
      ? await direct.holdBack(projectId, accept)
      : { release: await direct.lockCatalog(projectId), answer: await accept() };
  await until('it waits within its transaction', async () => (await listWaiting(direct)).length > 0, LONG_MS);
  other.continue();
  hung.pause();
  const hungAt = performance.now();
  await held.release();
  const { body } = await other.call('GET', `/tasks/${held.answer.body.task.id}?wait=60`);
  const seconds = (performance.now() - hungAt) / 1_000;
  assert.equal(body.task.taskStatus, 'FINISHED', `after ${seconds} s`);
  hung.continue();
  const again = await hung.call('POST', path, { body: productsOf('B') });
  const { body: last } = await hung.call('GET', `/tasks/${again.body.task.id}?wait=60`);
  assert.equal(last.task.taskStatus, 'FINISHED', 'the process that hung works again');
  return seconds;
}
