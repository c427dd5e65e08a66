// runs: test
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { BackupPlace } from '../../../test/support/backup-place.ts';
import { until } from '../../../test/support/task-process.ts';
import { dataFolderAt } from '../../storage/folder/folder.ts';
import { fillFolder, verifyTimeline } from '../restore/restore.ts';
import { openTarget, type TargetSettings } from '../target/target.ts';
import { readSpan } from '../timeline/spans.ts';
import { leaseNameOf, nameOf, type Span } from '../timeline/timeline.ts';
import { FAILURES } from './failures.ts';
import { promote } from './promote.ts';
import { Standby } from './standby.ts';
import { createStreamState, STATE } from './stream-state.ts';

/**
 * An attacker who can write to the target forges, copies and removes objects (docs/operating/backup.md, "Continuous
 * backup").
 */

const KEY = Buffer.alloc(32, 'forged');

/** A target with a key and three segments, to which no service writes any more. */
async function createTarget(t: TestContext, how: 'sealed' | 'plain' = 'sealed'): Promise<BackupPlace> {
  const key = how === 'sealed' ? KEY : undefined;
  const place = BackupPlace.create(t, { key });
  const sender = await place.start(t);
  await until('there is a base', () => sender.read('basedAt') > 0);
  for (const name of ['change 1', 'change 2']) await place.changeAndSend(name, sender.read);
  await sender.stop();
  return place;
}

const pathIn = ({ targetDir }: BackupPlace, name: string) => join(targetDir, name);

function put(place: BackupPlace, name: string, bytes: Uint8Array | string): void {
  mkdirSync(dirname(pathIn(place, name)), { recursive: true });
  writeFileSync(pathIn(place, name), bytes);
}

async function listSpansOf(place: BackupPlace, folder: Span['kind']): Promise<Span[]> {
  return (await place.open().list(folder)).flatMap((name) => readSpan(name) ?? []);
}

/** The name that the next segment would have. */
async function nextSegment(place: BackupPlace): Promise<string> {
  const last = (await listSpansOf(place, 'segments')).at(-1);
  assert.ok(last);
  return nameOf({ ...last, from: last.to, to: last.to + 1, at: last.at + 1 });
}

/** An object that the same service writes to a target without a key. */
async function writePlain(place: BackupPlace, name: string, t: TestContext): Promise<void> {
  const other = BackupPlace.create(t);
  const plain = openTarget(other.target);
  await plain.make();
  const source = (await listSpansOf(place, 'segments')).at(-1);
  assert.ok(source);
  await plain.writeEntries(name, place.open().readEntries(source.name));
  put(place, name, readFileSync(pathIn(other, name)));
}

interface Attack {
  readonly what: string;
  /** @returns the object that has to be named */
  forge(place: BackupPlace, t: TestContext): Promise<string>;
}

const ATTACKS: readonly Attack[] = [
  {
    what: 'adds a plain segment',
    async forge(place, t) {
      const name = await nextSegment(place);
      await writePlain(place, name, t);
      return name;
    },
  },
  {
    what: 'copies a segment to the next position',
    async forge(place) {
      const name = await nextSegment(place);
      const source = (await listSpansOf(place, 'segments')).at(-1)?.name ?? '';
      put(place, name, readFileSync(pathIn(place, source)));
      return name;
    },
  },
  {
    what: 'adds a segment of another backup with the same key',
    async forge(place, t) {
      const other = await createTarget(t);
      const name = await nextSegment(place);
      // The object has exactly this name, so only its backup differs.
      const target = other.open();
      await target.findIdentity();
      const source = (await other.open().list('segments')).at(-1) ?? '';
      await target.writeEntries(name, other.open().readEntries(source));
      put(place, name, readFileSync(pathIn(other, name)));
      return name;
    },
  },
  {
    what: 'adds a plain lease',
    async forge(place) {
      const lease = { holder: 'attacker', from: 0, at: Date.now(), renewedAt: Date.now() };
      put(place, leaseNameOf(2), JSON.stringify(lease));
      return leaseNameOf(2);
    },
  },
  {
    what: 'copies a lease to the next epoch',
    async forge(place) {
      put(place, leaseNameOf(2), readFileSync(pathIn(place, leaseNameOf(1))));
      return leaseNameOf(2);
    },
  },
  {
    what: 'replaces a lease by a plain one',
    async forge(place) {
      const lease = { holder: 'attacker', from: 0, at: 1, renewedAt: Date.now() };
      put(place, leaseNameOf(1), JSON.stringify(lease));
      return leaseNameOf(1);
    },
  },
  {
    what: 'replaces the identity by a plain object',
    async forge(place) {
      put(place, 'identity', JSON.stringify({ backup: 'a'.repeat(32) }));
      return 'identity';
    },
  },
];

