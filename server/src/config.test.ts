// runs: test
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { test } from 'node:test';
import { readConfig } from './config.ts';

const ACCOUNT_KEY = 'k'.repeat(32);
const memory = Math.min(totalmem(), process.constrainedMemory() || totalmem());

test('without a variable every setting has its default', () => {
  assert.deepEqual(readConfig({ PATH: '/usr/bin' }), {
    host: '127.0.0.1',
    port: 4810,
    dataDir: './data',
    database: undefined,
    accountKey: undefined,
    showsOwnerLink: true,
    publicUrl: undefined,
    uploadMaxMib: 128,
    logLevel: 'info',
    taskRetentionDays: 30,
    traces: undefined,
    corsOrigins: [],
    mcpOrigins: [],
    trustedProxies: [],
    importDir: undefined,
    fetchAllow: [],
    sourceMaxMib: 4_096,
    secretKeys: [],
    secretKeysFile: undefined,
    oidc: undefined,
    parserThreads: Math.min(4, Math.max(1, availableParallelism() - 1)),
    writerThreads: 4,
    readerThreads: 2,
    relationSeconds: 20,
    keyless: { mibPerMinute: 1_024, secondsPerMinute: 20 },
    bodyBudgetMib: 256,
    cacheMib: Math.max(64, Math.floor(memory / 8 / 1024 / 1024)),
    backup: {
      url: undefined,
      s3: undefined,
      key: undefined,
      keepSecondsHours: 24,
      keepHoursDays: 30,
      backlogBytes: 1024 * 1024 * 1024,
    },
  });
});

test('given values are read: numbers as numbers, lists by commas', () => {
  const config = readConfig({
    RELATA_HOST: '::',
    RELATA_PORT: '0',
    RELATA_ACCOUNT_KEY: ACCOUNT_KEY,
    RELATA_PUBLIC_URL: 'https://relata.example/api/',
    RELATA_LOG_LEVEL: 'silent',
    RELATA_CORS_ORIGINS: 'https://shop.example, http://localhost:3000,',
    RELATA_TRUSTED_PROXIES: '10.0.0.1,192.168.0.0/16, fd00::/8',
    RELATA_IMPORT_DIR: '/srv/import',
    RELATA_FETCH_ALLOW: '10.1.2.3, fd00::/8',
    RELATA_SOURCE_MAX_MIB: '10',
    RELATA_SECRET_KEYS: `${'a'.repeat(64)}, ${Buffer.alloc(32, 7).toString('base64')}`,
    RELATA_PARSER_THREADS: '2',
    RELATA_CACHE_MIB: '0',
  });
  assert.equal(config.host, '::');
  assert.equal(config.port, 0);
  assert.equal(config.accountKey, ACCOUNT_KEY);
  assert.equal(config.publicUrl, 'https://relata.example/api');
  assert.equal(config.logLevel, 'silent');
  assert.deepEqual(config.corsOrigins, ['https://shop.example', 'http://localhost:3000']);
  assert.deepEqual(config.trustedProxies, ['10.0.0.1', '192.168.0.0/16', 'fd00::/8']);
  assert.equal(config.importDir, '/srv/import');
  assert.deepEqual(config.fetchAllow, ['10.1.2.3', 'fd00::/8']);
  assert.deepEqual(config.secretKeys, [Buffer.alloc(32, 0xaa), Buffer.alloc(32, 7)]);
  assert.equal(config.sourceMaxMib, 10);
  assert.equal(config.parserThreads, 2);
  assert.equal(config.cacheMib, 0);
});

test('a backup has a place, and a bucket what opens it', () => {
  const { backup } = readConfig({
    RELATA_BACKUP_URL: 's3://bucket/prefix',
    RELATA_BACKUP_KEY: Buffer.alloc(32, 7).toString('base64'),
    RELATA_BACKUP_S3_ENDPOINT: 'https://s3.example',
    RELATA_BACKUP_S3_ACCESS_KEY_ID: 'id',
    RELATA_BACKUP_S3_SECRET_ACCESS_KEY: 'secret',
    RELATA_BACKUP_S3_FORCE_PATH_STYLE: 'true',
  });
  assert.deepEqual(backup.key, Buffer.alloc(32, 7));
  assert.deepEqual(backup.s3, {
    endpoint: 'https://s3.example',
    accessKeyId: 'id',
    secretAccessKey: 'secret',
    region: undefined,
    forcePathStyle: true,
  });
  for (const url of ['/backup', 'https://s3.example/bucket', 'file://host/backup', 's3:bucket'])
    assert.throws(() => readConfig({ RELATA_BACKUP_URL: url }), /RELATA_BACKUP_URL must be file:/, url);
  const without = { RELATA_BACKUP_S3_ENDPOINT: 'https://s3.example' };
  assert.throws(() => readConfig(without), /RELATA_BACKUP_S3_ENDPOINT needs RELATA_BACKUP_S3_ACCESS_KEY_ID/);
});

