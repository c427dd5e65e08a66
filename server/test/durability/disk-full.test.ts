// runs: deep, postgres long, waits
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, statfsSync, truncateSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Replacements } from '../../src/app/app.ts';
import { ServiceError } from '../../src/kernel/errors.ts';
import { Browser, PASSWORD } from '../support/browser.ts';
import { DiskWriter } from '../support/power/disk-writer.ts';
import { runRelataWith } from '../support/relata-command.ts';
import { startProcess } from '../support/service-process.ts';
import { assertRefused, createCatalog } from '../support/shared-service.ts';
import { startTestService } from '../support/test-service.ts';
import { embeddedOnly, embeddedStoreAt } from '../support/test-store.ts';

/**
 * A full disk: writes are answered 507 and store nothing, lookups continue, and accepted work waits for space
 * (docs/interface §7.2 rule 6, docs/operating/backup.md "When the disk is full or fails"). The disk is first simulated,
 * part by part. Where a file system can be mounted, a real one of 24 MiB follows.
 */

const MESSAGE = 'The disk is full, so nothing of this request was stored';

/** The writes that find no space. */
interface FullParts {
  payloads: boolean;
  control: boolean;
  catalogs: boolean;
  /** The number of writes to the control database until it is full. */
  controlWritesLeft?: number;
}

const WRITES = [
  'applyProducts',
  'commit',
  'deleteProducts',
  'reserveIds',
  'reserveNames',
  'restore',
  'stageBatch',
] as const;

function fillOnDemand(full: FullParts): Replacements {
  const refuse = () => Promise.reject(new ServiceError('storage_full'));
  return {
    storage: (real) => ({
      ...real,
      payloads: {
        ...real.payloads,
        open(projectId, name) {
          const payload = real.payloads.open(projectId, name);
          return full.payloads ? { ...payload, finish: refuse } : payload;
        },
        write: (projectId, name, bytes) =>
          full.payloads ? refuse() : real.payloads.write(projectId, name, bytes),
      },
      database: {
        ...real.database,
        write(of, work) {
          if (full.controlWritesLeft !== undefined && full.controlWritesLeft-- <= 0) full.control = true;
          return full.control ? refuse() : real.database.write(of, work);
        },
      },
    }),
    store(real) {
      const store = { ...real };
      for (const name of WRITES) {
        const write = real[name] as (...input: unknown[]) => Promise<never>;
        store[name] = (...input: unknown[]) => (full.catalogs ? refuse() : write(...input));
      }
      return store;
    },
  };
}

const batchOf = (...identifiers: string[]) => ({
  products: identifiers.map((identifier) => ({ identifier, name: identifier })),
});

async function startFull(t: TestContext) {
  const full: FullParts = { payloads: false, control: false, catalogs: false };
  const service = await startTestService(t, { replace: fillOnDemand(full) });
  const catalog = await createCatalog(service);
  await catalog.load({ identifier: 'A', name: 'A' });
  return { full, service, catalog, listBodies: service.store.listBodies };
}

