import { setTimeout as delay } from 'node:timers/promises';
import { closeUnused } from '../../storage/sqlite/sqlite.ts';
import { type LocalState, NOTHING_SENT, WatchedFolder } from '../files/files.ts';
import { type BackupTarget, makeBackupId, openTarget, VanishedTarget } from '../target/target.ts';
import { findMissing, type HeldLease, listSpans, spansOf } from '../timeline/timeline.ts';
import { inData } from './failures.ts';
import { Handover } from './handover.ts';
import { Housework } from './housework.ts';
import { findOwnTarget } from './own-target.ts';
import { SavedState } from './saved-state.ts';
import { POLL_MS, SegmentSender } from './segment-sender.ts';
import { StreamLease } from './stream-lease.ts';
import { StreamPosition } from './stream-position.ts';
import { StreamReport } from './stream-report.ts';
import { NotTheWriter, type StreamSettings, type StreamState } from './stream-state.ts';

/** The minimum time between segments, in ms. */
const CUT_MS = 400;
/** How long the stream waits after a failed attempt, in ms. */
const RETRY_MS = 1_000;
/** The interval between writes of the directory's own state, in ms. */
const STATE_MS = 1_000;

/** Sends changes in a data directory to a target, until it is stopped or another service is the writer. */
export class BackupStream {
  private readonly target: BackupTarget;
  private readonly saved: SavedState;
  private readonly folder: WatchedFolder;
  private readonly position = new StreamPosition();
  private readonly report: StreamReport;
  private readonly housework: Housework;
  private readonly sender: SegmentSender;
  private readonly handover: Handover;
  private readonly lease: StreamLease;
  /** The id for a backup that begins in an empty target. */
  private readonly fresh = makeBackupId();
  private readonly stopped = new AbortController();
  /** undefined: the stream has to begin, or to begin again. */
  private held: HeldLease | undefined;
  private isFailing = false;
  private working: Promise<void> | undefined;

  /** Holds the logs of the existing files. Nothing is sent before `start`. */
  constructor(settings: StreamSettings, state: StreamState) {
    const { dataDir, backlogBytes } = settings;
    const isSealed = settings.target.key !== undefined;
    this.target = openTarget(settings.target);
    this.saved = new SavedState(dataDir);
    this.folder = new WatchedFolder(dataDir, this.saved.local?.files ?? NOTHING_SENT, isSealed);
    this.folder.hold();
    this.report = new StreamReport(state);
    const { target, saved, folder, position, report } = this;
    const { signal } = this.stopped;
    this.housework = new Housework({ settings, target, position, report });
    const { housework } = this;
    this.sender = new SegmentSender({ target, folder, position, report, housework, signal, backlogBytes });
    this.handover = new Handover({ dataDir, target, report, isSealed });
    const { sender, handover } = this;
    this.lease = new StreamLease({ target, saved, position, sender, handover });
  }

  /**
   * @returns why this directory may not write; undefined if it may. If the target is unreachable, the service works
   * while it waits for the target.
   */
  async start(): Promise<string | undefined> {
    try {
      await this.attempt(() => this.begin());
    } catch (error) {
      return (error as Error).message;
    }
    this.working = this.work();
    return undefined;
  }

  /** Sends the remaining changes, and closes the files. No other process may have the files open at that time. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await this.working;
    await this.housework.finish();
    const { held } = this;
    if (held !== undefined && !this.isSuperseded) await this.attempt(() => this.finish(held));
    this.handover.close();
    for (const database of this.folder.databases) database.release();
    closeUnused();
    this.save(0);
  }

  /** @returns the message of the last failure */
  describe(): string {
    return this.report.lastError;
  }

  private get isSuperseded(): boolean {
    return this.report.read('isSuperseded') === 1;
  }