test('the settings cannot be changed afterwards', () => {
  const config = readConfig({});
  assert.ok([config, config.corsOrigins, config.trustedProxies, config.fetchAllow].every(Object.isFrozen));
});

test('names beginning with RELATA_TEST_ are not checked', () => {
  assert.equal(readConfig({ RELATA_TEST_POSTGRES: 'anything' }).port, 4810);
});

const badValues: readonly [name: string, values: readonly string[]][] = [
  ['RELATA_HOST', ['']],
  ['RELATA_PORT', ['', 'http', '-1', '65536', '4810.5', '1e3', '0x10', ' 4810']],
  ['RELATA_DATA_DIR', ['']],
  ['RELATA_DATABASE_URL', ['', 'mysql://db/relata', 'postgres', '/var/lib/relata.db']],
  ['RELATA_ACCOUNT_KEY', ['', 'k'.repeat(31), `${'k'.repeat(32)} `, 'ü'.repeat(32)]],
  [
    'RELATA_PUBLIC_URL',
    ['', 'relata.example', 'ftp://relata.example', 'https://a:b@c.example', 'https://a.example?b'],
  ],
  ['RELATA_OWNER_LINK', ['', 'no', 'TRUE']],
  ['RELATA_UPLOAD_MAX_MIB', ['0', '501', '128 MiB']],
  ['RELATA_LOG_LEVEL', ['', 'INFO', 'trace']],
  ['RELATA_TASK_RETENTION_DAYS', ['0', '-30']],
  [
    'RELATA_CORS_ORIGINS',
    ['*', 'other.example', 'https://shop.example/', 'https://a.example;https://b.example'],
  ],
  ['RELATA_IMPORT_DIR', ['']],
  ['RELATA_SECRET_KEYS', ['k'.repeat(44), 'a'.repeat(63), 'YQ==']],
  ['RELATA_FETCH_ALLOW', ['erp.example', '10.0.0.0/33', 'http://10.0.0.1', 'fe80::1%eth0', '*']],
  ['RELATA_SOURCE_MAX_MIB', ['0', '4 GiB', '1048577']],
  ['RELATA_TRUSTED_PROXIES', ['proxy', '10.0.0.0/33', '10.0.0.0/', 'fd00::/129', '10.0.0.0/8/8', 'true']],
  ['RELATA_PARSER_THREADS', ['0', '65']],
  ['RELATA_WRITER_THREADS', ['0', '65']],
  ['RELATA_BODY_BUDGET_MIB', ['0', 'much']],
  ['RELATA_CACHE_MIB', ['-1', 'much']],
];

for (const [name, values] of badValues) {
  test(`a bad value of ${name} stops the start with its name and without the value`, () => {
    for (const value of values) {
      assert.throws(
        () => readConfig({ [name]: value }),
        new RegExp(`^Error: Configuration: ${name} \\S[^;]*$`),
        value,
      );
      const message = messageOf({ [name]: value });
      if (value.length > 8) assert.ok(!message.includes(value), message);
    }
  });
}

test('a PostgreSQL database is taken with its replicas, and a wrong one is not shown', () => {
  for (const scheme of ['postgres', 'postgresql']) {
    const url = `${scheme}://relata:secret@db/relata`;
    const { database } = readConfig({ RELATA_DATABASE_URL: url, RELATA_REPLICA_URLS: `${url}, ${url}2` });
    assert.equal(database?.url, url);
    assert.deepEqual(database?.replicaUrls, [url, `${url}2`]);
  }
  assert.doesNotMatch(messageOf({ RELATA_REPLICA_URLS: 'mysql://relata:secret@db/relata' }), /secret/);
});

