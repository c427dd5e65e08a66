import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Role } from '../../src/app/app.ts';
import { checkAnswer } from './check-answer.ts';
import type { TestStore } from './test-store.ts';

/** The service in a process of its own, so that it can be killed. */
export interface ServiceProcess {
  readonly address: string;
  readonly key: string;
  /** Its standard error. */
  readonly faults: () => string;
  /** Its log, one JSON line each. */
  readonly log: () => string;
  /** @throws if the connection breaks, e.g. because the process was killed */
  call(method: string, path: string, options?: ProcessCall): Promise<ProcessAnswer>;
  /** Ends it at once, like a crash or a power cut. */
  kill(): Promise<void>;
  /** Suspends it: it keeps its connections but answers nothing. */
  pause(): void;
  continue(): void;
  /** Stops it as systemd would. @returns the exit code */
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
/** Usually a second; many times that on a busy machine. */
const START_MS = 300_000;

/** The environment of a process on this store, without the caller's settings. */
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
    // Ten times the default, for busy machines; relation-work.test.ts tests the limit.
    RELATA_RELATION_SECONDS: '1200',
    RELATA_WRITER_THREADS: '1',
    ...settings,
  };
}

/** @returns the running service @throws Error with its output if it does not start */
export const startProcess = (
  store: TestStore,
  settings: Record<string, string> = {},
  role: Role = 'all',
): Promise<ServiceProcess> => startProgram({ store, settings, role, program: main });

/** `program`: this or an earlier version, whose answers need not match the document; `standby`: the backup it follows. */
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

/** The address is in the log line of the start. */
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
