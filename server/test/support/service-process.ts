import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Role } from '../../src/app/app.ts';
import { checkAnswer } from './check-answer.ts';
import type { TestStore } from './test-store.ts';

/** The service in a separate process, so that a test can kill it. */
export interface ServiceProcess {
  readonly address: string;
  readonly key: string;
  /** The standard error of the process. */
  readonly faults: () => string;
  /** The log, one JSON line each. */
  readonly log: () => string;
  /** @throws if the connection breaks, such as when the process was killed */
  call(method: string, path: string, options?: ProcessCall): Promise<ProcessAnswer>;
  /** Kills the process immediately, like a crash or a power cut. */
  kill(): Promise<void>;
  /** Suspends the process. It keeps its connections but answers nothing. */
  pause(): void;
  continue(): void;
  /** Stops the process like systemd. @returns the exit code */
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
/** Usually a second, and many times that on a busy machine. */
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
    // Ten times the default, for busy machines. relation-work.test.ts tests the limit.
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

interface StartedProgram {
  readonly store: TestStore;
  readonly settings?: Record<string, string>;
  readonly role?: Role;
  /** The backup that the standby follows. */
  readonly standby?: string;
  /** This version or an earlier one, whose answers need not match the document. */
  readonly program?: string;
}

/** @returns the running service @throws Error with its output if it does not start */
export async function startProgram({
  store,
  settings = {},
  role = 'all',
  standby,
  program = main,
}: StartedProgram): Promise<ServiceProcess> {
  const flags = [...(role === 'all' ? [] : ['--role', role]), ...(standby ? ['--standby', standby] : [])];
  const child = spawn(process.execPath, [program, 'serve', ...flags], {
    env: processEnvironment(store, settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const faults = collectText(child.stderr);
  const log = collectText(child.stdout);
  const address = await findAddress(child).catch((error: Error) => {
    child.kill('SIGKILL');
    throw new Error(`the service did not start: ${error.message}\n${faults()}`);
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  async function kill(): Promise<void> {
    child.kill('SIGKILL');
    await exited;
  }
  store.onRemove(kill);
  const isChecked = program === main;

  return {
    address,
    key: PROCESS_KEY,
    faults,
    log,
    call: (method, path, options = {}) => callProcess({ address, isChecked }, { ...options, method, path }),
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

/** @returns a function that returns all text of the stream so far */
function collectText(stream: Readable): () => string {
  let collected = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    collected += text;
  });
  return () => collected;
}

/** @param isChecked whether answers have to match the document */
async function callProcess(
  { address, isChecked }: { readonly address: string; readonly isChecked: boolean },
  { method, path, body, headers = {} }: ProcessCall & { readonly method: string; readonly path: string },
): Promise<ProcessAnswer> {
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
  const { status, headers: answered } = response;
  if (answered.get('content-type')?.startsWith('application/json') !== true)
    return { status, text, headers: answered, body: undefined };
  const answer = JSON.parse(text);
  if (isChecked) checkAnswer({ method, path, status, body: answer });
  return { status, text, headers: answered, body: answer };
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