for (const part of ['payloads', 'control'] as const) {
  test(`a write that finds no space in ${part} is answered 507 and stores nothing`, async (t) => {
    const { full, catalog, listBodies, service } = await startFull(t);
    const before = await catalog.tasks();
    full[part] = true;
    for (const answer of [
      await catalog.post('/products', batchOf('B')),
      await catalog.post('/products?partial=true', { products: [{ identifier: 'A', name: 'other' }] }),
      // Too many identifiers for the task row, so they are stored as a payload.
      await catalog.call('DELETE', '/products', {
        body: ['A', ...Array.from({ length: 2_000 }, (_, index) => `${index}`.padEnd(20, 'u'))],
      }),
      ...(part === 'control'
        ? [
            await catalog.call('DELETE', '/products', { body: ['A'] }),
            await catalog.post('/products/batch/initiate'),
            await catalog.post('/products/batch/restore'),
          ]
        : []),
    ]) {
      assertRefused(answer, 507, MESSAGE);
      assert.equal(answer.headers.get('retry-after'), '60');
    }
    const ready = await catalog.call('GET', '/health/ready');
    assert.match(`${ready.status} ${ready.body.problems}`, /^200 free space on the disk of the data/);
    assert.equal(
      service.log.filter((line) => /"disk":"the disk of .*free space has run out/.test(line)).length,
      1,
    );
    assert.deepEqual(await listBodies(), []);
    assert.deepEqual((await catalog.find('A')).length, 1, 'lookups continue');
    full[part] = false;
    assert.deepEqual(await catalog.tasks(), before, 'refused writes leave no task');
    await catalog.update({ identifier: 'B', name: 'B' });
    assert.deepEqual(await catalog.list(), ['A', 'B']);
  });

  test(`a full update waits for the batch that found no space in ${part}`, async (t) => {
    const { full, catalog, listBodies } = await startFull(t);
    await catalog.post('/products/batch/initiate');
    assert.equal((await catalog.post('/products/batch/upload', batchOf('B'))).status, 200);
    full[part] = true;
    assertRefused(await catalog.post('/products/batch/upload', batchOf('C')), 507, MESSAGE);
    assert.equal((await listBodies()).length, 1, 'only the first batch is kept');
    assertRefused(await catalog.post('/products/batch/start'), 400, /last batch of the full update failed/);
    full[part] = false;
    assertRefused(await catalog.post('/products/batch/start'), 400, /last batch of the full update failed/);
    assert.equal((await catalog.post('/products/batch/upload', batchOf('C'))).status, 200);
    await catalog.done(await catalog.post('/products/batch/start'));
    assert.deepEqual(await catalog.list(), ['B', 'C']);
    // These are removed after the commit.
    while ((await listBodies()).length > 0) await new Promise(setImmediate);
  });
}

test('on a full disk a signed-in user can continue, and signing in with a password is refused (§5.6 rule 12)', async (t) => {
  const { full, service } = await startFull(t);
  const [signedIn, guest] = [new Browser(service.address), new Browser(service.address)];
  const token = await service.app.access.makeOwnerLink(1, 'owner-link');
  const owner = { email: 'ada@shop.example', password: PASSWORD };
  await signedIn.succeed('POST', '/management/owner', { ...owner, token, name: 'Ada' });
  full.control = true;
  for (const password of [PASSWORD, 'another password of somebody']) {
    const answer = await guest.call('POST', '/management/session', { body: { ...owner, password } });
    assertRefused(answer, 503, /disk is full, so signing in with a password is not possible/);
    assert.ok(Number(answer.headers.get('retry-after')) >= 1);
  }
  await signedIn.succeed('GET', '/management/session');
  await signedIn.succeed('GET', '/management/projects');
  full.control = false;
  // Two writes fit: the count and the session. Undoing the attempt then fails. The service's own counters also write,
  // so the call is repeated.
  for (let attempt = 1; ; attempt += 1) {
    full.control = false;
    full.controlWritesLeft = 2;
    const answer = await guest.call('POST', '/management/session', { body: owner });
    if (answer.status === 503 && attempt < 10) continue;
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    break;
  }
  assert.ok(full.control, 'the disk was full at the end');
});

test('an initiate is answered as stored although the previous full update cannot be closed', async (t) => {
  const { full, catalog, service } = await startFull(t);
  await catalog.post('/products/batch/initiate');
  const old = (await catalog.post('/products/batch/upload', batchOf('B'))).body.task.id;
  // The service's own counters also write. Then nothing was stored, and the call is repeated.
  for (let attempt = 1; ; attempt += 1) {
    full.control = false;
    full.controlWritesLeft = 1;
    const { status } = await catalog.post('/products/batch/initiate');
    if (status === 507 && attempt < 10) continue;
    assert.equal(status, 200);
    break;
  }
  assert.ok(full.control, 'the disk was full when the previous full update was to be closed');
  delete full.controlWritesLeft;
  full.control = false;
  assert.equal((await catalog.post('/products/batch/upload', batchOf('C'))).status, 200);
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['C']);
  await catalog.post('/products/batch/initiate');
  assert.equal((await service.ended(old)).taskStatus, 'CANCELLED', 'closed with the next one');
});

