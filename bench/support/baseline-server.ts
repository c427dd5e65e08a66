import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { endProcess } from './child-process.ts';
import { createClient } from './service-client.ts';

/** `baseline.ts` in a separate process, on an empty database. */
export interface BaselineServer {
  readonly address: string;
  readonly pid: number;
  /** @returns the duration in ms */
  load(bodies: readonly Buffer[]): Promise<number>;
  stop(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('./baseline.ts', import.meta.url));

export async function startBaseline(path: string): Promise<BaselineServer> {
  const remove = () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  };
  remove();
  const child = spawn(process.execPath, [PROGRAM, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const address = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the baseline ended with ${code}`)));
    createInterface({ input: child.stdout }).once('line', resolve);
  });
  const client = createClient(address, '');
  return {
    address,
    pid: Number(child.pid),
    async load(bodies) {
      const start = performance.now();
      for (const body of bodies) await client.succeed('POST', '/products', body);
      return performance.now() - start;
    },
    async stop() {
      client.close();
      await endProcess(child);
      remove();
    },
  };
}
