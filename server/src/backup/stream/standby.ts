import { existsSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import {
  FollowedFiles,
  type LocalState,
  listSent,
  NOTHING_SENT,
  readLocalState,
  writeLocalState,
} from '../files/files.ts';
import { type BackupTarget, DamagedObject, openTarget } from '../target/target.ts';
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
  readSpanObject,
  refuseOther,
  type Span,
  spansOf,
  takeLease,
} from '../timeline/timeline.ts';
import { inData } from './failures.ts';
import { promoteRequestAt } from './promote.ts';
import { StreamReport } from './stream-report.ts';
import type { StreamSettings, StreamState } from './stream-state.ts';

const POLL_MS = 200;
/** Interval between checks whether the target still holds the same backup. */
const CHECK_MS = 60_000;

/**
 * Brings the files of a data directory repeatedly to the last instant of a target, while other code reads them. Each
 * change is appended to their logs as a transaction, catalogs before the control database. So a task that is visible as
 * ended has its effect.
 */
export class Standby {
  private readonly dataDir: string;
  private readonly checkMs: number;
  private readonly target: BackupTarget;
  private readonly files: FollowedFiles;
  private readonly report: StreamReport;
  private readonly stopped = new AbortController();
  private local: LocalState;
  private leases: HeldLease[] = [];
  /**
   * When the lease holder last renewed its lease or was followed by another, by this machine's clock. `requestedAt` is
   * when it was requested to hand over.
   */
  private heardAt = performance.now();
  private requestedAt: number | undefined;
  private identifiedAt = Number.NEGATIVE_INFINITY;
  private working: Promise<void> | undefined;

  /** @throws Error if the directory does not come from a backup */
  constructor({ dataDir, checkMs = CHECK_MS, target }: StreamSettings, state: StreamState) {
    const restored = readLocalState(dataDir);
    if (restored === undefined)
      throw new Error(`${dataDir} does not follow a backup; begin with an empty directory`);
    this.dataDir = dataDir;
    this.checkMs = checkMs;
    this.local = restored;
    this.target = openTarget(target);
    this.files = new FollowedFiles(dataDir);
    this.report = new StreamReport(state);
    this.report.set('followedAt', restored.at);
  }

  async start(): Promise<undefined> {
    this.working = this.work();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    await this.working;
    this.files.close();
  }

  /** @returns the message of the last failure */
  describe(): string {
    return this.report.lastError;
  }

  private async work(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted && this.report.read('isPromoted') === 0) {
      try {
        await this.follow();
        if (existsSync(promoteRequestAt(this.dataDir))) await this.promote();
        this.report.set('failure', 0);
      } catch (error) {
        this.report.noteFailure(error);
      }
      await delay(POLL_MS, undefined, { signal }).catch(() => {});
    }
  }

  private async follow(): Promise<void> {
    const { target, files } = this;
    await this.identify();
    await this.readLeases();
    const line = spansOf(await this.listNews(), this.leases, this.leases.at(-1)?.epoch ?? 0);
    for (const span of findPath(line, { from: this.local.seq })) {
      for await (const entry of readSpanObject(target, span)) inData(() => files.apply(entry));
      inData(() => files.publish());
      this.save({ seq: span.to, at: span.at, epoch: span.epoch });
    }
    // A service without changes still renews its lease.
    this.report.set('followedAt', Math.max(this.local.at, this.leases.at(-1)?.renewedAt ?? 0));
  }

  /** Checks the identity, because a directory whose disk is not mounted must not look like a silent writer. */
  private async identify(): Promise<void> {
    const { target, local } = this;
    if (performance.now() - this.identifiedAt < this.checkMs) return;
    const identity = (await target.isThere()) ? await target.findIdentity() : undefined;
    if (local.backup !== undefined) refuseOther(target, identity, local.backup);
    this.identifiedAt = performance.now();
  }

  private async readLeases(): Promise<void> {
    const { target, leases } = this;
    const last = leases.at(-1);
    if (last === undefined) {
      this.leases = await listLeases(target);
      return;
    }
    const now = await readLease(target, last.epoch);
    const next = await readLease(target, last.epoch + 1);
    if (now === undefined || now.renewedAt < last.renewedAt) throw refuseSetBack(last.epoch, now);
    leases.splice(-1, 1, now);
    if (next !== undefined) leases.push(next);
    if (next !== undefined || now.renewedAt !== last.renewedAt) this.heardAt = performance.now();
  }

  /** Lists usually only the segments of this hour, and after a long gap all spans. */
  private async listNews(): Promise<Span[]> {
    const { target, local } = this;
    const [from, to] = [hourOf(local.at), hourOf(Date.now())];
    if (Number(to) - Number(from) > 1) return listSpans(target);
    const folders = [...new Set([from, to])].map((hour) => `segments/${hour}`);
    return (await listSpans(target, folders)).filter((span) => span.to > local.seq);
  }

  /**
   * Requests the writer's remaining changes; the writer accepts no changes from then on. A writer that no longer runs
   * is not waited for.
   */
  private async promote(): Promise<void> {
    const { target, local, dataDir } = this;
    const last = this.leases.at(-1);
    if (last !== undefined && !(await this.hasAll(last))) return;
    const lease = await takeLease(target, last, { holder: local.holder, from: local.seq });
    if (lease === undefined) return;
    this.files.close();
    this.save({ epoch: lease.epoch, files: listSent(dataDir) });
    rmSync(promoteRequestAt(dataDir));
    this.report.set('isPromoted', 1);
    if (last !== undefined) await target.remove(handoverOf(last.epoch));
  }

  /** @returns whether all changes of the lease holder have arrived */
  private async hasAll(last: HeldLease): Promise<boolean> {
    const { handedOver = Infinity } = last;
    const now = performance.now();
    if (this.requestedAt === undefined) {
      await askForHandover(this.target, last, this.local.holder);
      this.requestedAt = now;
    }
    const isGone = now - this.heardAt > LEASE_MS;
    return isGone || this.local.seq >= handedOver || now - this.requestedAt > PATIENCE_MS;
  }

  private save(change: Partial<LocalState>): void {
    this.local = { ...this.local, files: NOTHING_SENT, ...change };
    writeLocalState(this.dataDir, this.local);
  }
}

function refuseSetBack(epoch: number, now: HeldLease | undefined): DamagedObject {
  const name = leaseNameOf(epoch);
  return new DamagedObject(
    now === undefined
      ? `${name} is missing`
      : `${name} is older than before: the target was reset to an earlier state`,
  );
}
