// runs: deep, long, waits
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import {
  aimAt,
  Caller,
  checkStore,
  createProject,
  waitUntilTidy,
} from '../support/catalogs/catalog-caller.ts';
import { createRandom } from '../support/catalogs/catalog-model.ts';
import { DefinitionsCaller } from '../support/catalogs/definitions-caller.ts';
import { createDisk, noLayers } from '../support/power/layer.ts';
import {
  type DiskState,
  type Leaves,
  readState,
  type SimulatedDisk,
} from '../support/power/simulated-disk.ts';
import { runRelataWith } from '../support/relata-command.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { embeddedStoreAt, type TestStore } from '../support/test-store.ts';

/**
 * The power fails at random moments, and any part of the unsynced data is lost. Afterwards everything that was answered
 * is stored (docs/operating/backup.md, "Crashes and power cuts"). sqlite-power-layer.test.ts tests the simulated disk.
 * RELATA_TEST_CUTS sets the number of cuts, and RELATA_TEST_SEED repeats a run.
 */

const CUTS = Number(process.env.RELATA_TEST_CUTS ?? 4);
const SEED = Number(process.env.RELATA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const MOST_ANSWERS = 16;
const LATER_MS = 50;
const LEAVES: readonly Leaves[] = ['nothing', 'the first changes', 'any changes', 'any changes'];
/** A cut during a start needs one more start. */
const CUT_STARTS = 0.15;

/** The share of starts with a continuous backup. During the other starts, files change without the backup. */
const BACKED_STARTS = 0.6;

class Machine {
  readonly store: TestStore;
  /** The target of the backup, on another disk. */
  readonly target: string;
  backed = 0;
  private readonly disk: SimulatedDisk;
  private readonly settings: Record<string, string>;
  private readonly random: () => number;

  constructor({ disk, settings }: ReturnType<typeof createDisk>, random: () => number) {
    this.disk = disk;
    this.settings = settings;
    this.random = random;
    this.store = embeddedStoreAt(join(disk.root, 'data'));
    this.target = join(disk.root, '..', 'target');
  }

  start(isBacked = this.random() < BACKED_STARTS): Promise<ServiceProcess> {
    this.backed += Number(isBacked);
    const backup = { RELATA_BACKUP_URL: pathToFileURL(this.target).href };
    return startProcess(this.store, { ...this.settings, ...(isBacked && backup) });
  }

  /** Requires that all processes have ended. @returns the state that the cut left */
  cut(leaves = LEAVES[Math.floor(this.random() * LEAVES.length)] ?? 'nothing'): Leaves {
    this.disk.follow();
    this.disk.become(this.disk.leave(leaves, this.random));
    return leaves;
  }

  /** Nothing was answered during the start, so the cut may happen at any moment of it. */
  async cutStart(): Promise<void> {
    await (await this.start()).kill();
    const journal = this.disk.countRecords();
    this.disk.follow(Math.floor(this.random() * journal));
    this.disk.become(this.disk.leave('any changes', this.random));
  }
}

test(`nothing that was answered is lost in ${CUTS} power cuts (seed ${SEED})`, {
  skip: noLayers,
}, async (t) => {
  const random = createRandom(SEED);
  const disk = createDisk(t);
  const machine = new Machine(disk, random);
  let service = await machine.start();
  t.after(() => service.kill());
  const caller = new Caller(service, { projectId: await createProject(service), random, identifiers: 400 });
  const definitions = new DefinitionsCaller(service, caller.projectId, random);
  await definitions.act();

  for (let cut = 1; cut <= CUTS; cut += 1) {
    // The first cut happens before any load, when files and folders are new.
    if (cut > 1) await burst(service, { caller, definitions, random });
    await service.kill();
    const left = machine.cut(cut === 1 ? 'nothing' : undefined);
    try {
      if (random() < CUT_STARTS) await machine.cutStart();
      caller.history.push(`cut ${cut}, which left ${left}`);
      service = await machine.start();
      await caller.recover(service);
      await definitions.recover(service);
    } catch (error) {
      throw new Error(`after cut ${cut} of ${CUTS}, which left ${left}, RELATA_TEST_SEED=${SEED}`, {
        cause: error,
      });
    }
  }
  await caller.finish();
  await waitUntilTidy(machine.store, caller.projectId);
  assert.equal(await service.stop(), 0);
  disk.disk.follow();
  assertSame(disk.disk.current(), readState(disk.disk.root), 'the disk recorded every write');
  await checkStore(machine.store, caller.projectId);
  await checkBackup(machine, caller.projectId);
  t.diagnostic(JSON.stringify({ ...caller.counts, backed: machine.backed }));
});

/** In the end, the target equals the directory. */
async function checkBackup(machine: Machine, projectId: number): Promise<void> {
  const { store, target } = machine;
  const url = pathToFileURL(target).href;
  const service = await machine.start(true);
  const read = async (name: string) =>
    Number(
      new RegExp(`^relata_backup_${name} (.*)$`, 'm').exec((await service.call('GET', '/metrics')).text)?.[1],
    );
  while ((await read('base_seconds')) === 0 || (await read('lag_seconds')) > 0) await delay(50);
  await waitUntilTidy(store, projectId);
  assert.equal(await service.stop(), 0);
  const restored = embeddedStoreAt(`${target}-restored`);
  const back = await runRelataWith({}, store.dataDir, 'restore', '--from', url, restored.dataDir);
  assert.equal(back.code, 0, back.output);
  const verified = await runRelataWith({}, store.dataDir, 'backups', url, '--verify');
  assert.equal(verified.code, 0, verified.output);
  await checkStore(restored, projectId);
  const documents = 'select p.*, d.* from product p join document d on d.id = p.document_id order by p.id';
  assert.deepEqual(
    await restored.readCatalog(projectId, documents),
    await store.readCatalog(projectId, documents),
  );
}

interface Callers {
  readonly caller: Caller;
  readonly definitions: DefinitionsCaller;
  readonly random: () => number;
}

/**
 * Makes calls until the service is killed: at random after a number of answers, or right after an answer of one kind.
 */
async function burst(service: ServiceProcess, { caller, definitions, random }: Callers): Promise<void> {
  const target = aimAt(random());
  const moment = Promise.withResolvers<void>();
  let left = Math.ceil(random() * MOST_ANSWERS);
  const calls = caller.burst((answered) => {
    left -= 1;
    if (answered === target || left < -MOST_ANSWERS) moment.resolve();
    else if (left === 0 && target === undefined) setTimeout(moment.resolve, random() * LATER_MS);
  });
  const others = definitions.burst();
  await Promise.race([moment.promise, calls, others]);
  await service.kill();
  await Promise.all([calls, others]);
}

test('a power cut keeps a finished backup, and leaves a restore complete or absent', {
  skip: noLayers,
}, async (t) => {
  const random = createRandom(SEED);
  const { disk, settings } = createDisk(t);
  const store = embeddedStoreAt(join(disk.root, 'data'));
  const service = await startProcess(store, settings);
  t.after(() => service.kill());
  const projectId = await createProject(service);
  const body = {
    products: Array.from({ length: 50 }, (_, index) => ({ identifier: `P${index}`, name: 'Drill' })),
  };
  await service.call('POST', `/products?projectId=${projectId}`, { body });
  const full = `/products/batch/upload?projectId=${projectId}`;
  await service.call('POST', `/products/batch/initiate?projectId=${projectId}`);
  await service.call('POST', full, { body });

  const backup = join('backups', 'today', 'one');
  const made = await runRelataWith(settings, store.dataDir, 'backup', join(disk.root, backup));
  assert.equal(made.code, 0, made.output);
  await service.kill();
  disk.follow();
  const whole = below(disk.current(), backup);
  assert.ok(whole.has('control.db') && whole.has(`catalogs/${projectId}.db`) && whole.size > 4);
  for (let cut = 0; cut < 30; cut += 1) {
    assertSame(below(disk.leave(cut === 0 ? 'nothing' : 'any changes', random), backup), whole, 'the backup');
  }

  disk.become(disk.current());
  const target = join(disk.root, 'again', 'data');
  const restored = await runRelataWith(settings, target, 'restore', join(disk.root, backup));
  assert.equal(restored.code, 0, restored.output);
  const data = (state: DiskState) => below(state, join('again', 'data'));
  const stored = new Map([...whole].filter(([name]) => name !== 'manifest.json'));
  do {
    const left = data(disk.leave('any changes', random));
    if (left.has('control.db')) assertSame(left, stored, 'everything that looks like data is complete');
  } while (disk.follow(1) > 0);
  for (let cut = 0; cut < 30; cut += 1) {
    assertSame(data(disk.leave(cut === 0 ? 'nothing' : 'any changes', random)), stored, 'what was restored');
  }
});

/** The content of a folder, without the lock of a server and without leftover drafts. */
function below(state: DiskState, folder: string): DiskState {
  const entries = [...state].flatMap(([name, bytes]) =>
    name.startsWith(`${folder}/`) ? [[name.slice(folder.length + 1), bytes] as const] : [],
  );
  return new Map(entries.filter(([name]) => !/^(server\.lock|restore\.part)/.test(name)));
}

function assertSame(actual: DiskState, expected: DiskState, what: string): void {
  const names = [...new Set([...actual.keys(), ...expected.keys()])];
  const differing = names.filter((name) => {
    const [is, should] = [actual.get(name), expected.get(name)];
    if (is === undefined || should === undefined)
      return !(actual.has(name) && expected.has(name)) || is !== should;
    return !is.equals(should);
  });
  assert.deepEqual(differing, [], what);
}
