// runs: deep, waits
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createProject } from '../support/catalogs/catalog-caller.ts';
import { findFastFolder } from '../support/postgres/postgres-server.ts';
import { DiskWriter } from '../support/power/disk-writer.ts';
import { FAULTS, FailingDisk, type Fault } from '../support/power/failing-disk.ts';
import { noLayers } from '../support/power/layer.ts';
import { runRelataWith } from '../support/relata-command.ts';
import { startProcess } from '../support/service-process.ts';
import { embeddedStoreAt } from '../support/test-store.ts';

/**
 * A disk that is full, reports errors, cannot be read, has become read-only or stalls, for each kind of file and during
 * each step of a full update. Each request is clearly refused or durably accepted. Lookups continue, and writes resume
 * once the disk has recovered (docs/interface §7.2 rule 6, docs/operating/backup.md "When the disk is full or fails").
 * RELATA_TEST_FAULTS=all tries all combinations. A part of a name, such as `stalled` or `unreadable: catalog-wal`,
 * tries those whose name contains it.
 */

const program = fileURLToPath(new URL('../support/power/read-only-catalog.ts', import.meta.url));

/** Path patterns for fnmatch(3). */
const KINDS = {
  control: '*/control.db',
  'control-wal': '*/control.db-wal',
  catalog: '*/catalogs/*.db',
  'catalog-wal': '*/catalogs/*.db-wal',
  payloads: '*/payloads/?*',
  folders: '*/@(payloads|catalogs|data)',
  everything: '*/data/*',
} as const;
const STEPS = ['initiate', 'upload', 'start', 'update', 'delete', 'update when just started'] as const;

interface Case {
  readonly fault: Fault;
  readonly kind: keyof typeof KINDS;
  readonly step: (typeof STEPS)[number];
}

const nameOf = ({ fault, kind, step }: Case) => `${fault}: ${kind}, ${step}`;
const kinds = Object.keys(KINDS) as Case['kind'][];
const CASES = (Object.keys(FAULTS) as Fault[]).flatMap((fault) =>
  kinds.flatMap((kind) => STEPS.map((step): Case => ({ fault, kind, step }))),
);
/** Combinations to which the service reacts differently. */
const FEW = [
  'full: catalog-wal, start',
  'broken: control-wal, upload',
  'broken: payloads, upload',
  'broken: folders, update',
  'broken: catalog-wal, start',
  'unreadable: control, start',
  'unreadable: catalog-wal, start',
  'unreadable: payloads, start',
  'unreadable: catalog, update when just started',
  'read-only: catalog, update when just started',
  'stalled: control-wal, update',
  'stalled: payloads, upload',
  'stalled: catalog-wal, start',
];
const WANTED = process.env.RELATA_TEST_FAULTS;
const chosen = CASES.filter((diskCase) =>
  WANTED === undefined
    ? FEW.includes(nameOf(diskCase))
    : WANTED === 'all' || nameOf(diskCase).includes(WANTED),
);
/** The fault may occur only when accepted work runs, after its answer. Most faults occur within this time. */
const MEETING_MS = 3_000;

test(`a failing disk leads to clear refusals and loses nothing, in ${chosen.length} cases`, {
  skip: noLayers,
}, async (t) => {
  const shop = await openShop(t);
  for (const diskCase of chosen) await t.test(nameOf(diskCase), () => shop.play(diskCase));
  t.diagnostic(JSON.stringify(shop.writer.statuses));
  assert.equal(shop.faults(), '');
});