test('traces are wanted when the variables of OpenTelemetry name a place for them', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318' };
  for (const none of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { ...endpoint, OTEL_SDK_DISABLED: 'TRUE' },
    { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
  ]) {
    assert.equal(readConfig(none).traces, undefined, JSON.stringify(none));
  }
  const usual = { protocol: 'http/protobuf', sampler: 'parentbased_always_on', samplerRatio: 1, batches: {} };
  const collector = 'http://collector.example:4318';
  assert.deepEqual(readConfig(endpoint).traces, { endpoint: collector, ...usual });
  const chosenAlone = readConfig({ OTEL_TRACES_EXPORTER: 'otlp' }).traces;
  assert.deepEqual(chosenAlone, { endpoint: 'http://localhost:4318', ...usual });
  const chosen = {
    ...endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_BSP_MAX_QUEUE_SIZE: 'many',
  };
  assert.deepEqual(readConfig(chosen).traces, {
    endpoint: collector,
    protocol: 'http/json',
    sampler: 'traceidratio',
    samplerRatio: 0.25,
    batches: { scheduledDelayMillis: 50 },
  });
});

test("the company's provider is set up as a whole, and its address is protected (§5.7 rule 1)", () => {
  const settings = {
    RELATA_OIDC_ISSUER: 'https://login.company.example/realms/staff',
    RELATA_OIDC_CLIENT_ID: 'relata',
    RELATA_OIDC_CLIENT_SECRET: 'secret',
    RELATA_OIDC_ROLES: '[{"group":"Relata admins","role":"owner"}]',
  };
  assert.deepEqual(readConfig(settings).oidc, {
    issuer: settings.RELATA_OIDC_ISSUER,
    clientId: 'relata',
    clientSecret: 'secret',
    name: 'login.company.example',
    scopes: 'openid email profile',
    groupsClaim: 'groups',
    roles: [{ group: 'Relata admins', role: 'owner' }],
  });
  assert.equal(readConfig({ ...settings, RELATA_OIDC_ISSUER: undefined }).oidc, undefined);
  assert.ok(readConfig({ ...settings, RELATA_OIDC_ISSUER: 'http://127.0.0.1:8080' }).oidc);
  for (const issuer of ['http://login.company.example', 'https://a.example/?x=1', 'ftp://127.0.0.1', 'x'])
    assert.match(messageOf({ ...settings, RELATA_OIDC_ISSUER: issuer }), /RELATA_OIDC_ISSUER must be/);
  for (const name of ['RELATA_OIDC_CLIENT_ID', 'RELATA_OIDC_ROLES'])
    assert.match(
      messageOf({ ...settings, [name]: undefined }),
      new RegExp(`RELATA_OIDC_ISSUER needs ${name}`),
    );
  for (const roles of ['{"a":"owner"}', '[{"group":"a","role":"admin"}]'])
    assert.match(
      messageOf({ ...settings, RELATA_OIDC_ROLES: roles }),
      /RELATA_OIDC_ROLES must be JSON such as/,
    );
  assert.match(messageOf({ ...settings, RELATA_OIDC_SCOPES: 'email' }), /openid among them/);
});

test('one message names every wrong and every unknown variable', () => {
  const message = messageOf({
    RELATA_PROT: '1',
    RELATA_DATADIR: '/var/lib/relata',
    RELATA_PORT: 'x',
    RELATA_LOG_LEVEL: 'loud',
    RELATA_ACCOUNT_KEY: 'short-secret',
  });
  for (const part of [
    'RELATA_PROT is not a known setting',
    'RELATA_DATADIR is not a known setting',
    'RELATA_PORT must be integer',
    'RELATA_LOG_LEVEL must be one of debug, info, warn, error, silent',
    'RELATA_ACCOUNT_KEY must be at least 32 printable',
  ]) {
    assert.ok(message.includes(part), `${part} in: ${message}`);
  }
  assert.ok(!message.includes('short-secret') && !message.includes('loud') && !message.includes('/var/lib'));
});

test('an unknown variable is told once, without words of the validator', () => {
  assert.equal(messageOf({ RELATA_PROT: '1' }), 'Configuration: RELATA_PROT is not a known setting');
});

function messageOf(env: NodeJS.ProcessEnv): string {
  try {
    readConfig(env);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

test('each setting is described in docs/interface/10-running.md (§10.1)', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const names = [...read('./config.ts').matchAll(/^ {4}(RELATA_\w+):/gm)].map(([, name = '']) => name);
  assert.ok(names.length > 40, `${names.length} settings were found`);
  const page = read('../../docs/interface/10-running.md');
  // Of the client, whose command line reads them (client/README.md).
  const ofClient = new Set(['RELATA_URL', 'RELATA_API_KEY', 'RELATA_PROJECT']);
  assert.deepEqual(
    names.filter((name) => !ofClient.has(name) && !page.includes(`\`${name}\``)),
    [],
  );
});
