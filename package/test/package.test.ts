// runs: deep, slow
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { before, type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The output of `npm pack`: its contents, and that it runs on a machine that has only a Node. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'relata-package-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Without the Node of this clone and without the variables of the tests. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:RELATA_|NODE_|npm_)/.test(name)),
);
const bare = (env.PATH ?? '').split(delimiter).filter((path) => !path.includes('node_modules'));
// If the machine has no other Node than that of the clone, the test uses that one.
if (bare.some((path) => existsSync(join(path, 'node')))) env.PATH = bare.join(delimiter);

interface End {
  readonly failed: boolean;
  readonly out: string;
}

function run(command: string, args: readonly string[], cwd = ROOT): Promise<End> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ failed: error !== null, out: error === null ? stdout : stdout + stderr }),
    );
  });
}

interface Packed {
  readonly filename: string;
  readonly version: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { path: string; mode: number }[];
}

let packed: Packed;

before(async () => {
  const made = await run(process.execPath, ['package/make-package.ts']);
  assert.equal(made.failed, false, made.out);
  const { out } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]);
  const answer = JSON.parse(out);
  [packed] = Array.isArray(answer) ? answer : (Object.values(answer) as [Packed]);
});

const ALLOWED = [
  /^(?:package\.json|README\.md|CHANGELOG\.md|LICENSE|package\/relata\.js)$/,
  /^deploy\/systemd\/relata(?:-backup)?(?:\.(?:env|service|timer))?$/,
  /^dist\/(?:THIRD-PARTY-LICENCES\.md|server\/package\.json)$/,
  /^dist\/docs\/openapi\.json$/,
  /^dist\/server\/demo\/(?:catalog\.ndjson\.br|arrivals\.csv|(?:drawings|pipelines|relations)\.json)$/,
  /^dist\/clients\/web\/(?:README\.md|relata\.js|shop\.html)$/,
  /^dist\/server\/migrations\/(?:catalog|control|postgres)\/\d{4}-[a-z0-9-]+\.sql$/,
  /^dist\/server\/src\/[\w/-]+\.mjs$/,
  /^dist\/console\/dist\/(?:index\.html|assets\/[\w.-]+\.(?:js|css|svg|woff2))(?:\.br|\.gz)?$/,
  /^dist\/site\/dist\/(?:[\w/-]+\.(?:html|md|svg|txt)|assets\/[\w-]+\.(?:js|json|css|svg))(?:\.br|\.gz)?$/,
];
/** 6.2 and 20.3 MB in November 2026, of which the documentation has 8 MB. */
const MAX_SIZE = 6_500_000;
const MAX_UNPACKED = 21_000_000;

test('the package contains exactly the program, the console, the documentation and the migrations', () => {
  const paths = packed.files.map(({ path }) => path);
  assert.deepEqual(
    paths.filter((path) => !ALLOWED.some((pattern) => pattern.test(path))),
    [],
  );
  const below = (start: string) => paths.filter((path) => path.startsWith(start)).length;
  assert.equal(below('dist/server/migrations/'), globSync(join(ROOT, 'server/migrations/*/*.sql')).length);
  assert.ok(below('dist/console/dist/assets/') > 10);
  assert.equal(packed.files.find(({ path }) => path === 'package/relata.js')?.mode, 0o755);
  assert.ok(packed.size < MAX_SIZE && packed.unpackedSize < MAX_UNPACKED, `${packed.unpackedSize} bytes`);
});

const RELATA = join(folder, 'shop/node_modules/.bin/relata');

/** Runs `relata`, directly or through npx, until it has printed something. */
async function start(
  t: TestContext,
  [command, ...args]: readonly [string, ...string[]],
  until: string,
): Promise<[ChildProcess, string]> {
  const settings = { ...env, RELATA_PORT: '0', RELATA_DATA_DIR: join(folder, 'data') };
  const child = spawn(command, args, { cwd: join(folder, 'shop'), env: settings });
  t.after(() => child.kill('SIGTERM'));
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  while (!said.includes(until)) {
    assert.equal(child.exitCode, null, said);
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  }
  return [child, said];
}

