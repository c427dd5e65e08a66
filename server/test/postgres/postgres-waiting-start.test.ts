// runs: postgres deep
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findPort, startPostgres } from '../support/postgres/postgres-server.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { processEnvironment, startProcess } from '../support/service-process.ts';
import { postgresStoreOn } from '../support/test-store.ts';

/** A start waits for an unreachable database (docs/operating/postgresql.md, "When something fails"). */

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

async function haltDatabase(t: TestContext) {
  const server = await startPostgres({ isDurable: true });
  t.after(server.stop);
  const store = postgresStoreOn(await createDatabase(server.url), '/nonexistent/data');
  await server.halt();
  const port = await findPort();
  return { server, store, settings: { RELATA_PORT: String(port) }, url: `http://127.0.0.1:${port}` };
}

/** @returns the status once the process listens */
async function findStatus(url: string): Promise<number> {
  for (;;) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer !== undefined) return answer.status;
    await delay(50);
  }
}

test('a start waits for its database, logs the reason in one line, and then serves (§10.3)', async (t) => {
  const { server, store, settings, url } = await haltDatabase(t);
  const starting = startProcess(store, settings);
  assert.equal(await findStatus(`${url}/health/live`), 200);
  assert.equal(await findStatus(`${url}/health/ready`), 503);
  const refused = await fetch(`${url}/projects`);
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5']);
  assert.equal(((await refused.json()) as { reason: string }).reason, 'not_ready');
  await server.start();
  const service = await starting;
  assert.equal((await service.call('GET', '/health/ready')).status, 200);
  const lines = service
    .log()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { msg: string; reason?: string });
  const waits = lines.filter(({ msg }) => msg.startsWith('the start waits for the database'));
  assert.ok(waits.length >= 1 && new Set(waits.map(({ reason }) => reason)).size === waits.length);
  assert.match(waits[0]?.reason ?? '', /ECONNREFUSED/);
  assert.ok(lines.some(({ msg }) => msg === 'the database answers; the start continues'));
  assert.equal(service.faults(), '');
  assert.equal(await service.stop(), 0);
});

test('a start that waits for its database ends immediately when it is stopped', async (t) => {
  const { store, settings, url } = await haltDatabase(t);
  const env = processEnvironment(store, settings);
  const child = spawn(process.execPath, [main, 'serve'], { env, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  assert.equal(await findStatus(`${url}/health/live`), 200);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [143, null]);
});
