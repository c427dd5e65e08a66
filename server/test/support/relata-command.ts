import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { processEnvironment } from './service-process.ts';
import { embeddedStoreAt } from './test-store.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export interface CommandEnd {
  readonly code: number;
  readonly output: string;
}

/** Runs `relata …` in a separate process. */
export function runRelata(dataDir: string, ...args: string[]): Promise<CommandEnd> {
  return runRelataWith({}, dataDir, ...args);
}

/** The same with additional settings. */
export function runRelataWith(
  settings: Record<string, string>,
  dataDir: string,
  ...args: string[]
): Promise<CommandEnd> {
  const env = processEnvironment(embeddedStoreAt(dataDir), settings);
  const { promise, resolve } = Promise.withResolvers<CommandEnd>();
  execFile(process.execPath, [main, ...args], { env, timeout: 60_000 }, (error, out, complaint) =>
    resolve({ code: Number(error?.code ?? 0), output: `${out}${complaint}`.trim() }),
  );
  return promise;
}