  private async work(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted && !this.isSuperseded) {
      const begun = performance.now();
      const isSent = await this.attempt(() => this.step()).catch((error: unknown) => {
        this.report.noteFailure(error);
        this.report.set('isSuperseded', 1);
        return false;
      });
      const waitMs = isSent ? Math.max(CUT_MS - (performance.now() - begun), POLL_MS) : POLL_MS;
      await delay(this.isFailing ? RETRY_MS : waitMs, undefined, { signal }).catch(() => {});
    }
  }

  /** @returns whether something was sent */
  private async step(): Promise<boolean> {
    const held = this.held ?? (await this.begin());
    await this.lease.check(held);
    await this.housework.check(held);
    const isSent = await this.sender.sendChanges(held);
    inData(() => {
      for (const database of this.folder.databases) database.tidy();
      this.save(STATE_MS);
    });
    this.housework.tidy(held);
    return isSent;
  }

  /** @throws NotTheWriter */
  private async attempt<Result>(work: () => Promise<Result>): Promise<Result | false> {
    try {
      const result = await work();
      this.isFailing = false;
      this.report.noteSuccess(this.housework.failure);
      return result;
    } catch (error) {
      if (error instanceof NotTheWriter) throw error;
      this.noteAttempt(error);
      return false;
    }
  }

  private noteAttempt(error: unknown): void {
    this.isFailing = true;
    // The state of the target when it returns decides how the stream continues.
    if (error instanceof VanishedTarget) this.held = undefined;
    // A target that fails during a handover must not keep changes refused.
    if (this.handover.isOver) this.handover.end();
    this.report.noteFailure(error);
    try {
      inData(() => this.sender.boundBacklog());
    } catch (failure) {
      this.report.noteFailure(failure);
    }
  }

  /** Finds the position of this directory in the target, and takes the lease. @throws NotTheWriter, VanishedTarget */
  private async begin(): Promise<HeldLease> {
    const { target, saved, position, report } = this;
    const backup = await findOwnTarget(target, { local: saved.local, fresh: this.fresh });
    const { held, leases } = await this.lease.acquire(backup);
    if ((await target.findIdentity()) === undefined) await target.writeIdentity(backup);
    position.leases = leases;
    const line = spansOf(await listSpans(target), leases, held.epoch);
    const missing = position.continueFrom(line, held, saved.local?.seq ?? 0);
    if (missing !== undefined) report.noteMissing(missing);
    await this.checkBase(held);
    // The lease is set only here, because all these calls are repeated if one of them fails.
    this.held = held;
    saved.expire();
    return held;
  }

  private async checkBase({ epoch }: HeldLease): Promise<void> {
    const { position, report } = this;
    const problem = await this.findProblem(epoch);
    if (problem !== undefined) report.noteMissing(problem);
    position.needsBase = position.base === undefined || problem !== undefined;
    report.set('basedAt', position.needsBase ? 0 : Number(position.base?.at));
    if (position.needsBase) this.sender.forgetAll();
  }

  private async findProblem(epoch: number): Promise<string | undefined> {
    const { target } = this;
    const { base, leases, seq, isLost } = this.position;
    if (base !== undefined) return findMissing(target, { leases, epoch, base, reached: seq });
    const { local } = this.saved;
    const baseName = local?.url === target.url && !isLost ? local.base : undefined;
    return baseName && `${baseName} is missing`;
  }

  private async finish(held: HeldLease): Promise<void> {
    await this.sender.sendChanges(held);
    if (!this.handover.isStarted) await this.lease.renew(held);
  }

  private save(everyMs: number): void {
    const { held } = this;
    if (held !== undefined) this.saved.save(everyMs, () => this.describeLocal(held));
  }

  private describeLocal({ holder, epoch }: HeldLease): LocalState {
    const { target, folder, position, report } = this;
    return {
      holder,
      epoch,
      seq: position.reached,
      at: report.read('sentAt'),
      files: folder.sent,
      url: target.url,
      backup: target.own(),
      base: position.needsBase ? undefined : position.base?.name,
    };
  }
}
