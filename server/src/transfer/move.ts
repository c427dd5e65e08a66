import { existsSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  dataFolderAt,
  lockDataFolder,
  makeFolders,
  migratePostgres,
  openPostgres,
  type Postgres,
  refuseNewerFiles,
  unfinished,
} from '../storage/storage.ts';
import { type Compared, compareEnds } from './move-comparison.ts';
import { EmbeddedEnd } from './move-embedded.ts';
import type { MovedPayload, MoveEnd, Progress, UnitSize } from './move-ends.ts';
import { describeMove } from './move-layout.ts';
import { describeUnit, MoveMeter, type MoveProgress } from './move-meter.ts';
import { createPostgresEnd, MOVE_SESSION, refuseServed } from './move-postgres.ts';

export type { MoveProgress } from './move-meter.ts';

/**
 * Moves a store from a data folder to PostgreSQL or back: everything, ids included. It can be ended at any moment and
 * run again: what is in the target, and up to where, is written there in the transaction that brought the rows. Until
 * both are compared the target is marked, and no service uses it.
 */

export interface MoveOptions {
  /** A data folder and the URL of a PostgreSQL database, in either order. */
  readonly from: string;
  readonly to: string;
  /** Do not look whether PostgreSQL is served. */
  readonly isForced?: boolean;
  readonly onProgress?: (progress: MoveProgress) => void;
}

export interface MoveSummary {
  readonly catalogs: number;
  readonly rows: number;
  readonly payloads: number;
  /** Empty when both stores are the same; otherwise the target stays marked. */
  readonly differences: readonly string[];
}

/**
 * @throws Error when the source is served or empty, or the target holds something else, each with what to do
 * @throws not_ready when the database goes away meanwhile
 */
export async function moveStore({ onProgress = () => {}, ...options }: MoveOptions): Promise<MoveSummary> {
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
    return { ...summarise(found), differences };
  } finally {
    await ends.close();
  }
}

type Found = Omit<Compared, 'targetUnits'>;

/** A project at a time: its file stays open. */
async function measure(end: MoveEnd, onProgress: Report): Promise<UnitSize[]> {
  onProgress({ phase: 'counting', place: end.name, rows: 0, allRows: 0, done: 0, doneBefore: 0 });
  return (await end.measure()).toSorted((one, other) => one.projectId - other.projectId);
}

function summarise({ units, payloads }: Found): Omit<MoveSummary, 'differences'> {
  const catalogs = new Set(units.filter(({ table }) => table.isOfCatalog).map(({ projectId }) => projectId));
  return {
    catalogs: catalogs.size,
    rows: units.reduce((sum, { rows }) => sum + rows, 0),
    payloads: payloads.length,
  };
}

type Report = (progress: MoveProgress) => void;

const sizeOf = ({ units, payloads }: Found) => ({
  units,
  bodyBytes: payloads.reduce((sum, { bytes }) => sum + bytes, 0),
});

async function copyAll({ source, target }: Ends, found: Found, onProgress: Report): Promise<void> {
  const meter = new MoveMeter('copying', sizeOf(found), onProgress);
  for (const unit of found.units) await copyUnit({ source, target }, unit, meter);
  await copyPayloads({ source, target }, found.payloads, meter);
  await target.writeCounters(await source.readCounters());
  await target.settle();
}

async function compareAll(ends: Ends, found: Found, onProgress: Report): Promise<string[]> {
  const targetUnits = await measure(ends.target, onProgress);
  const meter = new MoveMeter('comparing', { ...sizeOf(found), times: 2 }, onProgress);
  const differences = await compareEnds(ends, { ...found, targetUnits }, meter);
  // Nothing keeps a process out that starts on PostgreSQL after the first look.
  await ends.refuseServed();
  return differences;
}

