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
  const backup = BackupPlace.create(t, { key });
  const sender = await backup.start(t);
  await until('there is a base', () => sender.read('basedAt') > 0);
  for (const name of ['change 1', 'change 2']) await backup.changeAndSend(name, sender.read);
  await sender.stop();
  return backup;
}

const pathIn = ({ targetDir }: BackupPlace, name: string) => join(targetDir, name);

function put(backup: BackupPlace, name: string, bytes: Uint8Array | string): void {
  mkdirSync(dirname(pathIn(backup, name)), { recursive: true });
  writeFileSync(pathIn(backup, name), bytes);
}

async function listSpansOf(backup: BackupPlace, folder: Span['kind']): Promise<Span[]> {
  return (await backup.open().list(folder)).flatMap((name) => readSpan(name) ?? []);
}

/** The name that the next segment would have. */
async function nextSegment(backup: BackupPlace): Promise<string> {
  const last = (await listSpansOf(backup, 'segments')).at(-1);
  assert.ok(last);
  return nameOf({ ...last, from: last.to, to: last.to + 1, at: last.at + 1 });
}

/** An object that the same service writes to a target without a key. */
async function writePlain(backup: BackupPlace, name: string, t: TestContext): Promise<void> {
  const other = BackupPlace.create(t);
  const plain = openTarget(other.target);
  await plain.make();
  const source = (await listSpansOf(backup, 'segments')).at(-1);
  assert.ok(source);
  await plain.writeEntries(name, backup.open().readEntries(source.name));
  put(backup, name, readFileSync(pathIn(other, name)));
}

interface Attack {
  readonly what: string;
  /** @returns the object that has to be named */
  forge(backup: BackupPlace, t: TestContext): Promise<string>;
}

const ATTACKS: readonly Attack[] = [
  {
    what: 'adds a plain segment',
    async forge(backup, t) {
      const name = await nextSegment(backup);
      await writePlain(backup, name, t);
      return name;
    },
  },
  {
    what: 'copies a segment to the next position',
    async forge(backup) {
      const name = await nextSegment(backup);
      const source = (await listSpansOf(backup, 'segments')).at(-1)?.name ?? '';
      put(backup, name, readFileSync(pathIn(backup, source)));
      return name;
    },
  },
  {
    what: 'adds a segment of another backup with the same key',
    async forge(backup, t) {
      const other = await createTarget(t);
      const name = await nextSegment(backup);
      // The object has exactly this name, so only its backup differs.
      const target = other.open();
      await target.findIdentity();
      const source = (await other.open().list('segments')).at(-1) ?? '';
      await target.writeEntries(name, other.open().readEntries(source));
      put(backup, name, readFileSync(pathIn(other, name)));
      return name;
    },
  },
  {
    what: 'adds a plain lease',
    async forge(backup) {
      const lease = { holder: 'attacker', from: 0, at: Date.now(), renewedAt: Date.now() };
      put(backup, leaseNameOf(2), JSON.stringify(lease));
      return leaseNameOf(2);
    },
  },
  {
    what: 'copies a lease to the next epoch',
    async forge(backup) {
      put(backup, leaseNameOf(2), readFileSync(pathIn(backup, leaseNameOf(1))));
      return leaseNameOf(2);
    },
  },
  {
    what: 'replaces a lease by a plain one',
    async forge(backup) {
      const lease = { holder: 'attacker', from: 0, at: 1, renewedAt: Date.now() };
      put(backup, leaseNameOf(1), JSON.stringify(lease));
      return leaseNameOf(1);
    },
  },
  {
    what: 'replaces the identity by a plain object',
    async forge(backup) {
      put(backup, 'identity', JSON.stringify({ backup: 'a'.repeat(32) }));
      return 'identity';
    },
  },
];