const BASE_ATTACKS: readonly Attack[] = [
  {
    what: 'replaces a base by a plain one',
    async forge(place) {
      const [base] = await place.open().list('bases');
      const [copy] = await place.open().list('copies');
      put(place, base ?? '', copy ?? '');
      return base ?? '';
    },
  },
  {
    what: 'replaces the copy of a base by a segment',
    async forge(place) {
      const [copy] = await place.open().list('copies');
      const [segment] = await place.open().list('segments');
      put(place, copy ?? '', readFileSync(pathIn(place, segment ?? '')));
      return copy ?? '';
    },
  },
  {
    what: 'replaces a segment by a link',
    async forge(place) {
      const name = (await place.open().list('segments')).at(-1) ?? '';
      cpSync(pathIn(place, name), join(place.root, 'elsewhere'));
      rmSync(pathIn(place, name));
      symlinkSync(join(place.root, 'elsewhere'), pathIn(place, name));
      return name;
    },
  },
  {
    what: 'replaces a segment by a FIFO',
    async forge(place) {
      const name = (await place.open().list('segments')).at(-1) ?? '';
      rmSync(pathIn(place, name));
      execFileSync('mkfifo', [pathIn(place, name)]);
      return name;
    },
  },
  {
    what: 'replaces a folder by a link',
    async forge(place) {
      cpSync(pathIn(place, 'copies'), join(place.root, 'elsewhere'), { recursive: true });
      rmSync(pathIn(place, 'copies'), { recursive: true });
      symlinkSync(join(place.root, 'elsewhere'), pathIn(place, 'copies'));
      return 'copies';
    },
  },
];

const naming = (name: string) => (error: Error) => {
  assert.ok(error.message.startsWith(name), error.message);
  return true;
};

for (const { what, forge } of [...ATTACKS, ...BASE_ATTACKS])
  test(`a restore and a verification refuse a target where an attacker ${what}, and name the object`, async (t) => {
    const place = await createTarget(t);
    assert.deepEqual(await place.restore('before'), ['change 1', 'change 2']);
    const name = await forge(place, t);
    await assert.rejects(place.restore('after'), naming(name));
    const { problems } = await verifyTimeline(place.open());
    assert.ok(
      problems.some((problem) => problem.startsWith(name)),
      problems.join('\n'),
    );
    assert.deepEqual(
      readdirSync(join(place.root, 'after')).filter((file) => file === 'control.db'),
      [],
      'no file is left that looks like a store',
    );
  });

function createFollower(t: TestContext, place: BackupPlace, dataDir: string) {
  const state = createStreamState();
  const settings = {
    dataDir,
    target: place.target,
    keepSecondsHours: 24,
    keepHoursDays: 30,
    backlogBytes: 2 ** 30,
  };
  const standby = new Standby(settings, state);
  t.after(() => standby.stop());
  return { standby, state };
}

for (const { what, forge } of ATTACKS.slice(0, 5))
  test(`a standby applies nothing when an attacker ${what}, and names the object`, async (t) => {
    const place = await createTarget(t);
    const dataDir = join(place.root, 'standby');
    await fillFolder(place.open(), dataDir);
    const { standby, state } = createFollower(t, place, dataDir);
    await standby.start();
    await until('it follows', () => state[STATE.followedAt] !== 0 && state[STATE.failure] === 0);
    const before = readFileSync(join(dataDir, 'backup-state.json'), 'utf8');
    const name = await forge(place, t);
    await until('it is refused', () => Number(state[STATE.failure]) > 0);
    naming(name)(new Error(standby.describe()));
    const failure = FAILURES[Number(state[STATE.failure])] ?? '';
    assert.ok(['unauthenticated', 'damaged'].includes(failure), failure);
    await standby.stop();
    assert.equal(readFileSync(join(dataDir, 'backup-state.json'), 'utf8'), before);
  });

test('a promotion refuses a lease that the key does not authenticate, and names it', async (t) => {
  const place = await createTarget(t);
  const dataDir = join(place.root, 'restored');
  await place.restore('restored');
  const lease = { holder: 'attacker', from: 0, at: 1, renewedAt: 1 };
  put(place, leaseNameOf(1), JSON.stringify(lease));
  await assert.rejects(promote(dataDir, place.target), naming(leaseNameOf(1)));
});

test('a writer does not yield to a forged lease or request, continues to accept changes, and names the object', async (t) => {
  for (const name of [leaseNameOf(2), 'handovers/000001']) {
    const place = await createTarget(t);
    const sender = await place.start(t);
    const lease = { holder: 'attacker', from: 0, at: Date.now(), renewedAt: Date.now() };
    put(place, name, JSON.stringify(lease));
    await until('it is refused', () => sender.read('failure') === FAILURES.indexOf('unauthenticated'));
    naming(name)(new Error(sender.reason()));
    assert.deepEqual([sender.read('isSuperseded'), sender.read('isHandingOver')], [0, 0]);
    rmSync(pathIn(place, name));
    await until('it continues', () => sender.read('failure') === 0);
    await sender.stop();
  }
});

