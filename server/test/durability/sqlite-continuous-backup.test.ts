// runs: deep, long, waits
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { BackupStream, createStreamState } from '../../src/backup/stream/stream.ts';
import { dataFolderAt } from '../../src/storage/folder/folder.ts';
import { newestOf } from '../../src/storage/migrations/migrations.ts';
import { createProject } from '../support/catalogs/catalog-caller.ts';
import { createRandom } from '../support/catalogs/catalog-model.ts';
import { playHistory } from '../support/histories/play-history.ts';
import { StandbyCluster } from '../support/histories/standby-cluster.ts';
import { S3_KEYS, S3_REGION, startS3Server } from '../support/outbound/s3-server.ts';
import { runRelataWith } from '../support/relata-command.ts';
import { type ServiceProcess, startProcess, startProgram } from '../support/service-process.ts';
import { embeddedStoreAt, type TestStore } from '../support/test-store.ts';

/**
 * The data directory is sent to a target while the service works, and is restored from it (docs/operating/backup.md,
 * "Continuous backup"). RELATA_TEST_LOSSES sets how often a directory is lost, RELATA_TEST_LANES how many run in
 * parallel, and RELATA_TEST_SEED repeats a run. RELATA_TEST_LAG_MS sets how far the target may lag, and
 * RELATA_TEST_HISTORY_S how long clients are recorded while a standby replaces the writer.
 */

