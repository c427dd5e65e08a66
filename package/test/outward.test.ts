// runs: deep, slow
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeKeys, startSftpServer } from '../../server/test/support/outbound/sftp-server.ts';
import { type ServiceProcess, startProgram } from '../../server/test/support/service-process.ts';
import { embeddedStoreAt } from '../../server/test/support/test-store.ts';
import { bundleServer } from '../bundle-server.ts';

/** What reaches other machines, in the bundle that ships: the tests of the server leave these packages out of theirs. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'relata-outward-'));
const store = embeddedStoreAt(join(folder, 'data'));
let service: ServiceProcess;

before(async () => {
  const program = join(folder, 'program/server/src');
  mkdirSync(program, { recursive: true });
  await bundleServer(program);
  symlinkSync(join(ROOT, 'server/migrations'), join(folder, 'program/server/migrations'));
  cpSync(join(ROOT, 'server/package.json'), join(folder, 'program/server/package.json'));
  mkdirSync(join(folder, 'program/docs'));
  symlinkSync(join(ROOT, 'docs/openapi.json'), join(folder, 'program/docs/openapi.json'));
  const settings = { RELATA_FETCH_ALLOW: '127.0.0.1' };
  service = await startProgram({ store, settings, program: join(program, 'main.mjs') });
  const group = await succeed('POST', '/management/project-groups', { name: 'Shops' });
  await succeed('POST', '/management/projects', { name: 'Shop', projectGroupId: group.id, locale: 'de-DE' });
});
after(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true });
});

async function succeed(method: string, path: string, body?: unknown) {
  const answer = await service.call(method, path, { body });
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

/** Waits for a task that must finish. */
async function finish({ task }: { task: { id: string } }): Promise<void> {
  for (;;) {
    const ended = (await succeed('GET', `/tasks/${task.id}?wait=30`)).task;
    if (!['RUNNING', 'PENDING'].includes(ended.taskStatus))
      return assert.equal(ended.taskStatus, 'FINISHED', JSON.stringify(ended));
  }
}

/** The first ciphers of servers, and the one whose WebAssembly the bundle has to carry. */
for (const cipher of ['aes128-gcm@openssh.com', 'aes256-ctr', 'chacha20-poly1305@openssh.com'] as const)
  test(`a pipeline reads a file and a channel writes one by SFTP with ${cipher} (§13.1, §16.8)`, async (t) => {
    const root = mkdtempSync(join(folder, 'sftp-'));
    const keys = makeKeys();
    const user = { user: 'erp', publicKey: keys.public, algorithms: { cipher: [cipher] } };
    const server = await startSftpServer(root, user, 'done');
    t.after(() => server.close());
    writeFileSync(join(root, 'products.csv'), `sku,title\nA-${cipher},Drill\n`);
    const place = {
      type: 'sftp',
      host: '127.0.0.1',
      port: server.port,
      user: 'erp',
      privateKey: keys.private,
      hostKey: server.hostKey,
    };
    const pipeline = await succeed('POST', '/management/projects/1/pipelines', {
      name: cipher,
      source: { ...place, path: 'products.csv' },
      format: { type: 'csv' },
      mapping: { identifier: 'sku', name: 'title' },
      mode: 'incremental',
      trigger: { type: 'manual' },
    });
    await finish(await succeed('POST', `/management/projects/1/pipelines/${pipeline.id}/run`));

    mkdirSync(join(root, 'out'));
    const channel = await succeed('POST', '/management/projects/1/channels', {
      name: cipher,
      format: { type: 'ndjson' },
      destinations: [{ ...place, folder: 'out' }],
    });
    await finish(await succeed('POST', `/management/projects/1/channels/${channel.id}/build`));
    assert.match(readFileSync(join(root, 'out/products.ndjson'), 'utf8'), new RegExp(`"A-${cipher}"`));
  });