test('accepted updates wait while their catalog has no space, and take effect in order once it has', async (t) => {
  const { full, catalog, service } = await startFull(t);
  await catalog.post('/products/batch/initiate');
  full.catalogs = true;
  const accepted = [
    await catalog.post('/products/batch/upload', batchOf('B', 'C')),
    await catalog.post('/products/batch/upload', batchOf('C', 'D')),
    await catalog.post('/products', batchOf('E')),
    await catalog.post('/products/batch/start'),
    await catalog.post('/products', batchOf('F')),
    await catalog.call('DELETE', '/products', { body: ['B'] }),
  ];
  for (const { status, body } of accepted) assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(
    (await catalog.find('A', 'B', 'E')).map(({ identifier }) => identifier),
    ['A'],
    'lookups continue and show the current catalog',
  );
  full.catalogs = false;
  for (const { body } of accepted) {
    const { task } = body.data ?? body;
    assert.equal((await service.ended(task.id)).taskStatus, 'FINISHED');
  }
  assert.deepEqual(await catalog.list(), ['C', 'D', 'F']);
});

/** The service on its own file system, with a backup on another one. @returns undefined if none can be mounted */
async function startOnSmallDisk(t: TestContext) {
  const place = await mkdtemp(join(tmpdir(), 'relata-full-'));
  const target = `${place}-target`;
  const isMounted = mount(place);
  const service = isMounted
    ? await startProcess(embeddedStoreAt(join(place, 'data')), {
        RELATA_BACKUP_URL: pathToFileURL(target).href,
      }).catch(keepError)
    : undefined;
  // One hook, because the order of the steps matters.
  t.after(async () => {
    if (service !== undefined && !(service instanceof Error)) await service.kill();
    if (isMounted) execFileSync('umount', ['-l', place]);
    for (const folder of [place, target, `${target}-restored`])
      await rm(folder, { recursive: true, force: true });
  });
  if (service instanceof Error) throw service;
  return service && { service, ballast: new Ballast(place), target };
}

const keepError = (error: Error) => error;

function mount(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A file that fills the disk. */
class Ballast {
  private readonly path: string;
  constructor(folder: string) {
    this.path = join(folder, 'ballast');
  }

  /** Leaves this much space. */
  fill(left: number): void {
    const { bavail, bsize } = statfsSync(join(this.path, '..'));
    const file = openSync(this.path, 'a');
    try {
      for (let rest = bavail * bsize - left; rest > 0; rest -= 4096) writeSync(file, Buffer.alloc(4096));
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'ENOSPC');
    } finally {
      closeSync(file);
    }
  }

  drop(): void {
    truncateSync(this.path);
    rmSync(this.path);
  }
}

const onFiles = embeddedOnly('a PostgreSQL server has its own disk');

test(
  'on a file system that really fills up each write is answered 507 or accepted, and none is lost or stored by half',
  onFiles,
  async (t) => {
    const small = await startOnSmallDisk(t);
    if (small === undefined) return t.skip('no file system can be mounted on this machine');
    const { service, ballast, target } = small;
    const group = await service.call('POST', '/management/project-groups', { body: { name: 'Group' } });
    const body = { name: 'Project', projectGroupId: group.body.id, locale: 'de-DE' };
    const project = await service.call('POST', '/management/projects', { body });
    const writer = new DiskWriter(service, project.body.id);
    await writer.update(20);
    await writer.settle();

    for (const left of [0, 16, 64, 160, 400, 900]) {
      await writer.initiate();
      ballast.fill(left * 1024);
      for (let round = 0; round < 4; round += 1) {
        await writer.upload();
        assert.equal((await writer.lookUp()).status, 200, 'lookups continue');
        await writer.update(20);
        await writer.delete();
        await writer.start();
        assert.equal((await writer.lookUp()).status, 200, 'lookups continue');
        await writer.initiate();
      }
      ballast.drop();
      await writer.upload();
      await writer.start();
      await writer.settle();
    }
    t.diagnostic(JSON.stringify(writer.statuses));
    const refused = Object.entries(writer.statuses).filter(([key]) => key.endsWith('507'));
    assert.ok(refused.length > 0, 'the disk was full');
    assert.equal(service.faults(), '');
    const path = `/management/projects/${project.body.id}/products?format=ndjson`;
    const products = (await service.call('GET', path)).text;
    assert.equal(await service.stop(), 0);
    const restored = embeddedStoreAt(`${target}-restored`);
    const url = pathToFileURL(target).href;
    const back = await runRelataWith({}, restored.dataDir, 'restore', '--from', url, restored.dataDir);
    assert.equal(back.code, 0, back.output);
    const again = await startProcess(restored);
    t.after(() => again.kill());
    assert.equal(
      (await again.call('GET', path)).text,
      products,
      'the backup has everything that was accepted',
    );
  },
);