const LOSSES = Number(process.env.RELATA_TEST_LOSSES ?? 3);
const LANES = Number(process.env.RELATA_TEST_LANES ?? 1);
const SEED = Number(process.env.RELATA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** Usually half a second; a busy machine may take ten times as long. */
const LAG_MS = Number(process.env.RELATA_TEST_LAG_MS ?? 10_000);
const HISTORY_S = Number(process.env.RELATA_TEST_HISTORY_S ?? 10);
const KEY = Buffer.alloc(32, 'backup').toString('base64');

interface Place {
  readonly store: TestStore;
  readonly url: string;
  readonly target: string;
  readonly settings: Record<string, string>;
}

async function createPlace(t: TestContext, settings: Record<string, string> = {}): Promise<Place> {
  const root = await mkdtemp(join(tmpdir(), 'relata-backup-'));
  const store = embeddedStoreAt(join(root, 'data'));
  t.after(async () => {
    await store.remove();
    await rm(root, { recursive: true, force: true });
  });
  const target = join(root, 'target');
  const url = pathToFileURL(target).href;
  return { store, target, url, settings: { RELATA_BACKUP_URL: url, ...settings } };
}

const relata = ({ store, settings }: Place, ...args: string[]) =>
  runRelataWith(settings, store.dataDir, ...args);

async function waitUntilSent(service: ServiceProcess): Promise<void> {
  for (;;) {
    const { text } = await service.call('GET', '/metrics');
    const read = (name: string) => Number(new RegExp(`^relata_backup_${name} (.*)$`, 'm').exec(text)?.[1]);
    if (read('lag_seconds') === 0 && read('base_seconds') > 0) return;
    await delay(50);
  }
}

/** Sends updates one after another and records the times of the answers. */
class Writer {
  readonly answeredAt: number[] = [];
  sent = 0;
  readonly projectId: number;

  constructor(projectId: number) {
    this.projectId = projectId;
  }

  async write(service: ServiceProcess): Promise<void> {
    this.sent += 1;
    const number = this.sent;
    const products = [
      { identifier: `P${number % 40}`, name: String(number) },
      {
        identifier: 'last',
        name: String(number),
        attributes: [{ key: 'Text', value: 'x'.repeat(number % 9 === 0 ? 30_000 : 10) }],
      },
    ];
    const { status, text } = await service.call('POST', `/products?projectId=${this.projectId}`, {
      body: { products },
    });
    assert.equal(status, 200, text);
    this.answeredAt[number] = performance.now();
  }

  async writeUntilKilled(service: ServiceProcess): Promise<void> {
    for (;;) {
      try {
        await this.write(service);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        return;
      }
    }
  }

  /** Sends updates until one is refused. All earlier updates must be accepted. */
  async writeUntilSuperseded(service: ServiceProcess): Promise<void> {
    for (;;) {
      const name = String(this.sent + 1);
      const products = [
        { identifier: `P${(this.sent + 1) % 40}`, name },
        { identifier: 'last', name },
      ];
      const path = `/products?projectId=${this.projectId}`;
      const { status, body, text } = await service.call('POST', path, { body: { products } });
      if (body.reason === 'superseded') return;
      assert.equal(status, 200, text);
      this.sent += 1;
    }
  }

  /** All accepted updates took effect, and the result is a prefix of those sent. @returns its length */
  async check(service: ServiceProcess): Promise<number> {
    for (;;) {
      const { body, text } = await service.call('GET', `/tasks?projectId=${this.projectId}&limit=1000`);
      assert.ok(Array.isArray(body.tasks), text);
      if (body.tasks.every(({ finishTime }: { finishTime: number | null }) => finishTime !== null)) break;
      await delay(20);
    }
    const path = `/management/projects/${this.projectId}/products?format=ndjson`;
    const { text, status } = await service.call('GET', path);
    assert.equal(status, 200, text);
    const names = new Map(
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
        .map(({ identifier, name }) => [String(identifier), Number(name)]),
    );
    const last = names.get('last') ?? 0;
    for (let number = Math.max(1, last - 39); number <= last; number += 1)
      assert.equal(names.get(`P${number % 40}`), number, 'a product does not have the last update');
    this.sent = last;
    return last;
  }
}

/** Sends changes until one is accepted, or refused for another reason. */
async function changeUntil(service: ServiceProcess, projectId: number, reason: string | undefined) {
  const body = { products: [{ identifier: 'beside', name: 'beside' }] };
  for (;;) {
    const answer = await service.call('POST', `/products?projectId=${projectId}`, { body });
    if (answer.status === 200 ? reason === undefined : answer.body.reason === reason) return;
    await delay(50);
  }
}

async function loseDirectory({ store }: Place): Promise<void> {
  await rm(store.dataDir, { recursive: true });
}

/** @returns its path in the target */
async function findLastSegment({ target }: Place): Promise<string> {
  const entries = await readdir(target, { recursive: true, withFileTypes: true });
  const segments = entries.filter((entry) => entry.isFile() && entry.parentPath.includes('segments'));
  return segments
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .at(-1) as string;
}

async function bringBack(setup: Place, ...args: string[]): Promise<void> {
  const restored = await relata(setup, 'restore', '--from', setup.url, ...args, setup.store.dataDir);
  assert.equal(restored.code, 0, restored.output);
  const doctor = await relata(setup, 'doctor');
  assert.equal(doctor.code, 0, doctor.output);
}

test(`a directory that is lost ${LOSSES} times is restored with every update answered more than ${LAG_MS} ms before the loss (seed ${SEED})`, async (t) => {
  const lanes = Array.from({ length: LANES }, (_, lane) => loseAgainAndAgain(t, createRandom(SEED + lane)));
  const longest = Math.max(...(await Promise.all(lanes)));
  t.diagnostic(`the oldest update that was lost had been answered ${Math.round(longest)} ms before`);
});

/** @returns the age in ms, at the loss, of the oldest lost update since its answer */
async function loseAgainAndAgain(t: TestContext, random: () => number): Promise<number> {
  const setup = await createPlace(t, { RELATA_BACKUP_KEY: KEY });
  let service = await startProcess(setup.store, setup.settings);
  const writer = new Writer(await createProject(service));
  await writer.write(service);
  await waitUntilSent(service);
  let longest = 0;
  for (let loss = 1; loss <= LOSSES / LANES; loss += 1) {
    const writing = writer.writeUntilKilled(service);
    await delay(400 + random() * 1_600);
    const killedAt = performance.now();
    await service.kill();
    await writing;
    // Some losses are only crashes: the directory stays, and the target continues from there.
    const isLost = random() < 0.8;
    if (isLost) {
      await loseDirectory(setup);
      await bringBack(setup);
      const promoted = await relata(setup, 'promote');
      assert.equal(promoted.code, 0, promoted.output);
    }
    const { answeredAt } = writer;
    service = await startProcess(setup.store, setup.settings);
    const last = await writer.check(service);
    const lost = answeredAt.slice(last + 1).find((answered) => answered !== undefined);
    if (lost !== undefined) longest = Math.max(longest, killedAt - lost);
    if (!isLost) assert.equal(lost, undefined, 'a crash loses nothing');
    assert.ok(longest <= LAG_MS, `loss ${loss}: an update was answered ${longest} ms before it was lost`);
    answeredAt.length = last + 1;
    await writer.write(service);
    await waitUntilSent(service);
  }
  assert.equal(await service.stop(), 0);
  const verified = await relata(setup, 'backups', setup.url, '--verify');
  assert.equal(verified.code, 0, verified.output);
  return longest;
}

test('a standby answers reads and refuses writes; once promoted it accepts them, and the former writer refuses', async (t) => {
  const setup = await createPlace(t);
  const former = await startProcess(setup.store, setup.settings);
  const writer = new Writer(await createProject(former));
  for (let count = 0; count < 20; count += 1) await writer.write(former);
  await waitUntilSent(former);

  const other = embeddedStoreAt(`${setup.store.dataDir}-standby`);
  t.after(other.remove);
  const standby = await startProgram({ store: other, standby: setup.url });
  const lookUp = async (service: ServiceProcess) => {
    const path = `/product-service/products-by-sku?projectId=${writer.projectId}&identifiers=last`;
    const { body, text, status } = await service.call('GET', path);
    assert.equal(status, 200, text);
    return Number(body.products?.[0]?.name ?? body[0]?.name);
  };
  for (let count = 0; count < 12; count += 1) {
    await writer.write(former);
    const { sent } = writer;
    while ((await lookUp(standby)) !== sent) await delay(20);
  }
  await changeUntil(standby, writer.projectId, 'standby');
  const { body: ready } = await standby.call('GET', '/health/ready');
  assert.ok(ready.backup.behindSeconds < LAG_MS / 1_000, JSON.stringify(ready));

  const begun = performance.now();
  const writing = writer.writeUntilSuperseded(former);
  const promoted = await runRelataWith({}, other.dataDir, 'promote', '--data-dir', other.dataDir);
  assert.equal(promoted.code, 0, promoted.output);
  await writing;
  const { sent: accepted } = writer;
  await changeUntil(standby, writer.projectId, undefined);
  assert.equal(await writer.check(standby), accepted, 'everything that the former writer accepted is there');
  t.diagnostic(`promoted within ${Math.round(performance.now() - begun)} ms`);
  await changeUntil(former, writer.projectId, 'superseded');
  assert.ok((await lookUp(former)) > 0, 'the former writer answers reads');
  assert.equal(await former.stop(), 0);
  const again = await relata(setup, 'serve');
  assert.equal(again.code, 1, 'the old directory does not start as the writer');
  assert.match(again.output, /left behind/);

  await writer.write(standby);
  await waitUntilSent(standby);
  assert.equal(await standby.stop(), 0);
  const restored = `${setup.store.dataDir}-restored`;
  const back = await relata(setup, 'restore', '--from', setup.url, restored);
  assert.equal(back.code, 0, back.output);
  const service = await startProcess(embeddedStoreAt(restored));
  const { sent } = writer;
  assert.equal(await writer.check(service), sent);
  assert.equal(await service.stop(), 0);
});

test(`all reads keep every promise while standbys replace the writer for ${HISTORY_S} s (seed ${SEED})`, async (t) => {
  const { violations, counts } = await playHistory(StandbyCluster.start, HISTORY_S, SEED);
  t.diagnostic(JSON.stringify(counts));
  assert.deepEqual(violations, []);
  const { accepted = 0, reads = 0, handovers = 0 } = counts;
  assert.ok(accepted > 0 && reads > 0 && handovers > 0);
});

test('a writer that was asked to hand over accepts changes again if no standby replaces it', async (t) => {
  const setup = await createPlace(t);
  const service = await startProcess(setup.store, setup.settings);
  const writer = new Writer(await createProject(service));
  await writer.write(service);
  await waitUntilSent(service);
  await mkdir(join(setup.target, 'handovers'));
  await writeFile(join(setup.target, 'handovers', '000001'), 'somebody');
  await writer.writeUntilSuperseded(service);
  await changeUntil(service, writer.projectId, undefined);
  await writer.write(service);
  assert.equal(await service.stop(), 0);
  await loseDirectory(setup);
  await bringBack(setup);
  const back = await startProcess(setup.store, setup.settings);
  const { sent } = writer;
  assert.equal(await writer.check(back), sent);
  assert.equal(await back.stop(), 0);
});

test('a standby of another schema version refuses and names its version', async (t) => {
  const setup = await createPlace(t);
  const former = await startProcess(setup.store, setup.settings);
  const writer = new Writer(await createProject(former));
  await writer.write(former);
  await waitUntilSent(former);
  const other = embeddedStoreAt(`${setup.store.dataDir}-standby`);
  t.after(other.remove);
  const standby = await startProgram({ store: other, standby: setup.url });
  assert.equal(await former.stop(), 0);

  await sendVersion(setup, newestOf('control') + 1);
  while (!/newer schema/.test(await problemsOf(standby))) await delay(50);
  const path = `/product-service/products-by-sku?projectId=${writer.projectId}&identifiers=last`;
  assert.equal((await standby.call('GET', path)).status, 200, 'it answers with its present data');
  // A separate timer writes the log line, so the line may come later.
  while (
    !/control\.db comes from a service with schema \d+, but this program supports \d+/.test(standby.log())
  )
    await delay(50);
  assert.equal(await standby.stop(), 0);

  const empty = { ...setup, store: embeddedStoreAt(`${setup.store.dataDir}-empty`) };
  t.after(empty.store.remove);
  const newer = await relata(empty, 'serve', '--standby', setup.url);
  assert.equal(newer.code, 1);
  assert.match(newer.output, /comes from a service with schema \d+, .*: run the same version here as there/);
  await sendVersion(setup, newestOf('control') - 1);
  const older = await relata(empty, 'serve', '--standby', setup.url);
  assert.equal(older.code, 1);
  assert.match(older.output, /comes from a service with schema \d+, .*: run the same version here as there/);
});

/** Sets the schema version of the file to that of another release, and sends the file to the target. */
async function sendVersion({ store, url }: Place, version: number): Promise<void> {
  const { control } = dataFolderAt(store.dataDir);
  {
    using database = new DatabaseSync(control);
    database.exec(`pragma user_version = ${version}`);
  }
  const settings = { keepSecondsHours: 24, keepHoursDays: 30, backlogBytes: 2 ** 30 };
  const stream = new BackupStream(
    { dataDir: store.dataDir, target: { url, s3: undefined }, ...settings },
    createStreamState(),
  );
  assert.equal(await stream.start(), undefined);
  await stream.stop();
}

test('an earlier instant can be restored, and a changed byte is detected and reported by a restore', async (t) => {
  const setup = await createPlace(t, { RELATA_BACKUP_KEY: KEY });
  const service = await startProcess(setup.store, setup.settings);
  const writer = new Writer(await createProject(service));
  for (let count = 0; count < 5; count += 1) await writer.write(service);
  await waitUntilSent(service);
  assert.equal(await writer.check(service), 5);
  await waitUntilSent(service);
  const { body } = await service.call('GET', '/health/ready');
  for (let count = 0; count < 5; count += 1) await writer.write(service);
  assert.equal(await service.stop(), 0);

  const listed = await relata(setup, 'backups', setup.url);
  assert.match(listed.output, /^\d{4}-.*Z to \d{4}-.*Z: \d+ instants$/m);
  const earlier = await relata(
    setup,
    'restore',
    '--from',
    setup.url,
    '--at',
    '2026-01-01T00:00:00Z',
    `${setup.target}-a`,
  );
  assert.match(
    earlier.output,
    /The target has no state of that instant or before it; the first instant is 20/,
  );
  const otherKey = { RELATA_BACKUP_KEY: Buffer.alloc(32, 7).toString('base64') };
  const again = ['restore', '--from', setup.url, `${setup.target}-a`];
  const unread = await runRelataWith(otherKey, setup.store.dataDir, ...again);
  assert.match(unread.output, /is damaged, or was encrypted with another RELATA_BACKUP_KEY/);
  assert.match(
    (await relata(setup, ...again)).output,
    /files were restored to .*-a, as of 20/,
    'the failed attempt left nothing',
  );
  const filled = await relata(setup, 'restore', '--from', setup.url, setup.target);
  assert.match(filled.output, /is not empty/);
  const keyless = await runRelataWith(
    {},
    setup.store.dataDir,
    'restore',
    '--from',
    setup.url,
    `${setup.target}-b`,
  );
  assert.match(keyless.output, /is encrypted: set RELATA_BACKUP_KEY/);
  const last = await findLastSegment(setup);
  await loseDirectory(setup);
  await bringBack(setup, '--at', body.backup.lastInstant);
  const back = await startProcess(setup.store);
  assert.equal(await writer.check(back), 5, 'nothing after the instant is there');
  assert.equal(await back.stop(), 0);

  const bytes = await readFile(last);
  bytes[Math.floor(bytes.length / 2)] = (bytes[Math.floor(bytes.length / 2)] ?? 0) ^ 1;
  await writeFile(last, bytes);
  const verified = await relata(setup, 'backups', setup.url, '--verify');
  assert.equal(verified.code, 1);
  assert.match(verified.output, /^segments\/.* is damaged/m);
  await loseDirectory(setup);
  const refused = await relata(setup, 'restore', '--from', setup.url, setup.store.dataDir);
  assert.equal(refused.code, 1);
  assert.match(refused.output, /^segments\/.* is damaged/);
  assert.deepEqual(
    (await readdir(setup.store.dataDir)).filter((name) => name === 'control.db'),
    [],
    'the remains do not look like a store',
  );
});

const problemsOf = async (service: ServiceProcess): Promise<string> =>
  ((await service.call('GET', '/health/ready')).body.problems ?? []).join();

test('a backup that stops names the cause and the remedy: wrong keys of a bucket, a damaged object', async (t) => {
  const bucket = await startS3Server('backups');
  t.after(bucket.close);
  const refused = await createPlace(t, {
    RELATA_BACKUP_URL: 's3://backups/relata',
    RELATA_BACKUP_S3_ENDPOINT: bucket.endpoint,
    RELATA_BACKUP_S3_REGION: S3_REGION,
    RELATA_BACKUP_S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
    RELATA_BACKUP_S3_SECRET_ACCESS_KEY: 'of another bucket',
  });
  const service = await startProcess(refused.store, refused.settings);
  while (!/refuses access: check its keys/.test(await problemsOf(service))) await delay(50);
  assert.equal(await service.stop(), 0);

  const setup = await createPlace(t);
  const former = await startProcess(setup.store, setup.settings);
  const writer = new Writer(await createProject(former));
  await writer.write(former);
  await waitUntilSent(former);
  const other = embeddedStoreAt(`${setup.store.dataDir}-standby`);
  t.after(other.remove);
  const standby = await startProgram({ store: other, standby: setup.url });
  standby.pause();
  await writer.write(former);
  assert.equal(await former.stop(), 0);
  await writeFile(await findLastSegment(setup), 'damaged');
  standby.continue();
  while (!/damaged or missing, .* --verify names it/.test(await problemsOf(standby))) await delay(50);
  assert.equal(await standby.stop(), 0);
});

const readMetric = async (service: ServiceProcess, name: string): Promise<number> =>
  Number(
    new RegExp(`^relata_backup_${name} (.*)$`, 'm').exec((await service.call('GET', '/metrics')).text)?.[1],
  );

test('a lost directory is reported by ready, metrics and doctor, is not created again, and writes continue', async (t) => {
  const setup = await createPlace(t, { RELATA_BACKUP_KEY: KEY });
  const service = await startProcess(setup.store, setup.settings);
  const writer = new Writer(await createProject(service));
  await writer.write(service);
  await waitUntilSent(service);
  const whole = await relata(setup, 'doctor');
  assert.match(whole.output, /^ok +continuous backup: file:.* can be restored as of 20/m);
  await rename(setup.target, `${setup.target}-away`);
  await writer.write(service);
  while (!/does not exist or holds another backup/.test(await problemsOf(service))) await delay(50);
  await writer.write(service);
  assert.equal(await readMetric(service, 'away'), 1);
  const doctor = await relata(setup, 'doctor');
  assert.equal(doctor.code, 1);
  assert.match(doctor.output, /^problem +continuous backup: file:.*: it does not exist$/m);
  assert.equal(existsSync(setup.target), false);
  assert.equal(await service.stop(), 0);
  const again = await startProcess(setup.store, setup.settings);
  await writer.write(again);
  assert.equal(await readMetric(again, 'away'), 1);
  assert.equal(existsSync(setup.target), false);
  await rename(`${setup.target}-away`, setup.target);
  while ((await readMetric(again, 'away')) === 1) await delay(50);
  await waitUntilSent(again);
  assert.equal(await again.stop(), 0);
  await loseDirectory(setup);
  await bringBack(setup);
  const back = await startProcess(setup.store);
  const { sent } = writer;
  assert.equal(await writer.check(back), sent);
  assert.equal(await back.stop(), 0);
});

test('a base lost while the service is stopped is reported by doctor, ready and metrics, and is made again', async (t) => {
  const setup = await createPlace(t);
  const first = await startProcess(setup.store, setup.settings);
  await waitUntilSent(first);
  assert.equal(await first.stop(), 0);
  await rm(join(setup.target, 'bases'), { recursive: true });
  await rm(join(setup.target, 'copies'), { recursive: true });
  const doctor = await relata(setup, 'doctor');
  assert.match(doctor.output, /^problem +continuous backup: file:.*: there is no complete base copy$/m);
  const service = await startProcess(setup.store, setup.settings);
  while (!/had lost its base copy or a segment/.test(await problemsOf(service))) await delay(50);
  while ((await readMetric(service, 'base_seconds')) === 0) await delay(50);
  assert.equal(await service.stop(), 0);
  const mended = await relata(setup, 'doctor');
  assert.match(mended.output, /^ok +continuous backup/m);
  const last = await findLastSegment(setup);
  await rm(last);
  const again = await startProcess(setup.store, setup.settings);
  while (!/had lost its base copy or a segment/.test(await problemsOf(again))) await delay(50);
  assert.deepEqual([await readMetric(again, 'incomplete'), await readMetric(again, 'away')], [1, 0]);
  assert.equal(await readMetric(again, 'gaps'), 1);
  while (!/had lost its base copy or a segment/.test(again.log())) await delay(50);
  while ((await readMetric(again, 'base_seconds')) === 0) await delay(50);
  assert.equal(await again.stop(), 0);
  const verified = await relata(setup, 'backups', setup.url, '--verify');
  assert.equal(verified.code, 0, verified.output);
});

test('a verification and a restore name a plain segment in a backup with a key', async (t) => {
  const setup = await createPlace(t, { RELATA_BACKUP_KEY: KEY });
  const service = await startProcess(setup.store, setup.settings);
  await waitUntilSent(service);
  assert.equal(await service.stop(), 0);
  const last = await findLastSegment(setup);
  const [from = '', to = '', epoch = '', timestamp = ''] = basename(last).split('-');
  const next = [
    to,
    String(Number(to) + 1).padStart(from.length, '0'),
    epoch,
    String(Number(timestamp) + 1),
  ].join('-');
  await writeFile(join(dirname(last), next), (await readFile(last)).fill(0, 16, 17));
  const verified = await relata(setup, 'backups', setup.url, '--verify');
  assert.equal(verified.code, 1);
  assert.match(
    verified.output,
    new RegExp(`^segments/.*/${next} is not authenticated by RELATA_BACKUP_KEY`, 'm'),
  );
  const restored = await relata(setup, 'restore', '--from', setup.url, `${setup.store.dataDir}-restored`);
  assert.equal(restored.code, 1);
  assert.match(restored.output, new RegExp(`^segments/.*/${next} is not authenticated by RELATA_BACKUP_KEY`));
});

test('an unreachable target stops no write, is reported, and later receives what it missed, in a bucket and in a directory', async (t) => {
  const bucket = await startS3Server('backups');
  t.after(bucket.close);
  const setup = await createPlace(t, {
    RELATA_BACKUP_URL: 's3://backups/relata',
    RELATA_BACKUP_S3_ENDPOINT: bucket.endpoint,
    RELATA_BACKUP_S3_REGION: S3_REGION,
    RELATA_BACKUP_S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
    RELATA_BACKUP_S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
    RELATA_BACKUP_BACKLOG_MIB: '1',
  });
  const service = await startProcess(setup.store, setup.settings);
  const writer = new Writer(await createProject(service));
  await writer.write(service);
  await waitUntilSent(service);
  bucket.isAway = true;
  const isAway = async () =>
    /cannot be reached: check .*; it is \d+ s behind$/.test(await problemsOf(service));
  do await writer.write(service);
  while (!(await isAway()));
  for (let count = 0; count < 100; count += 1) await writer.write(service);
  bucket.isAway = false;
  while (!/the continuous backup works again/.test(service.log())) await delay(50);
  await writer.write(service);
  assert.equal(await service.stop(), 0);
  assert.match(service.log(), /the target of the backup cannot be reached/);

  const restored = `${setup.store.dataDir}-restored`;
  const back = await relata(setup, 'restore', '--from', 's3://backups/relata', restored);
  assert.equal(back.code, 0, back.output);
  const again = await startProcess(embeddedStoreAt(restored));
  const { sent } = writer;
  assert.equal(await writer.check(again), sent);
  assert.equal(await again.stop(), 0);
  const verified = await relata(setup, 'backups', 's3://backups/relata', '--verify');
  assert.equal(verified.code, 0, verified.output);
});
