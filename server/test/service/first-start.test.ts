// runs: long, slow
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The instructions of docs/operating/install.md for starts and upgrades work, beginning with a new checkout. */

const root = fileURLToPath(new URL('../../../', import.meta.url));
const operating = readFileSync(join(root, 'docs/operating/install.md'), 'utf8');

/** @returns the commands in the first shell block of a section, one per line */
function readCommands(title: string): string[] {
  const section = operating.split(/^## /m).find((text) => text.startsWith(`${title}\n`));
  const block = /^```sh\n(.*?)^```$/ms.exec(section ?? '')?.[1] ?? '';
  return block.split('\n').filter((line) => line !== '');
}

/** The files of the repository as in a clone, including uncommitted ones. */
function cloneRepository(t: TestContext): string {
  const clone = mkdtempSync(join(tmpdir(), 'relata-clone-'));
  t.after(() => rmSync(clone, { recursive: true, force: true }));
  const listed = execFileSync('git', ['ls-files', '-coz', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  for (const path of new Set(listed.split('\0'))) {
    if (path !== '' && existsSync(join(root, path))) cpSync(join(root, path), join(clone, path));
  }
  return clone;
}

/**
 * The environment of a shell without npm and without settings. npm uses its cache and does not download packages again.
 */
function shellEnvironment(settings: Record<string, string>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:npm_|RELATA_|NODE_|INIT_CWD)/i.test(name));
  return { ...Object.fromEntries(own), npm_config_prefer_offline: 'true', ...settings };
}

test('the commands of "First start" start a service whose owner link leads to the console', async (t) => {
  const [install = '', start = '', ask = '', ...rest] = readCommands('First start');
  assert.deepEqual([start, rest], ['npm start', []]);
  const cwd = cloneRepository(t);
  const env = shellEnvironment({ RELATA_PORT: '0' });
  await promisify(execFile)('sh', ['-c', install], { cwd, env, timeout: 600_000 });
  assert.ok(!existsSync(join(cwd, 'node_modules/vite')), 'the build packages are removed');

  const child = spawn('sh', ['-c', start], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const ended = once(child, 'close');
  t.after(async () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
  });
  const lines: string[] = [];
  let address: string | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    address = /"address":"([^"]+)"/.exec(line)?.[1];
    if (address !== undefined) break;
  }
  assert.ok(address, lines.join('\n'));
  const link = /"link":"([^"]+)"/.exec(lines.join('\n'))?.[1] ?? '';
  assert.ok(link.startsWith(`${address}/console/#/welcome/`), lines.join('\n'));
  assert.equal((await fetch(link)).status, 200);
  assert.ok(!lines.some((line) => line.includes('not built')));
  const command = ask.replace(/^curl http:\/\/[\w.:]+/, address);
  assert.equal((await fetch(command)).status, 200, ask);
  assert.match(await (await fetch(`${address}/docs/api`)).text(), /<title>Relata [\d.]+ API</);
});

test('a start without a built console logs no owner link and says how to build the console', async (t) => {
  const cwd = cloneRepository(t);
  symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'));
  const dataDir = mkdtempSync(join(tmpdir(), 'relata-no-console-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const env = shellEnvironment({ RELATA_PORT: '0', RELATA_DATA_DIR: dataDir });
  const args = ['--conditions=relata-source', join(cwd, 'server/src/main.ts'), 'serve'];
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null) await once(child, 'close');
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.includes('"relata serves"')) break;
  }
  const log = lines.join('\n');
  assert.doesNotMatch(log, /\/console\/#/);
  assert.match(log, /the service has no owner, and the console is not built; run npm ci && npm run build/);
});

test('upgrading a clone builds packages and console in the same way as the first start', () => {
  const [install = ''] = readCommands('First start');
  assert.ok(operating.includes(`In a clone the third step is \`git pull && ${install}\`.`), install);
});
