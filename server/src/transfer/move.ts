import { hash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { dataFolderAt, lockDataFolder, makeFolders } from '../storage/folder/folder.ts';
import { refuseNewerFiles } from '../storage/migrations/migrations.ts';
import { migratePostgres } from '../storage/postgres/postgres.ts';
import { SERVICE } from '../storage/programs/programs.ts';
import { unfinished } from '../storage/storage.ts';
import { openEmbeddedDriver } from './move-embedded.ts';
import type { Counters, MovedPayload, MoveEnd, Progress, Unit, UnitSize } from './move-end.ts';
import { createMoveEnd } from './move-end.ts';
import { createPostgresDriver, hidePassword, openMoved, refuseServed } from './move-postgres.ts';
import { describeMove, packRow } from './move-tables.ts';

/**
 * Moves a store from a data folder to PostgreSQL or back: everything, ids included. It can be interrupted at
 * any moment and run again: the progress is written to the target in the transaction that brings the rows.
 * Until both are compared the target is marked, and no service uses it.
 */

export interface MoveOptions {
  /** A data folder and the URL of a PostgreSQL database, in either order. */
  readonly from: string;
  readonly to: string;
  /** Moves even if PostgreSQL seems to be served, e.g. by a process that was killed just now. */
  readonly isForced?: boolean;
  readonly onProgress?: (progress: MoveProgress) => void;
}

/**
 * @returns how much was moved; `differences` is empty when both stores are the same, otherwise the target stays marked
 * @throws Error when the source is served or empty, or the target holds something else, each with what to do
 * @throws not_ready when the database becomes unreachable meanwhile
 */
export async function moveStore({ onProgress = () => {}, ...options }: MoveOptions) {
  const ends = await openEnds(options);
  try {
    const { source, target } = ends;
    const identity = await identify(source);
    const found = { units: await measure(source, onProgress), payloads: await source.listPayloads() };
    const state = await enterTarget(target, identity);
    if (state === 'begun') await copyAll(ends, found, onProgress);
    const differences = state === 'compared' ? [] : await compareAll(ends, found, onProgress);
    if (state === 'ended' && differences.length > 0) throw filled(target, differences[0]);
    if (state !== 'ended' && differences.length === 0) await target.endMove();
    const ofCatalogs = found.units.filter(({ table }) => table.isOfCatalog);
    return {
      catalogs: new Set(ofCatalogs.map(({ projectId }) => projectId)).size,
      rows: found.units.reduce((sum, { rows }) => sum + rows, 0),
      payloads: found.payloads.length,
      differences,
    };
  } finally {
    await ends.close();
  }
}

interface Found {
  readonly units: readonly UnitSize[];
  readonly payloads: readonly MovedPayload[];
}

type Report = (progress: MoveProgress) => void;

async function measure(end: MoveEnd, onProgress: Report): Promise<UnitSize[]> {
  onProgress({ phase: 'counting', place: end.name, rows: 0, allRows: 0, done: 0, doneBefore: 0 });
  return end.measure();
}

async function copyAll(ends: Ends, found: Found, onProgress: Report): Promise<void> {
  const { source, target } = ends;
  const meter = createMeter('copying', found, onProgress);
  for (const unit of found.units) await copyUnit(ends, unit, meter);
  const present = new Set((await target.listPayloads()).map(({ name }) => name));
  for (const payload of found.payloads) {
    // A body is there completely or not at all.
    if (!present.has(payload.name)) await target.writePayload(payload, await source.readPayload(payload));
    meter.addBody(payload.bytes);
  }
  await target.writeCounters(await source.readCounters());
  await target.settle();
}

async function copyUnit({ source, target }: Ends, unit: UnitSize, meter: MoveMeter): Promise<void> {
  let before = await target.findProgress(unit);
  meter.skipRows(unit, before?.rows ?? 0);
  while (!before?.isDone) {
    const page = await source.read(unit, before?.place);
    const rows = (before?.rows ?? 0) + (page?.rows.length ?? 0);
    const isDone = page === undefined || rows >= unit.rows;
    const after: Progress = { rows, place: page?.end ?? before?.place, isDone };
    await target.write(unit, page?.rows ?? [], { before, after });
    meter.addRows(unit, page?.rows.length ?? 0);
    before = after;
  }
  if (before.rows !== unit.rows)
    throw new Error(
      `${source.name} was changed since the move began (${describeUnit(unit)}): empty ${target.name} and begin again`,
    );
}

async function identify(source: MoveEnd): Promise<string> {
  if ((await source.findMove()) !== undefined) throw unfinished(source.name);
  const identity = await source.readIdentity();
  if (identity === undefined) throw new Error(`${source.name} holds nothing that could be moved`);
  return identity;
}

/** @returns `compared`: only the end is missing; `ended`: no trace of a move is left, the target holds the same store */
async function enterTarget(target: MoveEnd, identity: string) {
  const move = await target.findMove();
  if (move !== undefined) {
    if (move.identity !== identity)
      throw new Error(`${target.name} is the target of another move: name that source, or an empty target`);
    return move.isCompared ? 'compared' : 'begun';
  }
  // A process that was killed right after the move had ended could not report it.
  if ((await target.readIdentity()) === identity) return 'ended';
  const [unit] = await target.measure();
  if (unit !== undefined) throw filled(target, `${describeUnit(unit)}: ${unit.rows} rows`);
  await target.beginMove(identity);
  return 'begun';
}

const filled = (target: MoveEnd, what: string | undefined): Error =>
  new Error(`${target.name} is not empty, name an empty one (${what})`);

type Ends = Awaited<ReturnType<typeof openEnds>>;

const isUrl = (place: string) => /^postgres(?:ql)?:\/\//.test(place);

async function openEnds({ from, to, isForced = false }: MoveOptions) {
  if (isUrl(from) === isUrl(to)) {
    throw new Error(
      'A store is moved from a data directory to postgres://… or back; for copies see relata backup and pg_dump',
    );
  }
  const isFromPostgres = isUrl(from);
  const folder = dataFolderAt(resolve(isFromPostgres ? to : from));
  const url = isFromPostgres ? from : to;
  const name = hidePassword(url);
  if (!isFromPostgres && !existsSync(folder.control))
    throw new Error(`${folder.root} is no data directory: no control.db is there`);
  const postgres = openMoved(url);
  const opened: { close(): unknown }[] = [postgres];
  const close = async () => {
    for (const part of opened.splice(0).reverse()) await part.close();
  };
  /** @throws Error when PostgreSQL is served by now */
  const refuseService = async () => (isForced ? undefined : refuseServed(postgres, name));
  try {
    if (isFromPostgres) {
      // A source is never created.
      const [row] = await postgres.rows<{ name: unknown }>("select to_regclass('service')::text as name");
      if (!row?.name) throw new Error(`${name} holds nothing that could be moved`);
      refuseForeign(folder.root);
    }
    opened.push(lockDataFolder(folder.root));
    refuseNewerFiles(folder);
    await migratePostgres(postgres);
    await refuseService();
    const tables = await describeMove(postgres);
    const embedded = createMoveEnd(openEmbeddedDriver(folder), tables);
    opened.push(embedded);
    const shared = createMoveEnd(createPostgresDriver(postgres, name), tables);
    const [source, target] = isFromPostgres ? [shared, embedded] : [embedded, shared];
    return { source, target, refuseServed: refuseService, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Refuses a data folder that holds something else, e.g. because of a wrong path. */
function refuseForeign(root: string): void {
  makeFolders(root);
  const others = readdirSync(root).filter(
    (name) => !/^(control\.db|server\.lock|catalogs$|payloads$)/.test(name),
  );
  if (others.length > 0) throw new Error(`${root} is not empty: ${others.join(', ')}`);
}

/**
 * Reads both stores again in full, and compares the counts and hashes of each table of each catalog, the
 * bodies, and the next numbers. @returns the differences, a sentence each
 */
async function compareAll(ends: Ends, found: Found, onProgress: Report): Promise<string[]> {
  const { source, target } = ends;
  const surplus = new Map((await measure(target, onProgress)).map((unit) => [describeUnit(unit), unit]));
  const meter = createMeter('comparing', found, onProgress);
  const differences: string[] = [];
  for (const unit of found.units) {
    const name = describeUnit(unit);
    surplus.delete(name);
    const [expected, present] = [await digest(source, unit, meter), await digest(target, unit, meter)];
    if (expected.rows !== present.rows)
      differences.push(`${name}: ${expected.rows} rows in ${source.name}, ${present.rows} in ${target.name}`);
    else if (expected.sum !== present.sum) differences.push(`${name}: the ${present.rows} rows differ`);
  }
  for (const [name, { rows }] of surplus)
    differences.push(`${name}: ${rows} rows in ${target.name} that ${source.name} does not have`);
  differences.push(...compareCounters(await source.readCounters(), await target.readCounters()));
  differences.push(...(await comparePayloads(ends, found, meter)));
  // A process may have started on PostgreSQL after the first check; nothing prevents it.
  await ends.refuseServed();
  return differences;
}

/**
 * A hash of rows that does not depend on their order, as collations and engines may sort differently: the sum of the
 * SHA-256 of each row. Text and bytes count as the same bytes.
 */
async function digest(end: MoveEnd, unit: UnitSize, meter: MoveMeter) {
  const sum = new BigUint64Array(4);
  let rows = 0;
  for (let page = await end.read(unit, undefined); page; page = await end.read(unit, page.end)) {
    for (const row of page.rows) {
      const lanes = hash('sha256', packRow(row, unit.table.columns), 'buffer');
      // The typed array wraps around by itself.
      for (const lane of sum.keys()) sum[lane] = (sum[lane] ?? 0n) + lanes.readBigUInt64BE(lane * 8);
    }
    rows += page.rows.length;
    meter.addRows(unit, page.rows.length);
  }
  return { rows, sum: sum.join() };
}

function compareCounters(source: Counters, target: Counters): string[] {
  return [...new Set([...source.keys(), ...target.keys()])].flatMap((table) => {
    const [expected, present] = [source.get(table) ?? 0, target.get(table) ?? 0];
    return expected === present ? [] : [`${table}: the last number given is ${expected}, not ${present}`];
  });
}

async function comparePayloads({ source, target }: Ends, { payloads }: Found, meter: MoveMeter) {
  const differences: string[] = [];
  const surplus = new Set((await target.listPayloads()).map(({ name }) => name));
  for (const payload of payloads) {
    const { name, projectId, bytes } = payload;
    const isThere = surplus.delete(name);
    const digestOf = async (end: MoveEnd) => hash('sha256', await end.readPayload(payload));
    if (!isThere || (await digestOf(source)) !== (await digestOf(target)))
      differences.push(`project ${projectId}, the body ${name} of an open task is missing or differs`);
    meter.addBody(2 * bytes);
  }
  for (const name of surplus) differences.push(`the body ${name} is in ${target.name} only`);
  return differences;
}

export interface MoveProgress {
  readonly phase: 'counting' | 'copying' | 'comparing';
  /** e.g. `project 3, document` */
  readonly place: string;
  readonly rows: number;
  readonly allRows: number;
  /** From 0 to 1, by bytes, since a product is many times as large as a task. */
  readonly done: number;
  /** The part of `done` that an earlier run did. */
  readonly doneBefore: number;
}

function describeUnit({ projectId, table }: Unit): string {
  return projectId === SERVICE ? table.name : `project ${projectId}, ${table.name}`;
}

type MoveMeter = ReturnType<typeof createMeter>;

/** Adds up the work done in one phase. */
export function createMeter(phase: 'copying' | 'comparing', { units, payloads }: Found, report: Report) {
  // Comparing reads both stores.
  const times = phase === 'comparing' ? 2 : 1;
  const bodyBytes = payloads.reduce((sum, { bytes }) => sum + bytes, 0);
  const allRows = times * units.reduce((sum, { rows }) => sum + rows, 0);
  const allWork = times * (bodyBytes + units.reduce((sum, unit) => sum + workOf(unit), 0));
  let [rows, work, workBefore] = [0, 0, 0];

  function show(place: string): void {
    // Summed over many tables, rounding leaves it just below the whole.
    const part = (some: number) => (some >= allWork * (1 - 1e-9) ? 1 : some / allWork);
    report({ phase, place, rows, allRows, done: part(work), doneBefore: part(workBefore) });
  }

  function addRows(unit: UnitSize, added: number): void {
    rows += added;
    work += (workOf(unit) * added) / Math.max(unit.rows, 1);
    show(describeUnit(unit));
  }

  show('');
  return {
    addRows,
    /** Skips rows that an earlier run copied. */
    skipRows(unit: UnitSize, skipped: number): void {
      const before = work;
      addRows(unit, skipped);
      workBefore += work - before;
    },
    addBody(bytes: number): void {
      work += bytes;
      show('bodies of open tasks');
    },
  };
}

const workOf = ({ rows, bytes }: UnitSize): number => bytes + rows * ROW_COST_BYTES;

/**
 * What a row costs besides its bytes, expressed in bytes, to estimate the time left. Measured on 2 cores: a
 * document of 3 KB takes 50 µs, a member of a relation of 170 bytes 28 µs, a product of 90 bytes 17 µs.
 */
const ROW_COST_BYTES = 1_500;
