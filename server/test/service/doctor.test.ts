// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { chmodSync, chownSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createBackup } from '../../src/backup/backup.ts';
import { checkInstallation, type Finding, withinLimit } from '../../src/cli/doctor.ts';
import { readConfig } from '../../src/config.ts';
import { runRelataWith } from '../support/relata-command.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { embeddedOnly, testedStore } from '../support/test-store.ts';

/** `relata doctor` names problems and remedies, with and without a running service (docs/operating/monitoring.md, "Check an installation"). */

// Like in main.ts, because the services of this file run in its process.
process.umask(0o077);

const ofFiles = embeddedOnly('PostgreSQL keeps its own files');

type Store = TestService['store'];

async function runDoctor(store: Store, settings: Record<string, string> = {}) {
  const { code, output } = await runRelataWith(
    { ...store.settings, ...settings },
    store.dataDir,
    'doctor',
    '--json',
  );
  const { checks, ...counts } = JSON.parse(output) as {
    checks: Finding[];
    problems: number;
    warnings: number;
  };
  return { code, checks, counts, of: (check: string) => checks.find((entry) => entry.check === check) };
}

async function startFilled(t: TestContext): Promise<TestService> {
  const service = await startTestService(t);
  await service.loadCatalog([{ identifier: 'A', name: 'One' }]);
  return service;
}

test('doctor finds no problem in an intact installation, with a running and a stopped service', async (t) => {
  const service = await startFilled(t);
  const { store } = service;
  if (testedStore === 'embedded') await createBackup(store.dataDir, `${store.dataDir}-backup`);
  t.after(() => rmSync(`${store.dataDir}-backup`, { recursive: true, force: true }));
  for (const isStopped of [false, true]) {
    if (isStopped) await service.stop();
    const { code, checks, counts } = await runDoctor(store);
    const faults = checks.filter(({ status, check }) => status !== 'ok' && check !== 'disk');
    assert.deepEqual(faults, [], `stopped: ${isStopped}`);
    assert.deepEqual([code, counts.problems], [0, 0]);
    const names = checks.map(({ check }) => check);
    const own = testedStore === 'embedded' ? ['permissions', 'integrity'] : ['PostgreSQL'];
    for (const name of [...own, 'schema', 'account keys', 'secret keys', 'disk', 'backup'])
      assert.ok(names.includes(name), `${name} of ${names}`);
  }
  const { code, output } = await runRelataWith({ ...store.settings }, store.dataDir, 'doctor');
  assert.equal(code, 0, output);
  assert.match(output, /^ok {7}account keys: 1 can manage an account$/m);
  assert.match(output, /^0 problems, \d warnings$/m);
});

test('doctor reports a missing account key and says how to make a new one', async (t) => {
  const { store } = await startFilled(t);
  await store.change('update api_key set expires_at = 1000');
  const { code, of } = await runDoctor(store);
  assert.equal(code, 1);
  assert.equal(of('account keys')?.status, 'problem');
  assert.match(of('account keys')?.action ?? '', /relata key create --scope account/);
});

test('doctor names an unreadable file of keys, and a private address that all pipelines can reach', async (t) => {
  const { store } = await startFilled(t);
  const settings = {
    RELATA_SECRET_KEYS_FILE: join(store.dataDir, 'none'),
    RELATA_FETCH_ALLOW: '10.0.0.0/8,169.254.0.0/16',
  };
  const { code, of } = await runDoctor(store, settings);
  assert.equal(code, 1);
  assert.equal(of('secret keys')?.status, 'problem');
  assert.ok(of('secret keys')?.message.includes(settings.RELATA_SECRET_KEYS_FILE));
  assert.deepEqual(
    [of('RELATA_FETCH_ALLOW')?.status, of('RELATA_FETCH_ALLOW')?.message],
    ['warning', 'the author of a pipeline can reach 169.254.169.254'],
  );
});

