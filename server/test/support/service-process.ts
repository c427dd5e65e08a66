import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Role } from '../../src/app/app.ts';
import { checkAnswer } from './check-answer.ts';
import type { TestStore } from './test-store.ts';

/** The service as a process of its own, so that it can be killed. */
export interface ServiceProcess {
  readonly address: string;
  readonly key: string;
  /** What it wrote to standard error. */
  readonly faults: () => string;
  /** What it logged, a JSON line each. */
  readonly log: () => string;
  /** @throws when the connection broke, e.g. because the process was killed */
  call(method: string, path: string, options?: ProcessCall): Promise<ProcessAnswer>;
  /** Ends at once, as with a crash or a power cut of the machine's processes. */
  kill(): Promise<void>;
  /** It stays, and answers nobody. */
  pause(): void;
  continue(): void;
  /** Ends as systemd would end it. @returns the exit code */
  stop(): Promise<number | null>;
}

export interface ProcessCall {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface ProcessAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
  readonly body: any;
  readonly text: string;
  readonly headers: Headers;
}

export const PROCESS_KEY = 'test-key-of-at-least-thirty-two-characters';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** Usually a second; beside busy processes many times as long. */
const START_MS = 300_000;

/** Settings of a process on this store, without those of the caller. */
export function processEnvironment(
  store: TestStore,
  settings: Record<string, string> = {},
): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('RELATA_'));
  return {
    ...Object.fromEntries(inherited),
    ...store.settings,
    RELATA_PORT: '0',
    RELATA_ACCOUNT_KEY: PROCESS_KEY,
    RELATA_PARSER_THREADS: '1',
    // A machine that is busy may take ten times as long; relation-work.test.ts is about the limit.
    RELATA_RELATION_SECONDS: '1200',
    RELATA_WRITER_THREADS: '1',
    ...settings,
  };
}

/** @returns the running service @throws Error with what it said when it does not come up */
export const startProcess = (
  store: TestStore,
  settings: Record<string, string> = {},
  role: Role = 'all',
): Promise<ServiceProcess> => startProgram({ store, settings, role, program: main });

/** `program`: this one or an earlier version, whose answers need not be as the document says; `standby`: the backup it follows. */
export async function startProgram({
  store,
  settings = {},
  role = 'all',
  standby,
  program = main,
}: {
  readonly store: TestStore;
  readonly settings?: Record<string, string>;
  readonly role?: Role;
  readonly standby?: string;
  readonly program?: string;
}): Promise<ServiceProcess> {
  const flags = [...(role === 'all' ? [] : ['--role', role]), ...(standby ? ['--standby', standby] : [])];
  const child = spawn(process.execPath, [program, 'serve', ...flags], {
    env: processEnvironment(store, settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let faults = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    faults += text;
  });
  let log = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const address = await findAddress(child).catch((error: Error) => {
    child.kill('SIGKILL');
    throw new Error(`the service did not start: ${error.message}\n${faults}`);
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  async function kill(): Promise<void> {
    child.kill('SIGKILL');
    await exited;
  }
  store.onRemove(kill);

  return {
    address,
    key: PROCESS_KEY,
    faults: () => faults,
    log: () => log,
    async call(method, path, { body, headers = {} } = {}) {
      const response = await fetch(`${address}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${PROCESS_KEY}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const { status, headers: got } = response;
      if (response.headers.get('content-type')?.startsWith('application/json') !== true)
        return { status, text, headers: got, body: undefined };
      const answer = JSON.parse(text);
      if (program === main) checkAnswer({ method, path, status, body: answer });
      return { status, text, headers: got, body: answer };
    },
    kill,
    pause: () => void child.kill('SIGSTOP'),
    continue: () => void child.kill('SIGCONT'),
    async stop() {
      child.kill('SIGTERM');
      const [code] = await exited;
      return code;
    },
  };
}

/** The address stands in the log line of the start. */
async function findAddress(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const timer = setTimeout(() => reject(new Error(`no address within ${START_MS} ms`)), START_MS);
  child.once('exit', (code) => reject(new Error(`it ended with ${code}`)));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { msg, address } = readLine(line);
    if (msg === 'relata serves' && address !== undefined) resolve(address);
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

function readLine(line: string): { msg?: string; address?: string } {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}
