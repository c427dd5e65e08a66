import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { readCpuMs, waitUntilQuiet } from '../support/process-usage.ts';
import { type BenchService, startService } from '../support/service.ts';
import { runFullUpdate, type TaskAnswer, waitUntilFinished } from '../support/service-client.ts';
import { spreadOf } from '../support/statistics.ts';

/** The longest block of the serving thread for each kind of work, and the cost of channels that wait for a change. */
export const servingThread: Measurement = {
  name: 'serving-thread',
  title:
    'Longest piece of work of the serving thread, in processor time, with 1,000 projects and 10,000 idle channels',
  async measure(bench: Bench): Promise<Figure[]> {
    const dataDir = join(bench.folder, 'serving-thread');
    const catalogs = await fill(bench, dataDir);
    const aloneMs = await measureIdle(bench, dataDir);
    addIdle(dataDir, catalogs);
    const rounds: Map<string, number>[] = [];
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      bench.say(`round ${at}`);
      rounds.push(await measureRound(bench, dataDir, catalogs));
    }
    const idleMs = await measureIdle(bench, dataDir);
    const names = [...(rounds[0]?.keys() ?? [])];
    return [
      ...names.map((name): Figure => {
        const spread = spreadOf(rounds.map((round) => round.get(name) ?? 0));
        return { name, spread, unit: 'ms', target: { kind: 'at most', value: LONGEST_MS } };
      }),
      {
        name: 'processor time of all threads in 10 s, idle, with 10,000 channels more',
        spread: spreadOf([Math.max(0, idleMs - aloneMs)]),
        unit: 'ms',
        target: { kind: 'at most', value: IDLE_MS },
        absolute: `${idleMs} and ${aloneMs} ms`,
      },
    ];
  },
};

const LONGEST_MS = 20;
const IDLE_MS = 50;
const PROJECTS = 1_000;
const CHANNELS_OF_PROJECT = 10;
const PRODUCTS = 10_000;
const NUMBERS = Array.from({ length: 11 }, (_, at) => `Measure ${at}`);
const WATCH = fileURLToPath(new URL('../support/watch-pieces.ts', import.meta.url));

interface Catalogs {
  /** Products with values that make no facts. */
  readonly reported: number;
  /** Products with long values. */
  readonly long: number;
}

const DRILLS = (round: number) =>
  Buffer.from(
    JSON.stringify({
      products: Array.from({ length: PRODUCTS }, (_, at) => ({
        identifier: `P${at}`,
        name: `Drill ${at} of ${round}`,
        attributes: NUMBERS.map((key) => ({ key, value: 'none' })),
      })),
    }),
  );

/** Of 1.9 MB each. */
const LONG = Array.from({ length: 8 }, (_, at) => ({
  identifier: `Long ${at}`,
  name: 'Long',
  attributes: Array.from({ length: 30 }, (__, value) => ({
    key: `Text ${value}`,
    value: `${value} `.repeat(20_000),
  })),
}));

async function fill(bench: Bench, dataDir: string): Promise<Catalogs> {
  bench.say('filling the catalogs');
  const service = await startService(dataDir);
  try {
    const [reported, long] = [await service.createProject('Reported'), await service.createProject('Long')];
    const attributes = NUMBERS.map((name) => ({ name, type: 'NUMERIC_ATTRIBUTE' }));
    await service.succeed('PUT', `/management/projects/${reported}/ontology`, { mode: 'own', attributes });
    await runFullUpdate(service, reported, { bodies: [DRILLS(0)] });
    await runFullUpdate(service, long, { bodies: [Buffer.from(JSON.stringify({ products: LONG }))] });
    await waitUntilQuiet(service.pid);
    return { reported, long };
  } finally {
    await service.stop();
  }
}

/** Many projects whose channels wait for a change, and as many channels of one project that changes. */
function addIdle(dataDir: string, { reported }: Catalogs): void {
  using control = new DatabaseSync(join(dataDir, 'control.db'));
  const counted = (most: number) =>
    `with recursive n (at) as (select 1 union all select at + 1 from n where at < ${most})`;
  const definition = {
    name: 'Feed',
    format: { type: 'ndjson' },
    filter: { all: [] },
    relations: [],
    destinations: [],
    trigger: { type: 'change', minSecondsBetween: 1 },
  };
  control.exec(
    `${counted(PROJECTS)} insert into project (account_id, project_group_id, name, locale, tags, settings, created_at)
     select p.account_id, p.project_group_id, 'Idle ' || n.at, p.locale, p.tags, p.settings, p.created_at
     from project p, n where p.id = ${reported};
     ${counted(CHANNELS_OF_PROJECT)} insert into channel
       (project_id, definition, revision, token, built_version, created_at, updated_at)
     select p.id, '${JSON.stringify(definition)}', 1, 'idle-' || p.id || '-' || n.at, 0, 0, 0
     from project p, n where p.name like 'Idle %'`,
  );
}

