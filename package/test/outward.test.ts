// runs: deep, slow
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connectAgent } from '../../server/test/support/agent-client.ts';
import { Browser } from '../../server/test/support/browser.ts';
import { startCompanyProvider, visitProvider } from '../../server/test/support/company-provider.ts';
import { S3_KEYS, S3_REGION, startS3Server } from '../../server/test/support/outbound/s3-server.ts';
import { makeKeys, startSftpServer } from '../../server/test/support/outbound/sftp-server.ts';
import { startCollector } from '../../server/test/support/outbound/trace-collector.ts';
import { startReceiver, verify } from '../../server/test/support/outbound/webhook-receiver.ts';
import {
  processEnvironment,
  type ServiceProcess,
  startProgram,
} from '../../server/test/support/service-process.ts';
import { embeddedStoreAt } from '../../server/test/support/test-store.ts';
import { bundleServer } from '../bundle-server.ts';

/** Connections to other machines, in the published bundle. The tests of the server do not bundle these packages. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'relata-outward-'));
const store = embeddedStoreAt(join(folder, 'data'));
const program = join(folder, 'program/server/src');
const main = join(program, 'main.mjs');
let service: ServiceProcess;

const ORIGIN = 'http://relata.example';
const BUCKET = 'relata';
const s3 = await startS3Server(BUCKET);
const provider = await startCompanyProvider();
provider.register(`${ORIGIN}/console/`);

const collector = await startCollector({ after });

const settings = {
  RELATA_FETCH_ALLOW: '127.0.0.1',
  RELATA_PUBLIC_URL: ORIGIN,
  RELATA_OIDC_ISSUER: provider.issuer,
  RELATA_OIDC_CLIENT_ID: provider.clientId,
  RELATA_OIDC_CLIENT_SECRET: provider.clientSecret,
  RELATA_OIDC_ROLES: JSON.stringify([{ group: 'Shop', role: 'viewer' }]),
  RELATA_BACKUP_URL: `s3://${BUCKET}/backup`,
  RELATA_BACKUP_KEY: Buffer.alloc(32, 7).toString('base64'),
  RELATA_BACKUP_S3_ENDPOINT: s3.endpoint,
  RELATA_BACKUP_S3_REGION: S3_REGION,
  RELATA_BACKUP_S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
  RELATA_BACKUP_S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
  ...collector.settings,
};

before(async () => {
  mkdirSync(program, { recursive: true });
  await bundleServer(program);
  symlinkSync(join(ROOT, 'server/migrations'), join(folder, 'program/server/migrations'));
  cpSync(join(ROOT, 'server/package.json'), join(folder, 'program/server/package.json'));
  mkdirSync(join(folder, 'program/docs'));
  symlinkSync(join(ROOT, 'docs/openapi.json'), join(folder, 'program/docs/openapi.json'));
  // Traces need these packages beside the program (docs/operating/monitoring.md, "Traces").
  mkdirSync(join(folder, 'program/node_modules'));
  symlinkSync(join(ROOT, 'node_modules/@opentelemetry'), join(folder, 'program/node_modules/@opentelemetry'));
  service = await startProgram({ store, settings, program: main });
  const group = await succeed('POST', '/management/project-groups', { name: 'Shops' });
  await succeed('POST', '/management/projects', { name: 'Shop', projectGroupId: group.id, locale: 'de-DE' });
});
after(async () => {
  await service?.stop();
  await provider.close();
  s3.close();
  rmSync(folder, { recursive: true });
});

async function succeed(method: string, path: string, body?: unknown) {
  const answer = await service.call(method, path, { body });
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

/** Waits for a task that must finish. */
async function finish({ task }: { task: { id: string } }): Promise<void> {
  for (;;) {
    const ended = (await succeed('GET', `/tasks/${task.id}?wait=30`)).task;
    if (!['RUNNING', 'PENDING'].includes(ended.taskStatus))
      return assert.equal(ended.taskStatus, 'FINISHED', JSON.stringify(ended));
  }
}

/** Runs a pipeline that reads `products.csv` from one place, and builds a channel that writes `products.ndjson` to the other. */
async function passThrough(name: string, source: object, destination: object): Promise<void> {
  const home = '/management/projects/1';
  const pipeline = await succeed('POST', `${home}/pipelines`, {
    name,
    source,
    format: { type: 'csv' },
    mapping: { identifier: 'sku', name: 'title' },
    mode: 'incremental',
    trigger: { type: 'manual' },
  });
  await finish(await succeed('POST', `${home}/pipelines/${pipeline.id}/run`));
  const wanted = { name, format: { type: 'ndjson' }, destinations: [destination] };
  const channel = await succeed('POST', `${home}/channels`, wanted);
  await finish(await succeed('POST', `${home}/channels/${channel.id}/build`));
}

