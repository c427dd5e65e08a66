// runs: test (not on postgres: PostgreSQL is backed up with its own tools)
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { dataFolderAt, makeStoreFolders } from '../../storage/folder/folder.ts';
import { FollowedFiles } from '../files/files.ts';
import { restoreTimeline } from '../restore/restore.ts';
import { BackupStream, createStreamState, STATE } from '../stream/stream.ts';
import { type BackupTarget, type Entry, makeBackupId, openTarget } from '../target/target.ts';
import { takeLease } from './leases.ts';
import { mergeObjects } from './merged-objects.ts';
import { keepHouse } from './retention.ts';
import { HOUR_MS, hourOf, type Lease, nameOf, planRestore, type Span } from './spans.ts';
import { listSpans } from './timeline-reads.ts';

/** The ageing of a target: objects are merged and removed, except those needed for a promised instant. */

const KEY = Buffer.alloc(32, 'retention');
const BEGIN = Math.floor(1_700_000_000_000 / HOUR_MS) * HOUR_MS;
const HOURS = 56;
const EACH_HOUR = 2;
const KEEP = { keepSecondsHours: 6, keepHoursDays: 1 };

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'relata-retention-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function* list(entries: readonly Entry[]): AsyncGenerator<Entry> {
  yield* entries;
}

const bytesOf = (file: string, text: string): Entry => ({
  head: { kind: 'bytes', file, at: 0 },
  bytes: Buffer.from(text),
});

test('a target can restore every second for hours, every hour for days, and nothing older (docs/operating/backup.md)', async (t) => {
  const target = openTarget({ url: pathToFileURL(makeFolder(t)).href, s3: undefined, key: KEY });
  await target.writeIdentity(makeBackupId());
  await takeLease(target, undefined, { holder: 'one', from: 0 });
  const instants = await liveFor(HOURS, target);
  const seq = instants.length - 1;
  const now = BEGIN + HOURS * HOUR_MS + 120_000;
  const spans = await listSpans(target);
  const leases: Lease[] = [{ epoch: 1, holder: 'one', from: 0, at: BEGIN }];
  const sent = instants.slice(EACH_HOUR);
  const ends = new Map(sent.map((at) => [hourOf(at), at]));
  for (const at of sent) {
    const isKept = at >= now - 6 * HOUR_MS || (at >= now - 24 * HOUR_MS && ends.get(hourOf(at)) === at);
    if (isKept) assert.equal(planRestore(spans, leases, at)?.at, at, `${(now - at) / HOUR_MS} hours ago`);
  }
  const old = spans.filter(({ kind, at }) => kind === 'segments' && at < now - 8 * HOUR_MS);
  assert.deepEqual(old, [], 'seconds go');
  const oldest = Math.min(...spans.map(({ at }) => at));
  assert.ok(oldest > now - 50 * HOUR_MS && oldest < now - 24 * HOUR_MS, `${(now - oldest) / HOUR_MS} hours`);
  const bases = spans.filter(({ kind }) => kind === 'bases').length;
  assert.equal((await target.list('copies')).length, bases, 'with a base its copy goes');

  for (const at of [instants[seq] as number, now - 20 * HOUR_MS]) {
    const root = join(makeFolder(t), 'data');
    const restored = await restoreTimeline(target, root, { at });
    const number = instants.indexOf(restored.at);
    assert.equal(readFileSync(join(root, 'payloads/state'), 'utf8'), `${number}`);
    assert.deepEqual(readdirSync(join(root, 'payloads')).sort(), ['state', `step-${number}`]);
  }
});

/** @returns the instant of each segment, by its number */
async function liveFor(hours: number, target: BackupTarget): Promise<number[]> {
  const instants = [BEGIN];
  let wantsBase = true;
  for (let hour = 0; hour < hours; hour += 1) {
    for (let part = 1; part <= EACH_HOUR; part += 1) {
      const createdAt = BEGIN + hour * HOUR_MS + part * 1_000;
      const to = instants.push(createdAt) - 1;
      await writeState(target, { kind: 'segments', from: to - 1, to, epoch: 1, at: createdAt });
    }
    const to = instants.length - 1;
    if (wantsBase) await writeBase(target, { from: to - 1, to, at: instants[to] ?? 0 });
    ({ wantsBase } = await keepHouse(target, 1, { ...KEEP, now: BEGIN + (hour + 1) * HOUR_MS + 120_000 }));
  }
  return instants;
}

/** A file with the number of the last segment, and a file that is unique to this segment. */
async function writeState(target: BackupTarget, own: Omit<Span, 'name'>): Promise<void> {
  const name = nameOf(own);
  const gone: Entry = { head: { kind: 'gone', file: `payloads/step-${own.from}` }, bytes: Buffer.alloc(0) };
  const entries = [bytesOf('payloads/state', `${own.to}`), bytesOf(`payloads/step-${own.to}`, ''), gone];
  await target.writeEntries(name, list(entries));
}

