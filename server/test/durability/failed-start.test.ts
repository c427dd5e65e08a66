// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { catalogPath, dataFolderAt, listCatalogs, lockDataFolder } from '../../src/storage/folder/folder.ts';
import { listReleases, readPacked, unpack } from '../support/earlier-stores/packed-store.ts';
import { query } from '../support/postgres/postgres-server.ts';
import { runRelataWith } from '../support/relata-command.ts';
import { startTestService } from '../support/test-service.ts';
import {
  createTestStore,
  embeddedOnly,
  embeddedStoreAt,
  type TestStore,
  testedStore,
} from '../support/test-store.ts';

/**
 * A refused start leaves the store unchanged, so the former program still opens it (docs/operating/install.md,
 * "Upgrade"). Everything that can refuse a start is checked before the migration.
 */

const [EARLIEST = ''] = listReleases();

/** The store of the earliest release, which a start migrates. */
async function openEarlier(t: TestContext): Promise<TestStore> {
  const store = await unpack(readPacked(EARLIEST, testedStore));
  t.after(store.remove);
  return store;
}

async function readSchemas(store: TestStore): Promise<number[]> {
  if (store.kind === 'postgres') {
    const rows = await query(store.settings.RELATA_DATABASE_URL ?? '', 'select schema_version from service');
    return rows.map(({ schema_version: version }) => Number(version));
  }
  const folder = dataFolderAt(store.dataDir);
  const catalogs = listCatalogs(folder).map((id) => catalogPath(folder, id));
  assert.ok(catalogs.length > 0);
  return [folder.control, ...catalogs].map((path) => {
    using file = new DatabaseSync(path, { readOnly: true });
    return Number(file.prepare('pragma user_version').get()?.user_version);
  });
}

/** Occupies a port of loopback. */
async function takePort(t: TestContext): Promise<string> {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((listening) => other.once('listening', listening));
  t.after(() => other.close());
  return String((other.address() as AddressInfo).port);
}

interface Refused {
  readonly what: string;
  readonly message: RegExp;
  readonly isEmbedded?: boolean;
  settings(t: TestContext, store: TestStore): Promise<Record<string, string>>;
}

const REFUSED: readonly Refused[] = [
  {
    what: 'its port is taken',
    message: /The address 127\.0\.0\.1:\d+ is taken: set RELATA_PORT/,
    settings: async (t) => ({ RELATA_PORT: await takePort(t) }),
  },
  {
    what: 'its address is not of this machine',
    message: /cannot be listened on .*RELATA_HOST/,
    settings: async () => ({ RELATA_HOST: '192.0.2.1', RELATA_PORT: '4810' }),
  },
  {
    what: 'a setting is unknown',
    message: /RELATA_BOGUS/,
    settings: async () => ({ RELATA_BOGUS: '1', RELATA_PORT: '0' }),
  },
  {
    what: 'a file of keys cannot be read',
    message: /RELATA_SECRET_KEYS_FILE/,
    settings: async (_, { dataDir }) => ({
      RELATA_SECRET_KEYS_FILE: join(dataDir, 'none'),
      RELATA_PORT: '0',
    }),
  },
  {
    what: 'another process holds the data directory',
    message: /Another server uses the data folder/,
    isEmbedded: true,
    async settings(t, { dataDir }) {
      const lock = lockDataFolder(dataDir);
      t.after(() => lock.close());
      return { RELATA_PORT: '0' };
    },
  },
  {
    what: 'the target of its backup is that of another service',
    message: /holds the backup of another data directory/,
    isEmbedded: true,
    async settings(t) {
      const folder = mkdtempSync(join(tmpdir(), 'relata-target-'));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const settings = { RELATA_BACKUP_URL: `file://${folder}/target` };
      const other = await startTestService(t, { store: embeddedStoreAt(join(folder, 'data')), settings });
      await other.stop();
      return { ...settings, RELATA_PORT: '0' };
    },
  },
];

for (const { what, message, isEmbedded = false, settings } of REFUSED)
  test(
    `a start does not change an earlier store when ${what}`,
    isEmbedded ? embeddedOnly('files') : {},
    async (t) => {
      const store = await openEarlier(t);
      const before = await readSchemas(store);
      const given = await settings(t, store);
      const { code, output } = await runRelataWith({ ...store.settings, ...given }, store.dataDir, 'serve');
      assert.equal(code, 1, output);
      assert.match(output, message);
      assert.doesNotMatch(output, /^\s+at /m);
      assert.deepEqual(await readSchemas(store), before);
    },
  );

test('a start creates nothing in a new directory if its port is taken', embeddedOnly('files'), async (t) => {
  const store = await createTestStore(t);
  const RELATA_PORT = await takePort(t);
  const { code, output } = await runRelataWith({ ...store.settings, RELATA_PORT }, store.dataDir, 'serve');
  assert.equal(code, 1, output);
  assert.equal(existsSync(join(store.dataDir, 'control.db')), false);
});