async function measureIdle(bench: Bench, dataDir: string): Promise<number> {
  bench.say('idle for 10 s');
  const service = await startService(dataDir);
  try {
    await waitUntilQuiet(service.pid);
    await pause(2_000);
    const before = readCpuMs(service.pid);
    await pause(10_000);
    return readCpuMs(service.pid) - before;
  } finally {
    await service.stop();
  }
}

/** Uses a new process each time, because the first request of a kind also loads code. */
async function measureRound(bench: Bench, dataDir: string, catalogs: Catalogs): Promise<Map<string, number>> {
  const piecesPath = join(bench.folder, 'longest-piece');
  const service = await startService(dataDir, {
    BENCH_PIECES: piecesPath,
    BENCH_NODE_OPTIONS: `--import ${WATCH}`,
  });
  const read = async () => {
    rmSync(piecesPath, { force: true });
    process.kill(service.pid, 'SIGUSR2');
    while (!existsSync(piecesPath)) await pause(5);
    return Number(readFileSync(piecesPath, 'utf8'));
  };
  try {
    await read();
    const found = new Map<string, number>();
    for (const [name, work] of Object.entries(worksOf(service, catalogs))) {
      await work();
      found.set(name, await read());
    }
    return found;
  } finally {
    await service.stop();
  }
}

const PIPELINE = {
  name: 'Uploads',
  source: { type: 'upload' },
  format: { type: 'csv' },
  mapping: { identifier: 'id', name: 'title' },
  mode: 'incremental',
  trigger: { type: 'manual' },
};

const RELATION = {
  name: 'Goes with',
  tag: 'with',
  source: { all: [] },
  target: { all: [] },
  match: [{ source: 'Text 1', operator: 'equals', target: 'Text 1' }],
};

let sent = 0;

function worksOf(
  service: BenchService,
  { reported, long }: Catalogs,
): Readonly<Record<string, () => Promise<unknown>>> {
  const root = (projectId: number) => `/management/projects/${projectId}`;
  const get = async (path: string) => {
    const { status, text } = await service.call('GET', path);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${text.slice(0, 500)}`);
  };
  const write = async (step: string, body?: Buffer) =>
    service.succeed<{ data: TaskAnswer }>('POST', `/products/batch/${step}?projectId=${reported}`, body);
  let committed = '';
  sent += 1;
  return {
    'after the start': () => pause(3_000),
    'an upload with a report of 100,000 lines': async () => {
      await write('initiate');
      await write('upload', DRILLS(sent));
    },
    'a preview of the full update': () => write('preview'),
    'its commit': async () => {
      committed = (await write('start')).data.task.id;
      await waitUntilFinished(service, committed);
    },
    'its report': () => get(`/tasks/${committed}/report`),
    'a lookup of long values': () =>
      get(
        `/product-service/products-by-sku?projectId=${long}&identifiers=${encodeURIComponent(JSON.stringify(LONG.map(({ identifier }) => identifier)))}`,
      ),
    'a list of long values': () => get(`${root(long)}/products?limit=100`),
    'an export of long values': () => get(`${root(long)}/products?format=ndjson`),
    'a search of long values': () => get(`/search?projectId=${long}&query=long`),
    'a preview of a relation': () => service.succeed('POST', `${root(long)}/relations/preview`, RELATION),
    'the coverage of an ontology': () => get(`${root(reported)}/ontology/coverage`),
    suggestions: () => get(`${root(long)}/suggestions`),
    'a pipeline': () => service.succeed('POST', `${root(long)}/pipelines`, { ...PIPELINE, name: `${sent}` }),
    'a list of projects': () => get('/projects'),
    statistics: () => get('/management/statistics'),
    'a list of tasks': () => get(`/tasks?projectId=${reported}&limit=1000`),
    'the audit log': () => get('/management/audit-log?limit=1000'),
    metrics: () => get('/metrics'),
    'the console and the documentation': async () => {
      await get('/console/');
      await get('/docs/api');
      await get('/openapi.json');
    },
  };
}