test('a request to hand over that is written again later is ignored', async (t) => {
  const place = await createTarget(t);
  const target = place.open();
  const old = { holder: 'other', renewedAt: Date.now() - 120_000 };
  await target.findIdentity();
  await target.writeText('handovers/000001', JSON.stringify(old));
  const sender = await place.start(t);
  await place.changeAndSend('change 3', sender.read);
  await until('the lease is renewed', async () => {
    const text = await place.open().readText(leaseNameOf(1));
    return Number(JSON.parse(text ?? '{}').renewedAt) > old.renewedAt + 120_500;
  });
  assert.equal(sender.read('isHandingOver'), 0);
  await sender.stop();
});

test('a target whose last segments were removed is reported, even if their lease was removed too', async (t) => {
  for (const how of ['plain', 'sealed'] as const) {
    const place = await createTarget(t, how);
    await place.open().remove((await place.open().list('segments')).at(-1) ?? '');
    const { problems } = await verifyTimeline(place.open());
    assert.match(problems.join(), /^objects are missing between .* and .*/);
  }
  const place = await createTarget(t);
  const dataDir = join(place.root, 'restored');
  await place.restore('restored');
  await promote(dataDir, place.target);
  const sender = await place.start(t, dataDir);
  await until('there is a segment or nothing to send', () => sender.read('behindSince') === 0);
  await sender.stop();
  const target = place.open();
  const [segment] = (await target.list('segments')).slice(-1);
  const span = readSpan(segment ?? '');
  assert.ok(span);
  await target.findIdentity();
  await target.writeEntries(
    nameOf({ ...span, from: span.to, to: span.to + 1, epoch: 2, at: span.at + 1 }),
    place.open().readEntries(span.name),
  );
  await target.remove(leaseNameOf(2));
  await assert.rejects(place.restore('again'), naming(leaseNameOf(2)));
});

test('a backup without a key needs no key, and one with a key is refused without it or with another key', async (t) => {
  const plain = await createTarget(t, 'plain');
  assert.deepEqual(await plain.restore('restored'), ['change 1', 'change 2']);
  await assert.rejects(plain.restore('with-key', { key: KEY }), /is not authenticated by RELATA_BACKUP_KEY/);
  const explicit: Partial<TargetSettings> = { key: KEY, isUnauthenticated: true };
  assert.deepEqual(await plain.restore('explicit', explicit), ['change 1', 'change 2']);
  const sealed = await createTarget(t);
  await assert.rejects(sealed.restore('without', { key: undefined }), /is encrypted: set RELATA_BACKUP_KEY/);
  const other = { key: Buffer.alloc(32, 'other') };
  await assert.rejects(
    sealed.restore('other', other),
    /is damaged, or was encrypted with another RELATA_BACKUP_KEY/,
  );
});

test('a service with a key does not continue a backup that was made without it, and names the remedy', async (t) => {
  const plain = await createTarget(t, 'plain');
  const sealed = plain.withKey(KEY);
  const sender = await sealed.start(t);
  await until('it is refused', () => sender.read('failure') === FAILURES.indexOf('unauthenticated'));
  assert.match(sender.reason(), /is not authenticated by RELATA_BACKUP_KEY/);
  await sender.stop();
  assert.deepEqual(await plain.restore('restored'), ['change 1', 'change 2']);
});

for (const statement of [
  'create trigger take_over after insert on account begin delete from api_key; end',
  'create view project_list as select 1',
  'create table stranger (id integer)',
])
  test(`a restore and a standby refuse a database with a foreign schema: ${statement.slice(7, 30)}…`, async (t) => {
    const place = BackupPlace.create(t);
    const sender = await place.start(t);
    await until('there is a base', () => sender.read('basedAt') > 0);
    await place.changeAndSend('change 1', sender.read);
    const standbyDir = join(place.root, 'standby');
    await fillFolder(place.open(), standbyDir);
    const { standby, state } = createFollower(t, place, standbyDir);
    await standby.start();
    const before = sender.read('segments');
    {
      using control = new DatabaseSync(dataFolderAt(place.dataDir).control);
      control.exec(statement);
    }
    await until('it is sent', () => sender.read('segments') > before);
    await until('the standby refuses it', () => FAILURES[Number(state[STATE.failure])] === 'damaged');
    assert.match(
      standby.describe(),
      /^control\.db is not restored: it has a (?:trigger|view|table) \w+, which/,
    );
    await standby.stop();
    await sender.stop();
    await assert.rejects(place.restore('restored'), /^Error: control\.db is not restored: it has a /);
  });
