import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRelata, type Relata } from '@relata/client';

const ROOT = join(import.meta.dirname, '../..');
const START_MS = 60_000;
export const KEY = 'console-test-key-of-thirty-two-characters';

export interface Service {
  readonly url: string;
  readonly key: string;
  /** A client that uses the account key. */
  readonly relata: Relata;
  /** @returns the output of the service, once it contains the text */
  untilLogged(text: string): Promise<string>;
  stop(): Promise<void>;
}

/** The service as `npm start` or `npm run demo` runs it, with its own store and the built console. */
export async function startService({
  command = 'serve',
  settings,
}: {
  command?: 'serve' | 'demo';
  settings?: Record<string, string>;
} = {}): Promise<Service> {
  if (!existsSync(join(ROOT, 'console/dist/index.html')))
    throw new Error('The console is not built: npm run build');
  const dataDir = mkdtempSync(join(tmpdir(), 'relata-console-test-'));
  const port = await findPort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(process.execPath, [join(ROOT, 'server/src/main.ts'), command], {
    env: {
      PATH: process.env.PATH,
      // The bundled program, if the whole run has built one. It starts in a third of the processor time.
      NODE_OPTIONS: process.env.NODE_OPTIONS,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      RELATA_DATA_DIR: dataDir,
      RELATA_PORT: String(port),
      RELATA_ACCOUNT_KEY: KEY,
      RELATA_LOG_LEVEL: 'warn',
      RELATA_PARSER_THREADS: '1',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let written = '';
  child.stdout.on('data', (part: Buffer) => {
    written += part.toString();
  });
  const untilLogged = async (text: string) => {
    const deadline = Date.now() + START_MS;
    while (!written.includes(text) && Date.now() < deadline) await sleep(50);
    return written;
  };
  const stop = async () => {
    await end(child);
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await waitUntilReady(url, child);
    // The demo prints its instructions once its catalog is loaded.
    if (command === 'demo') await untilLogged('Relata serves the demo catalog');
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, key: KEY, relata: createRelata({ url, key: KEY }), untilLogged, stop };
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
