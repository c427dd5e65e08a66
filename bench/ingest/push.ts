import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createWriteStream, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { PRODUCTS_PER_BATCH, streamBodies } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { readCpuMs, readMemory, waitUntilQuiet } from '../support/process-usage.ts';
import { type BenchService, PROGRAM } from '../support/service.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { describeProduct, FIRST_VERSION } from '../support/synthetic-products.ts';

/** The interval of reading the client's peak memory, which only rises. */
const LOOK_MS = 20;

/** The cost of a push by the command line, compared to the client of the bench with the same products. */
export const push: Measurement = {
  name: 'push',
  title: 'relata push of 1,000,000 products from a gzipped file',
  async measure(bench: Bench): Promise<Figure[]> {
    const { million: count } = bench.sizes;
    bench.say(`writing ${count} products to files`);
    const file = await writePacked(bench.folder, count);
    const bodies = writeBodies(bench.folder, count);
    const service = await bench.startService('push');
    try {
      bench.say('full update by the client of the bench');
      const own = await runOwn(service, bodies);
      await waitUntilQuiet(service.pid);
      bench.say('full update by relata push');
      const pushed = await runPush(service, { file, folder: bench.folder });
      return toFigures(count, own, pushed);
    } finally {
      await service.stop();
      for (const path of [file, bodies.path]) rmSync(path);
    }
  },
};

interface Taken {
  readonly ms: number;
  /** Processor time of the service and of the client. */
  readonly serviceMs: number;
  readonly clientMs: number;
}

interface Pushed extends Taken {
  readonly peakMib: number;
}

async function writePacked(folder: string, count: number): Promise<string> {
  const path = join(folder, 'push.ndjson.gz');
  await pipeline(Readable.from(listLines(count)), createGzip(), createWriteStream(path));
  return path;
}

const LINES_AT_ONCE = 1_000;

function* listLines(count: number): Generator<string> {
  for (let from = 0; from < count; from += LINES_AT_ONCE) {
    const length = Math.min(LINES_AT_ONCE, count - from);
    yield Array.from({ length }, (_, at) => `${describeProduct(from + at, FIRST_VERSION)}\n`).join('');
  }
}

interface StoredBodies {
  readonly path: string;
  readonly lengths: readonly number[];
}

/** Prepared in a file, so that the client of the bench only sends. The products are too large for memory. */
function writeBodies(folder: string, count: number): StoredBodies {
  const path = join(folder, 'push.bodies');
  const file = openSync(path, 'w');
  const lengths = streamBodies(count, FIRST_VERSION).map((body) => writeSync(file, body));
  const stored = { path, lengths: [...lengths] };
  closeSync(file);
  return stored;
}

function* readBodies({ path, lengths }: StoredBodies): Generator<Buffer> {
  const file = openSync(path, 'r');
  for (const length of lengths) {
    const body = Buffer.allocUnsafe(length);
    readSync(file, body);
    yield body;
  }
  closeSync(file);
}

async function runOwn(service: BenchService, bodies: StoredBodies): Promise<Taken> {
  const projectId = await service.createProject('By the bench');
  const before = { service: readCpuMs(service.pid), client: readCpuMs(process.pid) };
  const { totalMs } = await runFullUpdate(service, projectId, { bodies: readBodies(bodies) });
  return {
    ms: totalMs,
    serviceMs: readCpuMs(service.pid) - before.service,
    clientMs: readCpuMs(process.pid) - before.client,
  };
}

interface PushOrder {
  readonly file: string;
  /** The folder in which the client stores its progress. */
  readonly folder: string;
}

/** Includes the start of the program. */
async function runPush(service: BenchService, { file, folder }: PushOrder): Promise<Pushed> {
  const projectId = await service.createProject('By relata push');
  const before = readCpuMs(service.pid);
  const start = performance.now();
  const child = spawn(process.execPath, [PROGRAM, 'push', '--full', '--yes', file], {
    env: {
      ...process.env,
      RELATA_URL: service.address,
      RELATA_API_KEY: service.key,
      RELATA_PROJECT: String(projectId),
      XDG_STATE_HOME: folder,
      XDG_CONFIG_HOME: folder,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let [peakMib, clientMs] = [0, 0];
  const looking = setInterval(() => {
    const found = readMemory(Number(child.pid)).peakMib;
    // A process that has just ended has none.
    if (Number.isNaN(found)) return;
    peakMib = found;
    clientMs = readCpuMs(Number(child.pid));
  }, LOOK_MS);
  const [code] = await once(child, 'exit');
  clearInterval(looking);
  const ms = performance.now() - start;
  if (code !== 0) throw new Error(`relata push ended with ${code}`);
  return { ms, peakMib, clientMs, serviceMs: readCpuMs(service.pid) - before };
}

function toFigures(count: number, own: Taken, pushed: Pushed): Figure[] {
  const rate = ({ ms }: Taken) => round((count / ms) * 1_000);
  const perProduct = (ms: number) => round((ms / count) * 1_000);
  return [
    {
      name: 'greatest resident memory of the client',
      spread: spreadOf([pushed.peakMib]),
      unit: 'MiB',
      target: { kind: 'at most', value: 200 },
      absolute: `${count} products, batches of the bench have ${PRODUCTS_PER_BATCH}`,
    },
    {
      name: 'products/s with start, preview and commit, of the client of the bench',
      spread: spreadOf([own.ms / pushed.ms]),
      unit: '×',
      target: { kind: 'at least', value: 0.9 },
      absolute: `${rate(pushed)} of ${rate(own)} products/s`,
    },
    {
      name: 'processor time of client and service, of the client of the bench',
      spread: spreadOf([(pushed.clientMs + pushed.serviceMs) / (own.clientMs + own.serviceMs)]),
      unit: '×',
      absolute: `client ${perProduct(pushed.clientMs)} and ${perProduct(own.clientMs)} µs a product, service ${perProduct(pushed.serviceMs)} and ${perProduct(own.serviceMs)}`,
    },
  ];
}
