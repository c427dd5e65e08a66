import { availableParallelism } from 'node:os';
import { openSyntheticCatalog } from '../support/catalogs.ts';
import { type Child, startChild } from '../support/child-process.ts';
import type { LoadOrder, LoadResult } from '../support/lookup-load.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import type { Settings } from '../support/service.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { MEMORIES, prepareOrder, warmUp } from './postgres-lookup.ts';
import { describePostgres } from './postgres-server.ts';
import { type Cpu, openPostgres, type PostgresBenchStore, perPiece } from './postgres-stores.ts';

/** One core per process and per load generator, and as many for PostgreSQL. */
const CORES_TO_SPARE = 8;
const LEAST_SPEED_UP = 1.6;

/** The gain in throughput that a second process on the same database brings. */
export const postgresProcesses: Measurement = {
  name: 'postgres-processes',
  title: 'PostgreSQL: lookups of 100 by two processes on one database, 8 connections to each',
  describeConditions: describePostgres,
  async measure(bench: Bench): Promise<Figure[]> {
    const figures: Figure[] = [];
    for (const { title, settings } of MEMORIES) {
      figures.push(...toFigures(title, await measureMemory(bench, settings)));
    }
    return figures;
  },
};

interface Carried {
  readonly perSecond: number;
  /** All processes, per request. */
  readonly cpu: Cpu;
}

interface Round {
  readonly one: Carried;
  readonly two: Carried;
}

async function measureMemory(bench: Bench, settings: Settings): Promise<Round[]> {
  const store = await openPostgres(bench, 'processes', settings);
  const loads = [startChild('lookup-load.ts'), startChild('lookup-load.ts')];
  try {
    const catalog = await openSyntheticCatalog(bench);
    bench.say(`${catalog.name}: loading for two processes`);
    const first = await prepareOrder(store, catalog);
    const second = { ...first, address: (await store.startProcess()).address };
    const orders = [first, second].map((order) => ({ ...order, seconds: bench.sizes.seconds }));
    for (const [at, load] of loads.entries()) await warmUp(load, at === 0 ? first : second);
    const rounds: Round[] = [];
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      bench.say(`lookups of one process and of two, round ${at}`);
      const one = await carry(store, loads.slice(0, 1), orders);
      rounds.push({ one, two: await carry(store, loads, orders) });
    }
    return rounds;
  } finally {
    for (const load of loads) await load.stop();
    await store.stop();
  }
}

/** Each load generator sends requests to its own process. */
async function carry(
  store: PostgresBenchStore,
  loads: readonly Child[],
  orders: readonly LoadOrder[],
): Promise<Carried> {
  const before = store.readCpu();
  const found = await Promise.all(loads.map((load, at) => load.ask<LoadResult>(orders[at])));
  const requests = found.reduce((sum, one) => sum + one.requests, 0);
  return {
    perSecond: found.reduce((sum, one) => sum + one.perSecond, 0),
    cpu: perPiece(store, before, requests),
  };
}

function toFigures(title: string, rounds: readonly Round[]): Figure[] {
  const hasCores = availableParallelism() >= CORES_TO_SPARE;
  const middle = (of: (one: Round) => number) => round(spreadOf(rounds.map(of)).median);
  const sum = ({ cpu }: Carried) => cpu.service + cpu.database;
  const describe = (which: keyof Round) => {
    const of = (part: keyof Cpu) => middle((one) => one[which].cpu[part]);
    return `${of('service')} + ${of('database')} ms`;
  };
  return [
    {
      name: `${title}: requests/s of two processes, of one`,
      spread: spreadOf(rounds.map(({ one, two }) => two.perSecond / one.perSecond)),
      unit: '×',
      ...(hasCores && { target: { kind: 'at least', value: LEAST_SPEED_UP } }),
      absolute:
        `${middle(({ two }) => two.perSecond)} and ${middle(({ one }) => one.perSecond)} requests/s ` +
        `on ${availableParallelism()} cores${hasCores ? '' : ', which are too few to show it'}`,
    },
    {
      name: `${title}: processor time a request with two processes, of that with one`,
      spread: spreadOf(rounds.map(({ one, two }) => sum(two) / sum(one))),
      unit: '×',
      // Twice the processors give 1.6 times the throughput if a request takes at most this much more processor time.
      target: { kind: 'at most', value: 2 / LEAST_SPEED_UP },
      absolute: `service + PostgreSQL: ${describe('two')} and ${describe('one')} a request`,
    },
  ];
}