async function writeBase(target: BackupTarget, own: { from: number; to: number; at: number }): Promise<void> {
  const copy = `copies/1-${own.from}`;
  const entries = [bytesOf('payloads/state', `${own.from}`), bytesOf(`payloads/step-${own.from}`, '')];
  await target.writeEntries(copy, list(entries));
  await target.writeText(nameOf({ ...own, kind: 'bases', epoch: 1 }), copy);
}

const PAGE = 512;

type Random = (below: number) => number;

/**
 * Pages of databases that grow and shrink, and files that come, go and return. `sizes` is in pages; growth is written.
 */
function makeObject(random: Random, sizes: Map<string, number>): Entry[] {
  const databases = ['control.db', 'catalogs/1.db', 'catalogs/2.db'].filter(() => random(3) > 0);
  const file = `payloads/${random(3)}`;
  const other = random(3) === 0 ? without(file, 'gone') : bytesOf(file, 'x'.repeat(random(20)));
  return [...databases.flatMap((name) => changeDatabase(name, random, sizes)), other];
}

const without = (file: string, kind: 'gone' | 'begin'): Entry => ({
  head: { kind, file },
  bytes: Buffer.alloc(0),
});

function changeDatabase(file: string, random: Random, sizes: Map<string, number>): Entry[] {
  const how = ['gone', 'begin', undefined, undefined, undefined, undefined][random(6)] as
    | 'gone'
    | 'begin'
    | undefined;
  const before = how === undefined ? (sizes.get(file) ?? 0) : 0;
  const pageCount = how === 'gone' ? 0 : 1 + random(9);
  sizes.set(file, pageCount);
  const begin = how === undefined ? [] : [without(file, how)];
  if (how === 'gone') return begin;
  const all = Array.from({ length: pageCount }, (_, index) => index + 1);
  const pages = all.filter((page) => page > before || random(2) === 0);
  // The first page normally has the version of the schema, which is missing here.
  const bytes = Buffer.concat(pages.map((page) => Buffer.alloc(PAGE, page === 1 ? 0 : random(256))));
  const end: Entry = { head: { kind: 'end', file, pageSize: PAGE, pageCount }, bytes: Buffer.alloc(0) };
  const written: Entry = { head: { kind: 'pages', file, pageSize: PAGE, pages }, bytes };
  return pages.length > 0 ? [...begin, written, end] : [...begin, end];
}

test('merged objects have the same effect as all objects one after another', async (t) => {
  let state = Number(process.env.RELATA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
  t.diagnostic(`seed ${state}`);
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
  for (let round = 0; round < 40; round += 1) {
    const sizes = new Map<string, number>();
    const objects = Array.from({ length: 2 + random(6) }, () => makeObject(random, sizes));
    const merged: Entry[] = [];
    for await (const entry of mergeObjects((index) => list(objects[index] ?? []), objects.length))
      merged.push(entry);
    assert.deepEqual(apply(t, merged), apply(t, objects.flat()));
  }
});

function apply(t: TestContext, entries: readonly Entry[]): Record<string, string> {
  const root = makeFolder(t);
  const files = new FollowedFiles(root);
  for (const entry of entries) files.apply(entry);
  files.publish();
  const foundFiles = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    foundFiles.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(root.length), hash('sha256', readFileSync(path))];
    }),
  );
}

test('segments are merged when their hour has ended, even after a base copy was made', async (t) => {
  const [root, url] = [join(makeFolder(t), 'data'), pathToFileURL(makeFolder(t)).href];
  const folder = dataFolderAt(root);
  makeStoreFolders(folder);
  using control = new DatabaseSync(folder.control);
  control.exec('pragma journal_mode = wal; create table one (number integer)');
  const [today, since] = [Date.now.bind(Date), performance.now.bind(performance)];
  let isLater = false;
  t.mock.method(Date, 'now', () => today() - (isLater ? 0 : 2 * HOUR_MS));
  t.mock.method(performance, 'now', () => since() + (isLater ? 61_000 : 0));
  const state = createStreamState();
  const settings = {
    dataDir: root,
    target: { url, s3: undefined, key: KEY },
    backlogBytes: 2 ** 30,
    ...KEEP,
  };
  const stream = new BackupStream(settings, state);
  assert.equal(await stream.start(), undefined);
  while (state[STATE.basedAt] === 0) await delay(10);
  for (const number of [1, 2]) {
    const before = state[STATE.segments];
    control.exec(`insert into one values (${number})`);
    while (state[STATE.segments] === before) await delay(10);
  }
  isLater = true;
  const target = openTarget(settings.target);
  while ((await target.list('hours')).length === 0) await delay(10);
  await stream.stop();
});
