import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lockDataFolder, writeOwnFile } from '../../storage/storage.ts';
import {
  type LocalState,
  noteFailure,
  readLocalState,
  STATE,
  type StreamSettings,
  type StreamState,
  writeLocalState,
} from './backup-stream.ts';
import { inData } from './failures.ts';
import { FollowedFiles, listSent } from './followed-files.ts';
import {
  type HeldLease,
  handoverOf,
  LEASE_MS,
  listLeases,
  PATIENCE_MS,
  readLease,
  takeLease,
} from './leases.ts';
import { readSpanObject } from './restore-timeline.ts';
import { listSpans } from './retention.ts';
import { findPath, hourOf, readSpan, type Span, spansOf } from './spans.ts';
import { type BackupTarget, openTarget, type TargetSettings, writeSmall } from './target.ts';

const POLL_MS = 200;

/** Where `relata promote` says what it wants of the standby that runs. */
const promoteRequestAt = (dataDir: string) => join(dataDir, 'backup-state.json.promote');

/**
 * Brings the files of a data directory to the last instant of a target, again and again, while others read them. What comes is
 * appended to their logs as a transaction each, catalogs before the control database: a task that is seen as ended has
 * its effect.
 */
export class Standby {
  private readonly settings: StreamSettings;
  private readonly state: StreamState;
  private readonly target: BackupTarget;
  private readonly files: FollowedFiles;
  private readonly stopped = new AbortController();
  private local: LocalState;
  private leases: HeldLease[] = [];
  /** When the holder of the lease last said something new, and when it was asked to hand over, by this machine's clock. */
  private heardAt = performance.now();
  private askedAt: number | undefined;
  private working: Promise<void> | undefined;
  lastError = '';

  constructor(settings: StreamSettings, state: StreamState) {
    const local = readLocalState(settings.dataDir);
    if (local === undefined)
      throw new Error(`${settings.dataDir} follows no backup: begin with an empty directory`);
    this.settings = settings;
    this.state = state;
    this.local = local;
    this.target = openTarget(settings.target);
    this.files = new FollowedFiles(settings.dataDir);
    state[STATE.followedAt] = local.at;
  }

  async start(): Promise<undefined> {
    this.working = this.work();
    return undefined;
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    await this.working;
    this.files.close();
  }

  private async work(): Promise<void> {
    while (!this.stopped.signal.aborted && this.state[STATE.isPromoted] === 0) {
      try {
        await this.follow();
        if (existsSync(promoteRequestAt(this.settings.dataDir))) await this.promote();
        this.state[STATE.failure] = 0;
      } catch (error) {
        this.lastError = (error as Error).message;
        noteFailure(this.state, error);
      }
      await delay(POLL_MS, undefined, { signal: this.stopped.signal }).catch(() => {});
    }
  }

  private async follow(): Promise<void> {
    const { target, settings, state } = this;
    await this.readLeases();
    const line = spansOf(await this.listNews(), this.leases, this.leases.at(-1)?.epoch ?? 0);
    for (const span of findPath(line, { from: this.local.seq })) {
      for await (const entry of readSpanObject(target, span, settings.key))
        inData(() => this.files.apply(entry));
      inData(() => this.files.publish());
      this.save({ seq: span.to, at: span.at, epoch: span.epoch });
    }
    // A service without changes says that it is there.
    const renewedAt = this.leases.at(-1)?.renewedAt ?? 0;
    state[STATE.followedAt] = Math.max(this.local.at, renewedAt);
  }

  private async readLeases(): Promise<void> {
    const last = this.leases.at(-1);
    if (last === undefined) this.leases = await listLeases(this.target);
    else {
      const [now, next] = [
        await readLease(this.target, last.epoch),
        await readLease(this.target, last.epoch + 1),
      ];
      if (now !== undefined) this.leases.splice(-1, 1, now);
      if (next !== undefined) this.leases.push(next);
      if (next !== undefined || now?.renewedAt !== last.renewedAt) this.heardAt = performance.now();
    }
  }

  /** Usually the segments of this hour; after a long time everything. */
  private async listNews(): Promise<Span[]> {
    const [from, to] = [Number(hourOf(this.local.at)), Number(hourOf(Date.now()))];
    if (to - from > 1) return listSpans(this.target);
    const names: string[] = [];
    for (let hour = from; hour <= Math.max(from, to); hour += 1)
      names.push(...(await this.target.list(`segments/${String(hour).padStart(7, '0')}`)));
    return names.flatMap((name) => readSpan(name) ?? []).filter((span) => span.to > this.local.seq);
  }

  /** The writer is asked for what it has; it takes no changes from then on. One that is gone is not waited for. */
  private async promote(): Promise<void> {
    const { target, settings, state } = this;
    const { holder, seq } = this.local;
    const last = this.leases.at(-1);
    if (last !== undefined && !(await this.hasAll(last))) return;
    const lease = await takeLease(target, last, { holder, from: seq });
    if (lease === undefined) return;
    this.files.close();
    this.save({ epoch: lease.epoch, files: listSent(settings.dataDir) });
    rmSync(promoteRequestAt(settings.dataDir));
    state[STATE.isPromoted] = 1;
    if (last !== undefined) await target.remove(handoverOf(last.epoch));
  }

  /** @returns whether there is nothing more to come of the holder of a lease */
  private async hasAll({ epoch, handedOver = Number.POSITIVE_INFINITY }: HeldLease): Promise<boolean> {
    const now = performance.now();
    if (this.askedAt === undefined) {
      await writeSmall(this.target, handoverOf(epoch), { text: this.local.holder });
      this.askedAt = now;
    }
    const isGone = now - this.heardAt > LEASE_MS;
    return isGone || this.local.seq >= handedOver || now - this.askedAt > PATIENCE_MS;
  }

  private save(change: Partial<LocalState>): void {
    this.local = { ...this.local, files: { databases: {}, others: {} }, ...change };
    writeLocalState(this.settings.dataDir, this.local);
  }
}

/** A standby takes what is left to it, and then the lease. */
const STANDBY_MS = 60_000;

/**
 * Makes a directory that was restored, or the standby that follows in it, the one that writes.
 * @throws Error when the directory has no backup, or another service took the lease at the same time
 */
export async function promote(
  root: string,
  { url, s3 }: { url: string | undefined; s3: TargetSettings['s3'] },
): Promise<{ at: number }> {
  const local = readLocalState(root);
  if (local === undefined) throw new Error(`${root} was not restored from a backup, and follows none`);
  let lock: ReturnType<typeof lockDataFolder>;
  try {
    lock = lockDataFolder(root);
  } catch {
    return promoteStandby(root);
  }
  try {
    const target = openTarget({ url: url ?? local.url, s3 });
    const last = (await listLeases(target)).at(-1);
    const own = { holder: local.holder, from: local.seq };
    if (last?.holder !== local.holder && (await takeLease(target, last, own)) === undefined)
      throw new Error('Another one was promoted at the same time');
    return { at: local.at };
  } finally {
    lock.close();
  }
}

/** The process that serves the directory does it. */
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