async function seesPages(address: string): Promise<void> {
  const page = await fetch(`${address}/console/`);
  const script = /src="(\/console\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1];
  for (const path of [`${script}`, '/docs/', '/docs/api', '/openapi.json'])
    assert.equal((await fetch(`${address}${path}`)).status, 200, path);
}

/** Pastes the two lines that the demo prints into a shell in another folder. */
async function answersPastedCommand(printed: string): Promise<void> {
  const lines = /^ {3}(export RELATA_URL=.*)\n {3}(.* related BIKE-0001)$/m.exec(printed);
  assert.ok(lines, printed);
  const { failed, out } = await run('sh', ['-c', `${lines[1]}\n${lines[2]}`], tmpdir());
  assert.equal(failed, false, out);
  assert.match(out, /Tyres for this bicycle/);
}

async function stops(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
}

test('installed into an empty folder, the package serves with the Node that it brings', async (t) => {
  const shop = join(folder, 'shop');
  mkdirSync(shop);
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  const installed = await run('npm', ['install', ...flags, join(folder, packed.filename)], shop);
  const isAway = /ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENOTCACHED/.test(installed.out);
  const brought = globSync('node_modules/node-*', { cwd: shop });
  // npm continues without an optional package that it cannot download.
  if (isAway || (!installed.failed && brought.length === 0)) return t.skip('no registry of npm in reach');
  assert.equal(installed.failed, false, installed.out);

  const { out: version } = await run(join(shop, 'node_modules/.bin/relata'), ['--version'], shop);
  assert.equal(version.trim(), packed.version);
  const refused = await run(join(shop, 'node_modules/.bin/relata'), ['openapi', '--bogus'], shop);
  assert.match(refused.out, /unknown option '--bogus'/);

  const [demo, said] = await start(t, [RELATA, 'demo'], 'Press Ctrl+C');
  const address = /RELATA_URL=(\S+)/.exec(said)?.[1] ?? '';
  await seesPages(address);
  assert.equal((await fetch(`${address}/demo/shop/relata.js`)).status, 200);
  // The process of the expressions may read the three files of which it consists.
  const preview = await fetch(`${address}/management/projects/1/pipelines/preview`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${/RELATA_API_KEY=(\S+)/.exec(said)?.[1]}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      source: { type: 'upload' },
      format: { type: 'csv' },
      mapping: {
        identifier: 'sku',
        name: { expression: '$uppercase(name)', replace: [{ from: 'O+', to: '0', regex: true }] },
      },
      file: { name: 'a.csv', base64: Buffer.from('sku;name\nA1;lock\n').toString('base64') },
    }),
  });
  const seen = await preview.text();
  const { rows } = JSON.parse(seen) as { rows?: { product?: { name: string } }[] };
  assert.equal(rows?.[0]?.product?.name, 'L0CK', seen);
  await answersPastedCommand(said);
  await stops(demo);

  const [service, log] = await start(t, [RELATA, 'serve'], '"relata serves"');
  await seesPages(/"address":"([^"]+)"/.exec(log)?.[1] ?? '');
  await stops(service);

  const [npx, more] = await start(t, ['npx', '--no', 'relata', 'serve'], '"relata serves"');
  const served = /"address":"([^"]+)"/.exec(more)?.[1] ?? '';
  const pid = Number(/"pid":(\d+)/.exec(more)?.[1]);
  t.after(() => isRunning(pid) && process.kill(pid, 'SIGKILL'));
  npx.kill('SIGTERM');
  for (const end = Date.now() + 60_000; isRunning(pid); await setTimeout(50))
    assert.ok(Date.now() < end, 'the service continues without npx');
  await assert.rejects(fetch(served), 'the port is free');
  // The service takes the lock of the data directory.
  const [again] = await start(t, [RELATA, 'serve'], '"relata serves"');
  await stops(again);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
