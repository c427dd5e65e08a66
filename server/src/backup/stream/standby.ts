import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lockDataFolder, writeOwnFile } from '../../storage/folder/folder.ts';
import {
  FollowedFiles,
  type LocalState,
  listSent,
  NOTHING_SENT,
  readLocalState,
  writeLocalState,
} from '../files/files.ts';
import { readSpanObject } from '../restore/restore.ts';
import { DamagedObject, openTarget, type TargetSettings } from '../target/target.ts';
import {
  askForHandover,
  findPath,
  type HeldLease,
  handoverOf,
  hourOf,
  LEASE_MS,
  leaseNameOf,
  listLeases,
  listSpans,
  PATIENCE_MS,
  readLease,
  refuseOther,
  type Span,
  spansOf,
  takeLease,
} from '../timeline/timeline.ts';
import { inData } from './failures.ts';
import { noteFailure, STATE, type StreamSettings, type StreamState } from './stream-state.ts';

const POLL_MS = 200;
/** Interval between checks whether the target still holds the same backup. */
const CHECK_MS = 60_000;

/** Where `relata promote` leaves its request for the running standby. */
const promoteRequestAt = (dataDir: string) => join(dataDir, 'backup-state.json.promote');

export type Standby = ReturnType<typeof createStandby>;

/**
 * Brings the files of a data directory to the last instant of a target, again and again, while others read
 * them. Changes are appended to their logs as a transaction each, catalogs before the control database: a
 * task that is visible as ended has its effect.
 */
export function createStandby(settings: StreamSettings, state: StreamState) {
  const { dataDir, checkMs = CHECK_MS } = settings;
  const restored = readLocalState(dataDir);
  if (restored === undefined) throw new Error(`${dataDir} follows no backup: begin with an empty directory`);
  let local = restored;
  const target = openTarget(settings.target);
  const files = new FollowedFiles(dataDir);
  const stopped = new AbortController();
  let leases: HeldLease[] = [];
  /** When the lease holder last showed signs of life, and when it was asked to hand over, by this machine's clock. */
  let heardAt = performance.now();
  let askedAt: number | undefined;
  let identifiedAt = Number.NEGATIVE_INFINITY;
  let working: Promise<void> | undefined;
  let lastError = '';
  state[STATE.followedAt] = local.at;

  async function work(): Promise<void> {
    while (!stopped.signal.aborted && state[STATE.isPromoted] === 0) {
      try {
        await follow();
        if (existsSync(promoteRequestAt(dataDir))) await promote();
        state[STATE.failure] = 0;
      } catch (error) {
        lastError = (error as Error).message;
        noteFailure(state, error);
      }
      await delay(POLL_MS, undefined, { signal: stopped.signal }).catch(() => {});
    }
  }

  async function follow(): Promise<void> {
    await identify();
    await readLeases();
    const line = spansOf(await listNews(), leases, leases.at(-1)?.epoch ?? 0);
    for (const span of findPath(line, { from: local.seq })) {
      for await (const entry of readSpanObject(target, span)) inData(() => files.apply(entry));
      inData(() => files.publish());
      save({ seq: span.to, at: span.at, epoch: span.epoch });
    }
    // A service without changes still renews its lease.
    state[STATE.followedAt] = Math.max(local.at, leases.at(-1)?.renewedAt ?? 0);
  }

  /** A directory whose disk is not mounted must not look like a writer that is silent. */
  async function identify(): Promise<void> {
    if (performance.now() - identifiedAt < checkMs) return;
    const found = (await target.isThere()) ? await target.findIdentity() : undefined;
    if (local.backup !== undefined) refuseOther(target, found, local.backup);
    identifiedAt = performance.now();
  }

  async function readLeases(): Promise<void> {
    const last = leases.at(-1);
    if (last === undefined) {
      leases = await listLeases(target);
      return;
    }
    const now = await readLease(target, last.epoch);
    const next = await readLease(target, last.epoch + 1);
    if (now === undefined || now.renewedAt < last.renewedAt) throw refuseSetBack(last.epoch, now);
    leases.splice(-1, 1, now);
    if (next !== undefined) leases.push(next);
    if (next !== undefined || now.renewedAt !== last.renewedAt) heardAt = performance.now();
  }

  /** Usually the segments of this hour; after a long gap everything. */
  async function listNews(): Promise<Span[]> {
    const [from, to] = [hourOf(local.at), hourOf(Date.now())];
    if (Number(to) - Number(from) > 1) return listSpans(target);
    const folders = [...new Set([from, to])].map((hour) => `segments/${hour}`);
    return (await listSpans(target, folders)).filter((span) => span.to > local.seq);
  }

  /** Asks the writer for what it has; it accepts no changes from then on. A writer that is gone is not waited for. */
  async function promote(): Promise<void> {
    const last = leases.at(-1);
    if (last !== undefined && !(await hasAll(last))) return;
    const lease = await takeLease(target, last, { holder: local.holder, from: local.seq });
    if (lease === undefined) return;
    files.close();
    save({ epoch: lease.epoch, files: listSent(dataDir) });
    rmSync(promoteRequestAt(dataDir));
    state[STATE.isPromoted] = 1;
    if (last !== undefined) await target.remove(handoverOf(last.epoch));
  }

  /** @returns whether everything from the holder of the lease has arrived */
  async function hasAll(last: HeldLease): Promise<boolean> {
    const { handedOver = Infinity } = last;
    const now = performance.now();
    if (askedAt === undefined) {
      await askForHandover(target, last, local.holder);
      askedAt = now;
    }
    const isGone = now - heardAt > LEASE_MS;
    return isGone || local.seq >= handedOver || now - askedAt > PATIENCE_MS;
  }

  function save(change: Partial<LocalState>): void {
    local = { ...local, files: NOTHING_SENT, ...change };
    writeLocalState(dataDir, local);
  }

  return {
    async start(): Promise<undefined> {
      working = work();
    },
    async stop(): Promise<void> {
      stopped.abort();
      await working;
      files.close();
    },
    describe: () => lastError,
  };
}