async function copyUnit(
  { source, target }: { source: MoveEnd; target: MoveEnd },
  unit: UnitSize,
  meter: MoveMeter,
): Promise<void> {
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

/** A body is there whole or not at all. */
async function copyPayloads(
  { source, target }: { source: MoveEnd; target: MoveEnd },
  payloads: readonly MovedPayload[],
  meter: MoveMeter,
): Promise<void> {
  const present = new Set((await target.listPayloads()).map(({ name }) => name));
  for (const payload of payloads) {
    if (!present.has(payload.name)) await target.writePayload(payload, await source.readPayload(payload));
    meter.addBody(payload.bytes);
  }
}

async function identify(source: MoveEnd): Promise<string> {
  if ((await source.findMove()) !== undefined) throw unfinished(source.name);
  const identity = await source.readIdentity();
  if (identity === undefined) throw new Error(`${source.name} holds nothing that could be moved`);
  return identity;
}

/** `compared`: only the end is missing. `ended`: there is no trace of a move, and the target holds the same store. */
type MoveState = 'begun' | 'compared' | 'ended';

async function enterTarget(target: MoveEnd, identity: string): Promise<MoveState> {
  const move = await target.findMove();
  if (move !== undefined) {
    if (move.identity !== identity)
      throw new Error(`${target.name} is the target of another move: name that source, or an empty target`);
    return move.isCompared ? 'compared' : 'begun';
  }
  // A process that is killed once the move has ended could not say so.
  if ((await target.readIdentity()) === identity) return 'ended';
  const [unit] = await target.measure();
  if (unit !== undefined) throw filled(target, `${describeUnit(unit)}: ${unit.rows} rows`);
  await target.beginMove(identity);
  return 'begun';
}

const filled = (target: MoveEnd, what: string | undefined): Error =>
  new Error(`${target.name} is not empty, name an empty one (${what})`);

interface Ends {
  readonly source: MoveEnd;
  readonly target: MoveEnd;
  /** @throws Error when PostgreSQL is served by now */
  refuseServed(): Promise<void>;
  close(): Promise<void>;
}

const isUrl = (place: string) => /^postgres(?:ql)?:\/\//.test(place);

async function openEnds({ from, to, isForced = false }: MoveOptions): Promise<Ends> {
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
  // Unprepared: any proxy takes it, and a statement of a page is parsed in no time beside its page.
  const postgres = openPostgres({ url: nameSession(url), connections: 1, prepares: false });
  const opened: { close(): unknown }[] = [postgres];
  const close = async () => {
    for (const part of opened.splice(0).reverse()) await part.close();
  };
  const lookForService = async () => (isForced ? undefined : refuseServed(postgres, name));
  try {
    if (isFromPostgres) {
      await refuseStranger(postgres, name);
      refuseForeign(folder.root);
    }
    const lock = lockDataFolder(folder.root);
    opened.push({ close: () => lock.release() });
    refuseNewerFiles(folder);
    await migratePostgres(postgres);
    await lookForService();
    const tables = await describeMove(postgres);
    const embedded = new EmbeddedEnd(folder, tables);
    opened.push(embedded);
    const shared = createPostgresEnd(postgres, { name, tables });
    const [source, target] = isFromPostgres ? [shared, embedded] : [embedded, shared];
    return { source, target, refuseServed: lookForService, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function nameSession(url: string): string {
  const named = new URL(url);
  named.searchParams.set('application_name', MOVE_SESSION);
  return named.href;
}

function hidePassword(url: string): string {
  const shown = new URL(url);
  shown.password = '';
  shown.search = '';
  return shown.href;
}

/** A source is never made. */
async function refuseStranger(postgres: Postgres, name: string): Promise<void> {
  const [row] = await postgres.rows<{ name: string | null }>("select to_regclass('service')::text as name");
  if (!row?.name) throw new Error(`${name} holds nothing that could be moved`);
}

/** A data folder that holds something else, e.g. by a wrong path. */
function refuseForeign(root: string): void {
  makeFolders(root);
  const others = readdirSync(root).filter(
    (name) => !/^(control\.db|server\.lock|catalogs$|payloads$)/.test(name),
  );
  if (others.length > 0) throw new Error(`${root} is not empty: ${others.join(', ')}`);
}