/** @returns its address */
async function serve(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

test('doctor connects to the sign-in provider and the trace collector and names those that do not answer', async (t) => {
  const { store } = await startFilled(t);
  const collector = await serve(
    t,
    createServer((_, answer) => void answer.writeHead(405).end()),
  );
  const provider: string = await serve(
    t,
    createServer((_, answer) => {
      const endpoints = ['authorization', 'token', 'jwks'].map((name) => [
        name === 'jwks' ? 'jwks_uri' : `${name}_endpoint`,
        `${provider}/${name}`,
      ]);
      answer.setHeader('content-type', 'application/json');
      answer.end(JSON.stringify({ issuer: provider, ...Object.fromEntries(endpoints) }));
    }),
  );
  const away = createServer();
  const nowhere = await serve(t, away);
  await new Promise((resolve) => away.close(resolve));
  const configure = (issuer: string, endpoint: string) =>
    runDoctor(store, {
      RELATA_OIDC_ISSUER: issuer,
      RELATA_OIDC_CLIENT_ID: 'relata',
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      RELATA_OIDC_ROLES: '[{"group":"*","role":"viewer"}]',
    });
  const well = await configure(provider, collector);
  assert.deepEqual([well.of('sign-in provider')?.status, well.of('trace collector')?.status], ['ok', 'ok']);
  const ill = await configure(nowhere, nowhere);
  assert.equal(ill.code, 1);
  assert.deepEqual(
    [ill.of('sign-in provider')?.status, ill.of('trace collector')?.status],
    ['problem', 'warning'],
  );
  assert.match(ill.of('sign-in provider')?.message ?? '', /ECONNREFUSED/);
});

test('a check without an answer ends doctor after its limit, and the output names that check', async (t) => {
  const server = createServer();
  const silent = await serve(t, server);
  t.after(() => server.closeAllConnections());
  const config = readConfig({
    RELATA_DATA_DIR: '/nowhere',
    RELATA_OIDC_ISSUER: silent,
    RELATA_OIDC_CLIENT_ID: 'relata',
    RELATA_OIDC_ROLES: '[{"group":"*","role":"viewer"}]',
  });
  const findings = await Array.fromAsync(withinLimit(checkInstallation(config), 500));
  assert.match(findings.at(-1)?.message ?? '', /^the check after .+ had no answer within 0\.5 s$/);
  assert.equal(findings.at(-1)?.status, 'problem');
});

const onPostgres = { skip: testedStore !== 'postgres' && 'the embedded store has no server' };

test(
  'doctor names an unreachable database and a replica that is not one, without any password',
  onPostgres,
  async (t) => {
    const { store } = await startFilled(t);
    const url = store.settings.RELATA_DATABASE_URL ?? '';
    const { of, code } = await runDoctor(store, {
      RELATA_REPLICA_URLS: `${url},postgres://relata@127.0.0.1:1/none`,
    });
    assert.equal(code, 1);
    assert.equal(of(`replica ${new URL(url).host}`)?.message, 'it is not a read replica');
    assert.match(of('replica 127.0.0.1:1')?.message ?? '', /cannot be reached: .*ECONNREFUSED/);
    assert.match(of('PostgreSQL')?.message ?? '', /^version \d+(\.\d+)?.* answers$/);
    const away = await runDoctor(store, { RELATA_DATABASE_URL: 'postgres://relata:hidden@127.0.0.1:1/none' });
    assert.equal(away.code, 1);
    assert.match(away.of('PostgreSQL')?.message ?? '', /cannot be reached/);
    assert.doesNotMatch(JSON.stringify(away.checks), /hidden/);
  },
);

test(
  'doctor names files that are damaged, missing, newer than the program or readable for others, each with a remedy',
  ofFiles,
  async (t) => {
    const service = await startFilled(t);
    const { store, projectId } = service;
    const [cut, gone, newer, marked, restored] = [
      projectId,
      await service.createProject('Gone'),
      await service.createProject('Newer'),
      await service.createProject('Marked'),
      await service.createProject('Restored'),
    ];
    for (const id of [gone, newer, marked, restored])
      await service.loadCatalog([{ identifier: 'A', name: 'One' }], id);
    await service.stop();
    const catalogPath = (id: number) => join(store.dataDir, 'catalogs', `${id}.db`);
    truncateSync(catalogPath(cut), 50_000);
    rmSync(catalogPath(gone));
    const file = new DatabaseSync(catalogPath(newer));
    file.exec('pragma user_version = 9000');
    file.close();
    chmodSync(catalogPath(cut), 0o644);
    // Marks the catalog as damaged like the service does, and moves the damaged file aside like a restore does.
    writeFileSync(join(store.dataDir, 'catalogs', `${marked}.damaged`), 'wrong # of entries in index\n');
    writeFileSync(`${catalogPath(restored)}.damaged`, 'the old file');
    const before = readFileSync(join(store.dataDir, 'control.db'));
    const { code, of } = await runDoctor(store);
    assert.equal(code, 1);
    assert.match(of(catalogPath(cut))?.message ?? '', /^it is damaged: /);
    assert.match(of(catalogPath(cut))?.action ?? '', new RegExp(`relata restore DIR --project ${cut}\\.`));
    assert.equal(
      of(catalogPath(marked))?.message,
      `it is damaged: the service has found damage and does not serve it (${marked}.damaged has the reason)`,
    );
    assert.match(
      of(catalogPath(marked))?.action ?? '',
      new RegExp(`relata restore DIR --project ${marked}\\.`),
    );
    assert.equal(of(catalogPath(restored)), undefined);
    assert.equal(of(catalogPath(gone))?.message, 'it is missing, although its project had products');
    assert.match(
      of(catalogPath(newer))?.message ?? '',
      /^it has schema 9000, but this program knows only \d+$/,
    );
    assert.match(of('permissions')?.message ?? '', new RegExp(`1 paths: ${catalogPath(cut)}`));
    assert.deepEqual(readFileSync(join(store.dataDir, 'control.db')), before, 'nothing is changed');
  },
);

test('doctor warns of a backup that is old or was never made', ofFiles, async (t) => {
  const { store } = await startFilled(t);
  assert.equal((await runDoctor(store)).of('backup')?.status, 'warning');
  const directory = '/backup/old';
  const backupInstant = Date.now() - 9 * 86_400_000;
  writeFileSync(join(store.dataDir, 'last-backup.json'), JSON.stringify({ at: backupInstant, directory }));
  const { code, of } = await runDoctor(store);
  assert.equal(code, 0, 'warnings do not count as problems');
  assert.match(of('backup')?.message ?? '', /\/backup\/old, 9 days ago$/);
});

test(
  "doctor does not open another user's data directory, because files that SQLite leaves would lock the service out",
  ofFiles,
  async (t) => {
    if (process.getuid?.() !== 0) return t.skip('only root can give a file away');
    const { store, stop } = await startFilled(t);
    await stop();
    chownSync(join(store.dataDir, 'control.db'), 65_534, 65_534);
    const { code, of, checks } = await runDoctor(store);
    assert.equal(code, 1);
    assert.match(of(store.dataDir)?.message ?? '', /belong to the user 65534 and not to the user 0/);
    assert.ok(!checks.some(({ check }) => ['integrity', 'account keys'].includes(check)));
  },
);