const BASE_ATTACKS: readonly Attack[] = [
  {
    what: 'replaces a base by a plain one',
    async forge(backup) {
      const [base] = await backup.open().list('bases');
      const [copy] = await backup.open().list('copies');
      put(backup, base ?? '', copy ?? '');
      return base ?? '';
    },
  },
  {
    what: 'replaces the copy of a base by a segment',
    async forge(backup) {
      const [copy] = await backup.open().list('copies');
      const [segment] = await backup.open().list('segments');
      put(backup, copy ?? '', readFileSync(pathIn(backup, segment ?? '')));
      return copy ?? '';
    },
  },
  {
    what: 'replaces a segment by a link',
    async forge(backup) {
      const name = (await backup.open().list('segments')).at(-1) ?? '';
      cpSync(pathIn(backup, name), join(backup.root, 'elsewhere'));
      rmSync(pathIn(backup, name));
      symlinkSync(join(backup.root, 'elsewhere'), pathIn(backup, name));
      return name;
    },
  },
  {
    what: 'replaces a segment by a FIFO',
    async forge(backup) {
      const name = (await backup.open().list('segments')).at(-1) ?? '';
      rmSync(pathIn(backup, name));
      execFileSync('mkfifo', [pathIn(backup, name)]);
      return name;
    },
  },
  {
    what: 'replaces a folder by a link',
    async forge(backup) {
      cpSync(pathIn(backup, 'copies'), join(backup.root, 'elsewhere'), { recursive: true });
      rmSync(pathIn(backup, 'copies'), { recursive: true });
      symlinkSync(join(backup.root, 'elsewhere'), pathIn(backup, 'copies'));
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
    const backup = await createTarget(t);
    assert.deepEqual(await backup.restore('before'), ['change 1', 'change 2']);
    const name = await forge(backup, t);
    await assert.rejects(backup.restore('after'), naming(name));
    const { problems } = await verifyTimeline(backup.open());
    assert.ok(
      problems.some((problem) => problem.startsWith(name)),
      problems.join('\n'),
    );
    assert.deepEqual(
      readdirSync(join(backup.root, 'after')).filter((file) => file === 'control.db'),
      [],
      'no file is left that looks like a store',
    );
  });

function createFollower(t: TestContext, backup: BackupPlace, dataDir: string) {
  const state = createStreamState();
  const settings = {
    dataDir,
    target: backup.target,
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
    const backup = await createTarget(t);
    const dataDir = join(backup.root, 'standby');
    await fillFolder(backup.open(), dataDir);
    const { standby, state } = createFollower(t, backup, dataDir);
    await standby.start();
    await until('it follows', () => state[STATE.followedAt] !== 0 && state[STATE.failure] === 0);
    const before = readFileSync(join(dataDir, 'backup-state.json'), 'utf8');
    const name = await forge(backup, t);
    await until('it is refused', () => Number(state[STATE.failure]) > 0);
    naming(name)(new Error(standby.describe()));
    const failure = FAILURES[Number(state[STATE.failure])] ?? '';
    assert.ok(['unauthenticated', 'damaged'].includes(failure), failure);
    await standby.stop();
    assert.equal(readFileSync(join(dataDir, 'backup-state.json'), 'utf8'), before);
  });

test('a promotion refuses a lease that the key does not authenticate, and names it', async (t) => {
  const backup = await createTarget(t);
  const dataDir = join(backup.root, 'restored');
  await backup.restore('restored');
  const lease = { holder: 'attacker', from: 0, at: 1, renewedAt: 1 };
  put(backup, leaseNameOf(1), JSON.stringify(lease));
  await assert.rejects(promote(dataDir, backup.target), naming(leaseNameOf(1)));
});

test('a writer does not yield to a forged lease or request, continues to accept changes, and names the object', async (t) => {
  for (const name of [leaseNameOf(2), 'handovers/000001']) {
    const backup = await createTarget(t);
    const sender = await backup.start(t);
    const lease = { holder: 'attacker', from: 0, at: Date.now(), renewedAt: Date.now() };
    put(backup, name, JSON.stringify(lease));
    await until('it is refused', () => sender.read('failure') === FAILURES.indexOf('unauthenticated'));
    naming(name)(new Error(sender.reason()));
    assert.deepEqual([sender.read('isSuperseded'), sender.read('isHandingOver')], [0, 0]);
    rmSync(pathIn(backup, name));
    await until('it continues', () => sender.read('failure') === 0);
    await sender.stop();
  }
});

test('a request to hand over that is written again later is ignored', async (t) => {
  const backup = await createTarget(t);
  const target = backup.open();
  const old = { holder: 'other', renewedAt: Date.now() - 120_000 };
  await target.findIdentity();
  await target.writeText('handovers/000001', JSON.stringify(old));
  const sender = await backup.start(t);
  await backup.changeAndSend('change 3', sender.read);
  await until('the lease is renewed', async () => {
    const text = await backup.open().readText(leaseNameOf(1));
    return Number(JSON.parse(text ?? '{}').renewedAt) > old.renewedAt + 120_500;
  });
  assert.equal(sender.read('isHandingOver'), 0);
  await sender.stop();
});

test('a target whose last segments were removed is reported, even if their lease was removed too', async (t) => {
  for (const how of ['plain', 'sealed'] as const) {
    const backup = await createTarget(t, how);
    await backup.open().remove((await backup.open().list('segments')).at(-1) ?? '');
    const { problems } = await verifyTimeline(backup.open());
    assert.match(problems.join(), /^objects are missing between .* and .*/);
  }
  const backupPlace = await createTarget(t);
  const dataDir = join(backupPlace.root, 'restored');
  await backupPlace.restore('restored');
  await promote(dataDir, backupPlace.target);
  const sender = await backupPlace.start(t, dataDir);
  await until('there is a segment or nothing to send', () => sender.read('behindSince') === 0);
  await sender.stop();
  const target = backupPlace.open();
  const [segment] = (await target.list('segments')).slice(-1);
  const span = readSpan(segment ?? '');
  assert.ok(span);
  await target.findIdentity();
  await target.writeEntries(
    nameOf({ ...span, from: span.to, to: span.to + 1, epoch: 2, at: span.at + 1 }),
    backupPlace.open().readEntries(span.name),
  );
  await target.remove(leaseNameOf(2));
  await assert.rejects(backupPlace.restore('again'), naming(leaseNameOf(2)));
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
    const backup = BackupPlace.create(t);
    const sender = await backup.start(t);
    await until('there is a base', () => sender.read('basedAt') > 0);
    await backup.changeAndSend('change 1', sender.read);
    const standbyDir = join(backup.root, 'standby');
    await fillFolder(backup.open(), standbyDir);
    const { standby, state } = createFollower(t, backup, standbyDir);
    await standby.start();
    const before = sender.read('segments');
    {
      using control = new DatabaseSync(dataFolderAt(backup.dataDir).control);
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
    await assert.rejects(backup.restore('restored'), /^Error: control\.db is not restored: it has a /);
  });
