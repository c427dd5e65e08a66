import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { endProcess } from './child-process.ts';
import { createClient, type ServiceClient } from './service-client.ts';

/** The service under test, in a process of its own. */
export interface BenchService extends ServiceClient {
  readonly address: string;
  readonly key: string;
  readonly pid: number;
  readonly dataDir: string;
  createProject(name: string): Promise<number>;
  stop(): Promise<void>;
}

const KEY = 'bench-key-of-at-least-thirty-two-characters';
/** Uses the published program, because each thread would read 1,300 source files and take 90 MiB more. */
export const PROGRAM = fileURLToPath(new URL('../../dist/server/src/main.mjs', import.meta.url));

/** The allocator settings of the C library that the image and the systemd units use. */
const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '1048576',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};

/** RELATA_ variables; undefined: not set. */
export type Settings = Readonly<Record<string, string | undefined>>;

/** Other settings come from the environment of the bench. */
export async function startService(dataDir: string, settings: Settings = {}): Promise<BenchService> {
  const env = {
    ...ALLOCATOR,
    ...process.env,
    RELATA_DATA_DIR: dataDir,
    RELATA_PORT: '0',
    RELATA_ACCOUNT_KEY: KEY,
    ...settings,
  } as NodeJS.ProcessEnv;
  const nodeOptions = env.BENCH_NODE_OPTIONS?.split(' ') ?? [];
  const command = [process.execPath, ...nodeOptions, PROGRAM, 'serve'];
  // Node itself raises its limit to the maximum.
  const limit = `ulimit -n ${env.BENCH_OPEN_FILES ?? '"$(ulimit -n)"'} && exec "$@"`;
  const child = spawn('/bin/sh', ['-c', limit, 'sh', ...command], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const address = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      // Messages of Node itself, such as those of --trace-gc, are among the lines of the log.
      if (!line.startsWith('{')) return console.log(line);
      const { msg, address: found, level } = JSON.parse(line) as LogLine;
      if (msg === 'relata serves') resolve(String(found));
      if (level >= 40) console.error(line);
    });
  });
  const client = createClient(address, KEY);
  const group = await client.succeed<Created>('POST', '/management/project-groups', { name: 'Bench' });
  return {
    ...client,
    address,
    key: KEY,
    pid: Number(child.pid),
    dataDir,
    async createProject(name) {
      const wanted = { name, projectGroupId: group.id, locale: 'en-GB' };
      return (await client.succeed<Created>('POST', '/management/projects', wanted)).id;
    },
    async stop() {
      client.close();
      await endProcess(child);
    },
  };
}

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly address?: string;
}

interface Created {
  readonly id: number;
}