/** The first ciphers of servers, and the cipher whose WebAssembly the bundle must include. */
for (const cipher of ['aes128-gcm@openssh.com', 'aes256-ctr', 'chacha20-poly1305@openssh.com'] as const)
  test(`a pipeline reads a file and a channel writes one by SFTP with ${cipher} (§13.1, §16.8)`, async (t) => {
    const root = mkdtempSync(join(folder, 'sftp-'));
    const keys = makeKeys();
    const user = { user: 'erp', publicKey: keys.public, algorithms: { cipher: [cipher] } };
    const server = await startSftpServer(root, user, 'done');
    t.after(() => server.close());
    writeFileSync(join(root, 'products.csv'), `sku,title\nA-${cipher},Drill\n`);
    const place = {
      type: 'sftp',
      host: '127.0.0.1',
      port: server.port,
      user: 'erp',
      privateKey: keys.private,
      hostKey: server.hostKey,
    };
    mkdirSync(join(root, 'out'));
    await passThrough(cipher, { ...place, path: 'products.csv' }, { ...place, folder: 'out' });
    assert.match(readFileSync(join(root, 'out/products.ndjson'), 'utf8'), new RegExp(`"A-${cipher}"`));
  });

test('a pipeline reads a file from a bucket and a channel writes one into it (§13.1, §16.8)', async () => {
  s3.objects.set('in/products.csv', Buffer.from('sku,title\nB-1,Saw\n'));
  const place = { type: 's3', endpoint: s3.endpoint, region: S3_REGION, bucket: BUCKET, ...S3_KEYS };
  await passThrough('bucket', { ...place, key: 'in/products.csv' }, { ...place, folder: 'out' });
  assert.match(String(s3.objects.get('out/products.ndjson')), /"B-1"/);
});

test('a webhook endpoint gets a signed event of a change (§6)', async (t) => {
  const receiver = await startReceiver(t);
  const wanted = { url: receiver.url, events: ['products.changed'], scope: { type: 'project', id: 1 } };
  const { secret } = await succeed('POST', '/management/webhook-endpoints', wanted);
  await finish(await succeed('POST', '/products', { products: [{ identifier: 'W-1', name: 'Wrench' }] }));
  const [event] = await receiver.of('products.changed');
  assert.ok(event);
  verify(secret, event);
});

test('an agent lists the tools and reads a product by MCP (§15)', async (t) => {
  await finish(await succeed('POST', '/products', { products: [{ identifier: 'M-1', name: 'Lathe' }] }));
  const client = await connectAgent(service.address, service.key, '?projectId=1');
  t.after(() => client.close());
  const { tools } = await client.listTools();
  assert.ok(
    tools.some(({ name }) => name === 'get_products'),
    tools.map(({ name }) => name).join(),
  );
  const { content } = await client.callTool({ name: 'get_products', arguments: { identifiers: ['M-1'] } });
  assert.match(JSON.stringify(content), /Lathe/);
});

test("a person signs in with the company's account (§5.7)", async () => {
  provider.people.set('anna', { email: 'anna@company.example', name: 'Anna', groups: ['Shop'] });
  provider.signInAs('anna');
  const browser = new Browser(service.address);
  browser.headers = { origin: ORIGIN };
  const { url } = await browser.succeed('POST', '/management/session/company-account/start');
  const query = await visitProvider(url, `${ORIGIN}/console/`);
  const { user } = await browser.succeed('POST', '/management/session/company-account', { query });
  assert.deepEqual([user.email, user.role], ['anna@company.example', 'viewer']);
});

test('traces of requests reach a collector if the packages are installed (docs/operating/monitoring.md, Traces)', async () => {
  await succeed('GET', '/management/projects');
  await collector.find('GET /management/projects');
  assert.deepEqual([...collector.paths], ['/v1/traces']);
});

test('the continuous backup reaches the bucket, and a restore from it has every product (docs/operating/backup.md)', async () => {
  await finish(await succeed('POST', '/products', { products: [{ identifier: 'K-1', name: 'Knife' }] }));
  // The service sends the last changes before it ends.
  assert.equal(await service.stop(), 0);
  const restored = join(folder, 'restored');
  const env = processEnvironment(store, settings);
  const run = promisify(execFile);
  const from = String(settings.RELATA_BACKUP_URL);
  await run(process.execPath, [main, 'restore', '--from', from, restored], { env });
  const { stdout } = await run(process.execPath, [main, 'backups', from, '--verify'], { env });
  assert.match(stdout, /all are intact/);
  const { RELATA_BACKUP_URL: _, ...others } = settings;
  service = await startProgram({ store: embeddedStoreAt(restored), settings: others, program: main });
  const { products } = await succeed(
    'GET',
    '/product-service/products-by-sku?projectId=1&identifiers=["K-1"]',
  );
  assert.deepEqual(
    products.map(({ identifier }: { identifier: string }) => identifier),
    ['K-1'],
  );
});
