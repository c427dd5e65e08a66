import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  type BenchStore,
  openEmbedded,
  openPostgres,
  STORES,
  type StoreKind,
} from '../postgres/postgres-stores.ts';
import { startChild } from '../support/child-process.ts';
import type { LoadOrder, LoadResult } from '../support/lookup-load.ts';
import { listPaths, lookupPath } from '../support/lookup-paths.ts';
import type { Bench, Figure } from '../support/measurement.ts';
import { readMemory } from '../support/process-usage.ts';
import { type BenchService, PROGRAM, type Settings } from '../support/service.ts';
import { createClient, runFullUpdate, type ServiceClient } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { describeBatch, FIRST_VERSION, identifierOf } from '../support/synthetic-products.ts';
import {
  Attack,
  type AttackOrder,
  type HostileLoad,
  isPartial,
  type Victim,
  type VictimRequests,
} from './attack.ts';
import { HOSTILE_LOADS } from './hostile-loads.ts';

const TARGETS = { p99Ms: 50, memoryMib: 1_200 };
/** Requests per second of the other account, whether or not answers come. */
export const LOADS = { rate: 50, connections: 4 };
const PRODUCTS = 1_000;
/** A period ends with the load. These are its limits. */
const LONGEST_S = 300;
const LEAST_MS = 3_000;
const IDLE_MS = 30_000;
/** The time counted for a refused request or connection. */
const SHUT_OUT_MS = 60_000;

/**
 * BENCH_LOADS has prefixes of names, separated by commas. `random` means the random requests. BENCH_STORES has stores.
 * Default: all.
 */
const chosen = process.env.BENCH_LOADS?.split(',');
const stores = process.env.BENCH_STORES?.split(',') ?? STORES;
export const isRandomSent = chosen === undefined || chosen.includes('random');
const isChosen = ({ name }: { name: string }) =>
  chosen === undefined || chosen.some((start) => start !== '' && name.startsWith(start));

/** The waits of another account and the memory of the process, during each load, on each store. */
export async function measureBesideLoads(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const load of HOSTILE_LOADS.filter(isChosen)) {
    for (const kind of STORES.filter((one) => stores.includes(one))) {
      bench.say(`${load.name}, ${kind}`);
      const found = await measureLoad(bench, load, kind);
      const [latency, memory, ...others] = toFigures(load, kind, found);
      bench.say(
        `p99 ${round(latency.spread.median)} ms (${latency.absolute}); ${round(memory.spread.median)} MiB (${memory.absolute})`,
      );
      for (const one of others)
        bench.say(`${one.name}: ${round(one.spread.median)} ${one.unit} (${one.absolute})`);
      figures.push(latency, memory, ...others);
    }
  }
  return figures;
}

type Period = Pick<LoadResult, 'p99' | 'longest' | 'requests'> & { readonly fault?: string };

interface Found {
  readonly before: Period;
  readonly during: Period;
  readonly memory: Readonly<Record<'before' | 'peak' | 'after', number>>;
  readonly outcomes: string;
  /** What the load measured itself. */
  readonly figures: readonly Figure[];
}

async function measureLoad(bench: Bench, load: HostileLoad, kind: StoreKind): Promise<Found> {
  const open = kind === 'postgres' ? openPostgres : openEmbedded;
  const store = await open(bench, `hostile-${load.name}`, load.settings ?? {});
  const victim = await createVictim(store);
  const attack = await createAttack(store.service, {
    seconds: bench.sizes.seconds * 3,
    million: bench.sizes.million,
    victim,
  });
  const order = await describeRequests(store, victim, load.victim ?? 'lookup');
  try {
    await load.prepare?.(attack);
    await store.waitUntilQuiet();
    const before = await askDuring(order, () => pause(LEAST_MS));
    const { pid } = store.service;
    // Resets the kernel's peak.
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    const memory = readMemory(pid).presentMib;
    await load.begin?.(attack);
    const least = pause(LEAST_MS);
    const during = await askDuring(order, async () => {
      await attack.during(load.run(attack));
      await least;
    });
    const outcomes = attack.describe();
    attack.stop();
    await pause(IDLE_MS);
    const { peakMib, presentMib } = readMemory(pid);
    const { figures } = attack;
    return {
      before,
      during,
      memory: { before: memory, peak: peakMib, after: presentMib },
      outcomes,
      figures,
    };
  } finally {
    attack.stop();
    victim.client.close();
    await store.stop();
  }
}

