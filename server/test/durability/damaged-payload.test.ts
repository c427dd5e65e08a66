// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestService } from '../support/test-service.ts';
import { createTestStore, type TestStore } from '../support/test-store.ts';

/** Damages to the bytes of an accepted body, as a statement for PostgreSQL and for a file. */
const DAMAGES = {
  cut: {
    sql: 'substr(bytes, 1, length(bytes) - 9)',
    change: (bytes: Buffer) => bytes.subarray(0, bytes.length - 9),
  },
  'cut to nothing': { sql: "''::bytea", change: () => Buffer.alloc(0) },
  'changed within a name': {
    sql: 'set_byte(bytes, length(bytes) - 30, (get_byte(bytes, length(bytes) - 30) + 1) % 256)',
    change: (bytes: Buffer) =>
      Buffer.from(bytes.toString('latin1').replace('Sent name', 'Sent nome'), 'latin1'),
  },
  lost: { sql: undefined, change: undefined },
} as const;

type Damage = (typeof DAMAGES)[keyof typeof DAMAGES];

async function damage(store: TestStore, name: string, { sql, change }: Damage): Promise<void> {
  if (store.kind === 'postgres') {
    const what = sql === undefined ? 'delete from payload' : `update payload set bytes = ${sql}`;
    return store.change(`${what} where name = '${name}'`);
  }
  const path = join(store.dataDir, 'payloads', name);
  if (change === undefined) return rm(path);
  await writeFile(path, change(await readFile(path)));
}

for (const [kind, how] of Object.entries(DAMAGES)) {
  test(`a task whose accepted body was ${kind} on the disk ends with a failure that names the disk (§7.7)`, async (t) => {
    const store = await createTestStore(t);
    const service = await startTestService(t, { store });
    const { projectId } = service;
    await service.loadCatalog([{ identifier: 'A', name: 'First' }]);
    const update = async (identifier: string) => {
      const products = [{ identifier, name: `Sent name ${'x'.repeat(400)}` }];
      const { status, body } = await service.call('POST', `/products?projectId=${projectId}`, {
        body: { products },
      });
      assert.equal(status, 200);
      return body.task.id as string;
    };
    // The update behind a waiting one has not read its body.
    const release = await store.lockCatalog(projectId);
    const before = await update('B');
    const others = await store.listBodies();
    const damaged = await update('A');
    const [name = ''] = (await store.listBodies()).filter((body) => !others.includes(body));
    assert.notEqual(name, '');
    await damage(store, name, how);
    await release();
    assert.equal((await service.ended(before)).taskStatus, 'FINISHED');
    const task = await service.ended(damaged);
    assert.equal(task.taskStatus, 'FAILED');
    assert.equal(task.error?.code, 'payload_damaged');
    assert.match(task.error?.message ?? '', /damaged or lost the stored payload .*send it again/);
    assert.equal((await service.lookUp(['A']))[0].name, 'First');
    assert.ok(
      service.log.some((line) => JSON.parse(line).level === 50 && line.includes(name)),
      'the log names it',
    );
  });
}
