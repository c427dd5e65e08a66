import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const MAIN = join(import.meta.dirname, '../../server/src/main.ts');
const START_MS = 60_000;
const KEY = 'client-test-key-of-thirty-two-characters';

/** The service as `npm start` runs it, on a new empty store. */
export async function startService(): Promise<{ url: string; key: string; stop(): Promise<void> }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'relata-client-test-'));
  const port = await findPort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: {
      PATH: process.env.PATH,
      // The bundled program, if the whole run has made one, because it starts in a third of the processor time.
      NODE_OPTIONS: process.env.NODE_OPTIONS,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      RELATA_DATA_DIR: dataDir,
      RELATA_PORT: String(port),
      RELATA_ACCOUNT_KEY: KEY,
      RELATA_LOG_LEVEL: 'warn',
      RELATA_PARSER_THREADS: '1',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const stop = async () => {
    await end(child);
    rmSync(dataDir, { recursive: true, force: true });
  };
  await waitUntilReady(url, child).catch(async (error) => {
    await stop();
    throw error;
  });
  return { url, key: KEY, stop };
}

function findPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

async function waitUntilReady(url: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}`);
    const isReady = await fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await sleep(100);
  }
  throw new Error(`the service was not ready within ${START_MS} ms`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}