async function createAttack(
  service: BenchService,
  order: Pick<AttackOrder, 'seconds' | 'million' | 'victim'>,
): Promise<Attack> {
  const projectId = await service.createProject('Attacker');
  const reading = { name: 'Reads', scope: { type: 'account' }, access: 'read' };
  const { key } = await service.succeed<{ key: string }>('POST', '/management/api-keys', reading);
  return new Attack(service, { ...order, projectId, readKey: key });
}

const SEARCHES = ['red lamps', 'blue drills', 'brandwerk oak', 'model 17', 'steel chairs', '99 saws'];

interface KeyedVictim extends Victim {
  readonly key: string;
}

/** An account with a small catalog. */
async function createVictim({ service, waitUntilQuiet, settings }: BenchStore): Promise<KeyedVictim> {
  const key = await createAccount(settings);
  const client = createClient(service.address, key);
  const projectId = await createProject(client);
  await runFullUpdate(client, projectId, {
    bodies: [describeBatch({ from: 0, count: PRODUCTS, ...FIRST_VERSION })],
  });
  await waitUntilQuiet();
  return { key, client, projectId };
}

/** @returns requests that the account sends continuously */
async function describeRequests(
  { service }: BenchStore,
  { key, client, projectId }: KeyedVictim,
  kind: VictimRequests,
): Promise<LoadOrder> {
  const identifiers = Array.from({ length: PRODUCTS }, (_, at) => identifierOf(at));
  const paths =
    kind === 'lookup'
      ? listPaths({ path: lookupPath(projectId), identifiers, perRequest: 1, requests: PRODUCTS })
      : SEARCHES.map((words) => `/search/products?projectId=${projectId}&q=${encodeURIComponent(words)}`);
  // The first search makes the index.
  for (const path of paths) while (isPartial(await client.call('GET', path))) await pause(100);
  return { address: service.address, key, paths, seconds: LONGEST_S, ...LOADS };
}

async function createAccount(settings: Settings): Promise<string> {
  const env = { ...process.env, ...settings };
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, 'account', 'create', 'Victim'], {
    env,
  });
  return stdout.trim();
}

async function createProject(client: ServiceClient): Promise<number> {
  const group = await client.succeed<{ id: number }>('POST', '/management/project-groups', {
    name: 'Victim',
  });
  const project = { name: 'Victim', projectGroupId: group.id, locale: 'en-GB' };
  return (await client.succeed<{ id: number }>('POST', '/management/projects', project)).id;
}

/** Sends requests during the work, from another process with its own connections. */
async function askDuring(order: LoadOrder, work: () => Promise<void>): Promise<Period> {
  const load = startChild('lookup-load.ts');
  try {
    const asking = load.ask<LoadResult>(order).catch((error: Error) => shutOut(error));
    await Promise.race([asking, pause(100)]);
    await work();
    process.kill(load.pid, 'SIGUSR2');
    return await asking;
  } finally {
    await load.stop();
  }
}

const shutOut = ({ message }: Error): Period => ({
  p99: SHUT_OUT_MS,
  longest: SHUT_OUT_MS,
  requests: 0,
  fault: message.split('\n', 1)[0] ?? '',
});

function toFigures(
  load: HostileLoad,
  kind: StoreKind,
  { before, during, memory, outcomes, figures }: Found,
): [Figure, Figure, ...Figure[]] {
  const { fault, requests, longest } = during;
  const waits = `${round(during.p99 / before.p99)} × the ${round(before.p99)} ms before; longest ${round(longest)} ms of ${requests} requests`;
  return [
    {
      name: `${load.title} (\`${load.name}\`), ${kind}: p99 of another account`,
      spread: spreadOf([during.p99]),
      unit: 'ms',
      target: { kind: 'at most', value: TARGETS.p99Ms },
      absolute: `${fault === undefined ? waits : `shut out: ${fault}`}; sent: ${outcomes}`,
    },
    {
      name: 'the same: resident memory at its peak',
      spread: spreadOf([memory.peak]),
      unit: 'MiB',
      target: { kind: 'at most', value: TARGETS.memoryMib },
      absolute: `${round(memory.before)} MiB before, ${round(memory.after)} after ${IDLE_MS / 1_000} idle seconds`,
    },
    ...figures,
  ];
}