function refuseSetBack(epoch: number, now: HeldLease | undefined): DamagedObject {
  const name = leaseNameOf(epoch);
  return new DamagedObject(
    now === undefined
      ? `${name} is missing`
      : `${name} is older than what was read before: the target was set back`,
  );
}

/** Time for a standby to fetch the rest and then to take the lease. */
const STANDBY_MS = 60_000;

/**
 * Makes a restored directory, or the standby that runs in it, the writer.
 * @throws Error when the directory has no backup, or another service took the lease at the same time
 */
export async function promote(
  root: string,
  { url, ...settings }: { url: string | undefined } & Omit<TargetSettings, 'url'>,
): Promise<{ at: number }> {
  const local = readLocalState(root);
  if (local === undefined) throw new Error(`${root} was not restored from a backup, and follows none`);
  let lock: ReturnType<typeof lockDataFolder>;
  try {
    lock = lockDataFolder(root);
  } catch {
    return promoteStandby(root);
  }
  using _lock = lock;
  const target = openTarget({ url: url ?? local.url, ...settings });
  const found = (await target.isThere()) ? await target.findIdentity() : undefined;
  if (local.backup !== undefined) refuseOther(target, found, local.backup);
  const last = (await listLeases(target)).at(-1);
  const own = { holder: local.holder, from: local.seq };
  if (last?.holder !== local.holder && (await takeLease(target, last, own)) === undefined)
    throw new Error('Another one was promoted at the same time');
  return { at: local.at };
}

/** The process that serves the directory does the work. */
async function promoteStandby(root: string): Promise<{ at: number }> {
  const request = promoteRequestAt(root);
  writeOwnFile(request, '', 'w');
  for (const until = performance.now() + STANDBY_MS; existsSync(request); await delay(50))
    if (performance.now() > until) {
      rmSync(request, { force: true });
      throw new Error(`The service on ${root} is no standby, or does not reach its target: see its log`);
    }
  return { at: readLocalState(root)?.at ?? 0 };
}
