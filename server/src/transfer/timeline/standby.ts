import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lockDataFolder, writeOwnFile } from '../../storage/storage.ts';
import * as stream from './backup-stream.ts';
import { inData } from './failures.ts';
import { FollowedFiles, listSent } from './followed-files.ts';
import * as leasing from './leases.ts';
import { readSpanObject } from './restore-timeline.ts';
import { listSpans } from './retention.ts';
import { findPath, hourOf, type Span, spansOf } from './spans.ts';
import { openTarget, type TargetSettings, writeSmall } from './target.ts';

const POLL_MS = 200;

/** Where `relata promote` leaves its request for the running standby. */
const promoteRequestAt = (dataDir: string) => join(dataDir, 'backup-state.json.promote');

export type Standby = ReturnType<typeof createStandby>;

/**
 * Brings the files of a data directory to the last instant of a target, again and again, while others read
 * them. Changes are appended to their logs as a transaction each, catalogs before the control database: a
 * task that is visible as ended has its effect.
 */
export function createStandby(settings: stream.StreamSettings, state: stream.StreamState) {
  const { dataDir, key } = settings;
  const restored = stream.readLocalState(dataDir);
  if (restored === undefined) throw new Error(`${dataDir} follows no backup: begin with an empty directory`);
  let local = restored;
  const target = openTarget(settings.target);
  const files = new FollowedFiles(dataDir);
  const stopped = new AbortController();
  let leases: leasing.HeldLease[] = [];
  /** When the lease holder last showed signs of life, and when it was asked to hand over, by this machine's clock. */
  let heardAt = performance.now();
  let askedAt: number | undefined;
  let working: Promise<void> | undefined;
  let lastError = '';
  state[stream.STATE.followedAt] = local.at;

  async function work(): Promise<void> {
    while (!stopped.signal.aborted && state[stream.STATE.isPromoted] === 0) {
      try {
        await follow();
        if (existsSync(promoteRequestAt(dataDir))) await promote();
        state[stream.STATE.failure] = 0;
      } catch (error) {
        lastError = (error as Error).message;
        stream.noteFailure(state, error);
      }
      await delay(POLL_MS, undefined, { signal: stopped.signal }).catch(() => {});
    }
  }

  async function follow(): Promise<void> {
    await readLeases();
    const line = spansOf(await listNews(), leases, leases.at(-1)?.epoch ?? 0);
    for (const span of findPath(line, { from: local.seq })) {
      for await (const entry of readSpanObject(target, span, key)) inData(() => files.apply(entry));
      inData(() => files.publish());
      save({ seq: span.to, at: span.at, epoch: span.epoch });
    }
    // A service without changes still renews its lease.
    state[stream.STATE.followedAt] = Math.max(local.at, leases.at(-1)?.renewedAt ?? 0);
  }

  async function readLeases(): Promise<void> {
    const last = leases.at(-1);
    if (last === undefined) {
      leases = await leasing.listLeases(target);
      return;
    }
    const now = await leasing.readLease(target, last.epoch);
    const next = await leasing.readLease(target, last.epoch + 1);
    if (now !== undefined) leases.splice(-1, 1, now);
    if (next !== undefined) leases.push(next);
    if (next !== undefined || now?.renewedAt !== last.renewedAt) heardAt = performance.now();
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
    const lease = await leasing.takeLease(target, last, { holder: local.holder, from: local.seq });
    if (lease === undefined) return;
    files.close();
    save({ epoch: lease.epoch, files: listSent(dataDir) });
    rmSync(promoteRequestAt(dataDir));
    state[stream.STATE.isPromoted] = 1;
    if (last !== undefined) await target.remove(leasing.handoverOf(last.epoch));
  }

  /** @returns whether everything from the holder of the lease has arrived */
  async function hasAll({ epoch, handedOver = Infinity }: leasing.HeldLease): Promise<boolean> {
    const now = performance.now();
    if (askedAt === undefined) {
      await writeSmall(target, leasing.handoverOf(epoch), { text: local.holder });
      askedAt = now;
    }
    const isGone = now - heardAt > leasing.LEASE_MS;
    return isGone || local.seq >= handedOver || now - askedAt > leasing.PATIENCE_MS;
  }

  function save(change: Partial<stream.LocalState>): void {
    local = { ...local, files: stream.NOTHING_SENT, ...change };
    stream.writeLocalState(dataDir, local);
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

/** Time for a standby to fetch the rest and then to take the lease. */
const STANDBY_MS = 60_000;

/**
 * Makes a restored directory, or the standby that runs in it, the writer.
 * @throws Error when the directory has no backup, or another service took the lease at the same time
 */
export async function promote(
  root: string,
  { url, s3 }: { url: string | undefined; s3: TargetSettings['s3'] },
): Promise<{ at: number }> {
  const local = stream.readLocalState(root);
  if (local === undefined) throw new Error(`${root} was not restored from a backup, and follows none`);
  let lock: ReturnType<typeof lockDataFolder>;
  try {
    lock = lockDataFolder(root);
  } catch {
    return promoteStandby(root);
  }
  using _lock = lock;
  const target = openTarget({ url: url ?? local.url, s3 });
  const last = (await leasing.listLeases(target)).at(-1);
  const own = { holder: local.holder, from: local.seq };
  if (last?.holder !== local.holder && (await leasing.takeLease(target, last, own)) === undefined)
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
  return { at: stream.readLocalState(root)?.at ?? 0 };
}
