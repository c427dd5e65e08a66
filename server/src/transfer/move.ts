import { existsSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { dataFolderAt, lockDataFolder, makeFolders } from '../storage/folder/folder.ts';
import { refuseNewerFiles } from '../storage/migrations/migrations.ts';
import { migratePostgres } from '../storage/postgres/postgres.ts';
import { unfinished } from '../storage/storage.ts';
import { compareAll } from './move-comparison.ts';
import type { Progress, UnitSize } from './move-driver.ts';
import { openEmbeddedDriver } from './move-embedded.ts';
import { MoveEnd } from './move-end.ts';
import {
  describeUnit,
  MoveMeter,
  type MoveProgress,
  measureEnd,
  type Report,
  type SourceContent,
} from './move-meter.ts';
import { createPostgresDriver, hidePassword, openMoved, refuseServed } from './move-postgres.ts';
import { describeMove } from './move-tables.ts';

/**
 * Moves a whole store, including its ids, from a data folder to PostgreSQL or back. A move can be interrupted at any
 * moment and run again, because the target stores the progress in the same transaction as the rows. The target stays
 * marked, and no service uses it, until both stores are compared.
 */

export interface MoveOptions {
  /** A data folder and the URL of a PostgreSQL database, in either order. */
  readonly from: string;
  readonly to: string;
  /** Moves even if PostgreSQL seems to be served, for example by a process that was just killed. */
  readonly isForced?: boolean;
  readonly onProgress?: (progress: MoveProgress) => void;
}

/**
 * @returns how much was moved. `differences` is empty if both stores are the same; otherwise the target stays marked.
 * @throws Error if the source is served or empty, or the target has other content, with an instruction
 * @throws not_ready if the database becomes unreachable during the move
 */
export async function moveStore({ onProgress = () => {}, ...options }: MoveOptions) {
  const ends = await openEnds(options);
  try {
    const { source, target } = ends;
    const identity = await identify(source);
    const content = { units: await measureEnd(source, onProgress), payloads: await source.listPayloads() };
    const state = await enterTarget(target, identity);
    if (state === 'begun') await copyAll(ends, content, onProgress);
    const differences = state === 'compared' ? [] : await compareAll(ends, content, onProgress);
    if (state === 'ended' && differences.length > 0) throw filled(target, differences[0]);
    if (state !== 'ended' && differences.length === 0) await target.endMove();
    const ofCatalogs = content.units.filter(({ table }) => table.isOfCatalog);
    return {
      catalogs: new Set(ofCatalogs.map(({ projectId }) => projectId)).size,
      rows: content.units.reduce((sum, { rows }) => sum + rows, 0),
      payloads: content.payloads.length,
      differences,
    };
  } finally {
    await ends.close();
  }
}

async function copyAll(ends: Ends, content: SourceContent, onProgress: Report): Promise<void> {
  const { source, target } = ends;
  const meter = new MoveMeter('copying', content, onProgress);
  for (const unit of content.units) await copyUnit(ends, unit, meter);
  const present = new Set((await target.listPayloads()).map(({ name }) => name));
  for (const payload of content.payloads) {
    // A body is always stored completely or not at all.
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
    const page = await source.read(unit, before?.lastKey);
    const rows = (before?.rows ?? 0) + (page?.rows.length ?? 0);
    const isDone = page === undefined || rows >= unit.rows;
    const after: Progress = { rows, lastKey: page?.end ?? before?.lastKey, isDone };
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
  if (identity === undefined) throw new Error(`${source.name} has no store to move`);
  return identity;
}

/** @returns `compared` if only the end is missing; `ended` if the target has the same store and no trace of a move */
async function enterTarget(target: MoveEnd, identity: string) {
  const move = await target.findMove();
  if (move !== undefined) {
    if (move.identity !== identity)
      throw new Error(`${target.name} is the target of another move: name that source, or an empty target`);
    return move.isCompared ? 'compared' : 'begun';
  }
  // An earlier run was killed after it had ended the move and before it could report that.
  if ((await target.readIdentity()) === identity) return 'ended';
  const [unit] = await target.measure();
  if (unit !== undefined) throw filled(target, `${describeUnit(unit)}: ${unit.rows} rows`);
  await target.beginMove(identity);
  return 'begun';
}

const filled = (target: MoveEnd, reason: string | undefined): Error =>
  new Error(`${target.name} is not empty (${reason}): name an empty target`);

type Ends = Awaited<ReturnType<typeof openEnds>>;

const isUrl = (store: string) => /^postgres(?:ql)?:\/\//.test(store);

async function openEnds({ from, to, isForced = false }: MoveOptions) {
  if (isUrl(from) === isUrl(to)) {
    throw new Error(
      'A move needs a data directory and a postgres://… URL, in either order; for copies see relata backup and pg_dump',
    );
  }
  const isFromPostgres = isUrl(from);
  const folder = dataFolderAt(resolve(isFromPostgres ? to : from));
  const url = isFromPostgres ? from : to;
  const name = hidePassword(url);
  if (!isFromPostgres && !existsSync(folder.control))
    throw new Error(`${folder.root} is not a data directory: it has no control.db`);
  const postgres = openMoved(url);
  const opened: { close(): unknown }[] = [postgres];
  const close = async () => {
    for (const part of opened.splice(0).reverse()) await part.close();
  };
  /** @throws Error if a process now serves PostgreSQL */
  const refuseService = async () => (isForced ? undefined : refuseServed(postgres, name));
  try {
    if (isFromPostgres) {
      // A source without tables is refused and not created.
      const [row] = await postgres.rows<{ name: unknown }>("select to_regclass('service')::text as name");
      if (!row?.name) throw new Error(`${name} has no store to move`);
      refuseForeign(folder.root);
    }
    opened.push(lockDataFolder(folder.root));
    refuseNewerFiles(folder);
    await migratePostgres(postgres);
    await refuseService();
    const tables = await describeMove(postgres);
    const embedded = new MoveEnd(openEmbeddedDriver(folder), tables);
    opened.push(embedded);
    const shared = new MoveEnd(createPostgresDriver(postgres, name), tables);
    const [source, target] = isFromPostgres ? [shared, embedded] : [embedded, shared];
    return { source, target, refuseServed: refuseService, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Refuses a data folder with other files, for example because of a wrong path. */
function refuseForeign(root: string): void {
  makeFolders(root);
  const others = readdirSync(root).filter(
    (name) => !/^(control\.db|server\.lock|catalogs$|payloads$)/.test(name),
  );
  if (others.length > 0) throw new Error(`${root} is not empty: ${others.join(', ')}`);
}
