/**
 * `npm run bench`: measures the service's promises and records the results. `npm run bench -- NAME…` runs only the
 * named measurements (`postgres`: all of `postgres-…`). `--quick` uses small sizes to check that everything runs.
 * `--keep` also records the results of such runs, next to those of the day. The program ends with status 1 if `hostile`
 * misses a target. TMPDIR must be on the disk to be measured. BENCH_NODE_OPTIONS are Node options for the service, such
 * as `--cpu-prof --cpu-prof-dir=/tmp/profiles`. BENCH_OPEN_FILES is its limit of open descriptors.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { channels } from './channels/channels.ts';
import { views } from './console/views.ts';
import { besideUploads } from './ingest/beside-uploads.ts';
import { commit } from './ingest/commit.ts';
import { ingest } from './ingest/ingest.ts';
import { memory } from './ingest/memory.ts';
import { partial } from './ingest/partial.ts';
import { push } from './ingest/push.ts';
import { repeat } from './ingest/repeat.ts';
import { scan } from './ingest/scan.ts';
import { growth } from './lookup/growth.ts';
import { lists } from './lookup/lists.ts';
import { lookup } from './lookup/lookup.ts';
import { pipelines } from './pipelines/pipelines.ts';
import { histories } from './postgres/histories.ts';
import { hungProcess } from './postgres/hung-process.ts';
import { postgresIngest } from './postgres/postgres-ingest.ts';
import { postgresLookup } from './postgres/postgres-lookup.ts';
import { postgresMillion } from './postgres/postgres-million.ts';
import { postgresProcesses } from './postgres/postgres-processes.ts';
import { postgresRelations } from './postgres/postgres-relations.ts';
import { elements } from './relations/elements.ts';
import { fit } from './relations/fit.ts';
import { previews } from './relations/previews.ts';
import { relations } from './relations/relations.ts';
import { search } from './search/search.ts';
import { shopSearch } from './search/shop-search.ts';
import { backup } from './service/backup.ts';
import { crashes } from './service/crashes.ts';
import { hostile } from './service/hostile.ts';
import { servingThread } from './service/serving-thread.ts';
import { soak } from './service/soak.ts';
import { suggestions } from './suggestions/suggestions.ts';
import { describeMachine } from './support/machine.ts';
import { watchOthers } from './support/machine-load.ts';
import {
  type Bench,
  describeFigure,
  type Figure,
  isMet,
  judge,
  type Measurement,
  type Sizes,
} from './support/measurement.ts';
import {
  describeResults,
  describeTable,
  type MeasuredFigures,
  type Results,
} from './support/results-page.ts';
import { type BenchService, startService } from './support/service.ts';

const MEASUREMENTS: readonly Measurement[] = [
  ingest,
  repeat,
  scan,
  lookup,
  besideUploads,
  memory,
  push,
  commit,
  partial,
  growth,
  lists,
  relations,
  previews,
  fit,
  elements,
  pipelines,
  channels,
  search,
  shopSearch,
  suggestions,
  views,
  servingThread,
  hostile,
  soak,
  crashes,
  backup,
  postgresIngest,
  postgresLookup,
  postgresRelations,
  postgresProcesses,
  postgresMillion,
  hungProcess,
  histories,
];

const FULL: Sizes = { synthetic: 200_000, million: 1_000_000, rounds: 3, seconds: 4 };
const QUICK: Sizes = { synthetic: 20_000, million: 40_000, rounds: 1, seconds: 1 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, keep: { type: 'boolean', default: false } },
});

const chosen = positionals.flatMap((name) => {
  const found = MEASUREMENTS.filter((one) => one.name === name || one.name.startsWith(`${name}-`));
  if (found.length > 0) return found;
  throw new Error(`no measurement ${name}; there are ${MEASUREMENTS.map((one) => one.name).join(', ')}`);
});

const folder = mkdtempSync(join(tmpdir(), 'relata-bench-'));
const stops: (() => Promise<void>)[] = [];
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void cleanUp().then(() => process.exit(1)));
}
try {
  await measureAll(openBench(values.quick ? QUICK : FULL), chosen.length > 0 ? chosen : MEASUREMENTS);
} finally {
  await cleanUp();
}

/** If the bench is killed, services survive and their folders take gigabytes. */
async function cleanUp(): Promise<void> {
  for (const stop of stops.reverse()) await stop();
  rmSync(folder, { recursive: true, force: true });
}

function openBench(sizes: Sizes): Bench {
  const shared = new Map<string, Promise<unknown>>();
  const started = performance.now();
  return {
    sizes,
    folder,
    share<Result>(name: string, make: () => Promise<Result>): Promise<Result> {
      const known = shared.get(name) ?? make();
      shared.set(name, known);
      return known as Promise<Result>;
    },
    async startService(name, settings): Promise<BenchService> {
      const dataDir = mkdtempSync(join(folder, `${name}-`));
      const service = await startService(dataDir, settings);
      let isRunning = true;
      const stop = async () => {
        if (!isRunning) return;
        isRunning = false;
        await service.stop();
        rmSync(dataDir, { recursive: true, force: true });
      };
      stops.push(stop);
      return { ...service, stop };
    },
    stopAtEnd: (stop) => void stops.unshift(stop),
    say: (text) => console.error(`${Math.round((performance.now() - started) / 1_000)} s  ${text}`),
  };
}

async function measureAll(bench: Bench, measurements: readonly Measurement[]): Promise<void> {
  const machine = describeMachine();
  const measured: MeasuredFigures[] = [];
  for (const { name, title, failsIfMissed, describeConditions, measure } of measurements) {
    const start = performance.now();
    const measuredAt = new Date().toISOString();
    const others = watchOthers();
    const figures = await measure(bench);
    const seconds = (performance.now() - start) / 1_000;
    const conditions = await describeConditions?.(bench);
    const one = {
      name,
      title,
      measuredAt,
      figures,
      seconds,
      others: others(),
      ...(conditions && { conditions }),
    };
    measured.push(one);
    console.log(describeTable(one));
    if (failsIfMissed) reportMissed(figures);
  }
  writeResults({ machine, isQuick: values.quick, measured });
}

/** Names the figures that miss their targets, which ends the program with status 1. */
function reportMissed(figures: readonly Figure[]): void {
  const missed = figures.filter((one) => isMet(one) === false);
  if (missed.length === 0) return;
  for (const one of missed) console.error(`missed: ${one.name}: ${describeFigure(one)}, ${judge(one)}`);
  process.exitCode = 1;
}

/** Partial runs and small sizes say nothing about the service. They are shown, and recorded only on request. */
function writeResults(found: Results): void {
  const isWhole = !found.isQuick && found.measured.length === MEASUREMENTS.length;
  if (!isWhole && !values.keep) return;
  const path = join(import.meta.dirname, 'results.json');
  const whole = isWhole ? found : joinResults(path, found);
  writeFileSync(path, `${JSON.stringify(whole, null, 2)}\n`);
  writeFileSync(join(import.meta.dirname, 'RESULTS.md'), describeResults(whole));
}

/** New results replace earlier ones of the same measurements. Other results stay. */
function joinResults(path: string, found: Results): Results {
  if (!existsSync(path)) return found;
  const { measured } = JSON.parse(readFileSync(path, 'utf8')) as Results;
  const names = new Set(found.measured.map(({ name }) => name));
  const order = MEASUREMENTS.map(({ name }) => name);
  const joined = [...measured.filter(({ name }) => !names.has(name)), ...found.measured];
  return { ...found, measured: joined.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name)) };
}