async function openShop(t: TestContext) {
  const folder = await mkdtemp(join(findFastFolder(tmpdir()), 'relata-failing-'));
  const disk = new FailingDisk(join(folder, 'fault'));
  const store = embeddedStoreAt(join(folder, 'data'));
  let service = await startProcess(store, disk.settings);
  t.after(async () => {
    disk.mend();
    await service.kill();
    await rm(folder, { recursive: true, force: true });
  });
  const writer = new DiskWriter(service, await createProject(service));
  const neighbour = await createProject(service);
  await writer.update(200);

  /** As many writes as Node has threads for file access. The same threads compress answers. */
  const crowd = () =>
    [1, 2, 3, 4].map(() => {
      const products = [{ identifier: 'A', name: 'A' }];
      return service.call('POST', `/products?projectId=${neighbour}`, { body: { products } });
    });

  async function prepare({ fault, step }: Case): Promise<void> {
    if (step === 'initiate') return;
    assert.ok(await writer.initiate());
    assert.ok(await writer.upload());
    if (step === 'delete') assert.ok(await writer.update(20));
    if (step !== 'update when just started') return;
    await writer.settle();
    assert.equal(await service.stop(), 0);
    service = await startProcess(store, disk.settings);
    writer.service = service;
    // The first lookup of a catalog opens its file. On a stalled disk, that would block everything else.
    if (fault === 'stalled') await writer.lookUp();
  }

  /** Lookups continue while the disk fails, unless they need a file that cannot be opened or read. */
  async function lookUp({ fault, step }: Case): Promise<void> {
    const { status, body } = await writer.lookUp();
    if (status === 200) return;
    assert.ok(fault === 'unreadable' || step === 'update when just started', `${status} ${body.message}`);
    assert.match(body.reason, /^(storage_failed|catalog_damaged)$/);
  }

  async function meet(): Promise<void> {
    for (const until = performance.now() + MEETING_MS; performance.now() < until; await delay(20))
      if (disk.countHits() > 0) return;
  }

  /** Requests that wait for the disk are answered once it has recovered. */
  async function failDuring(diskCase: Case, act: () => Promise<boolean>): Promise<void> {
    const isStalled = diskCase.fault === 'stalled';
    disk.fail(diskCase.fault, KINDS[diskCase.kind]);
    const others = isStalled ? crowd() : [];
    const answered = act();
    try {
      await (isStalled ? meet() : answered);
      await lookUp(diskCase);
      await meet();
    } finally {
      disk.mend();
    }
    for (const { status } of await Promise.all(others)) assert.equal(status, 200);
    const isAccepted = await answered;
    assert.ok(isAccepted || !isStalled);
  }

  return {
    writer,
    faults: () => service.faults(),
    async play(diskCase: Case) {
      await prepare(diskCase);
      await failDuring(diskCase, () => actAt(writer, diskCase.step));
      if (WANTED === undefined) assert.ok(disk.countHits() > 0, 'the fault occurred');
      // Unreadable pages can look like damage until a check has read the file.
      while (`${(await service.call('GET', '/health/ready')).body.problems}`.includes('catalog'))
        await delay(50);
      assert.ok(await writer.initiate());
      assert.ok(await writer.upload());
      assert.ok(await writer.start());
      await writer.settle();
    },
  };
}

function actAt(writer: DiskWriter, step: Case['step']): Promise<boolean> {
  return step === 'update' || step === 'update when just started' ? writer.update(20) : writer[step]();
}

test('a catalog that was opened on a read-only disk is written again once the disk is writable', {
  skip: noLayers,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'relata-failing-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const disk = new FailingDisk(join(folder, 'fault'));
  const child = fork(program, [folder], { env: { ...process.env, ...disk.settings } });
  t.after(() => child.kill('SIGKILL'));
  const hear = async () => (await once(child, 'message'))[0];
  const write = () => {
    child.send('write');
    return hear();
  };
  assert.equal(await hear(), 'open');
  disk.fail('read-only', '*/1.db');
  assert.match(await write(), /readonly/);
  disk.mend();
  assert.equal(await write(), 'written');
});

test('a backup to a failing disk fails with the reason and leaves nothing that looks like a backup', {
  skip: noLayers,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'relata-failing-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const disk = new FailingDisk(join(folder, 'fault'));
  const store = embeddedStoreAt(join(folder, 'data'));
  const service = await startProcess(store);
  t.after(() => service.kill());
  await createProject(service);
  const backups = join(folder, 'backups');
  const back = (name: string) => runRelataWith(disk.settings, store.dataDir, 'backup', join(backups, name));
  for (const fault of ['full', 'broken'] as const) {
    disk.fail(fault, '*/backups/*/control.db*');
    const { code, output } = await back(fault);
    disk.mend();
    assert.equal(code, 1);
    assert.match(output, /control\.db was not copied: unable to open database file/);
  }
  assert.equal((await back('good')).code, 0);
  assert.deepEqual(await readdir(backups), ['good']);
});
