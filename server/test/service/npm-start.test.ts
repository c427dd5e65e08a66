// runs: deep
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, utimesSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { lockDataFolder } from '../../src/storage/folder/folder.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The scripts that serve, each with the output that shows it. The demo is built first, which takes minutes. */
const SCRIPTS: readonly (readonly string[])[] = [['start'], ['run', 'relata', '--', 'serve']];

for (const args of SCRIPTS) {
  test(`SIGTERM to npm ${args.join(' ')} stops the service and frees its port and its lock`, async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'relata-npm-'));
    const inherited = Object.entries(process.env).filter(([name]) => !/^(?:RELATA_|npm_|NODE_)/.test(name));
    const env = { ...Object.fromEntries(inherited), RELATA_DATA_DIR: dataDir, RELATA_PORT: '0' };
    const npm = spawn('npm', args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
    const served = /"pid":(\d+).*"address":"http:\/\/127\.0\.0\.1:(\d+)","msg":"relata serves"/;
    let output = '';
    npm.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    while (!served.test(output)) {
      assert.equal(npm.exitCode, null, output);
      await Promise.race([once(npm.stdout, 'data'), once(npm, 'exit')]);
    }
    const [, pid, port] = served.exec(output) ?? [];
    t.after(() => {
      // Only a service that is still running exists here.
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {}
      rmSync(dataDir, { recursive: true, force: true });
    });
    npm.kill('SIGTERM');
    await once(npm, 'exit');
    // npm waits for the service, so a container that ends with npm interrupts no request.
    lockDataFolder(dataDir).close();
    const listener = createServer().listen(Number(port), '127.0.0.1');
    await once(listener, 'listening');
    listener.close();
  });
}

test('npm run relata bundles the program again only if a source is newer', async () => {
  const bundled = join(root, 'server/dist/main.mjs');
  const run = async () => {
    const npm = spawn('npm', ['run', '-s', 'relata', '--', '--version'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const output = await npm.stdout.setEncoding('utf8').toArray();
    assert.match(output.join(''), /^\d+\.\d+\.\d+\n$/);
    return statSync(bundled).mtimeMs;
  };
  await run();
  const longAgo = new Date(0);
  utimesSync(bundled, longAgo, longAgo);
  const bundledAt = await run();
  assert.ok(bundledAt > 0, 'it is bundled again');
  assert.equal(await run(), bundledAt, 'it stays');
});
