import { type BackupTarget, IDENTITY } from '../target/target.ts';
import { findMissing, type HeldLease, keepHouse, refuseOther } from '../timeline/timeline.ts';
import type { StreamPosition } from './stream-position.ts';
import type { StreamReport } from './stream-report.ts';
import type { StreamSettings } from './stream-state.ts';

/** Interval between checks of the retention, and between checks of the objects in the target. */
const HOUSE_MS = 60_000;

interface HouseworkParts {
  readonly settings: StreamSettings;
  readonly target: BackupTarget;
  readonly position: StreamPosition;
  readonly report: StreamReport;
}

/**
 * The work that a target needs besides segments: retention, checks and base copies. It runs one piece at a time, while
 * segments continue.
 */
export class Housework {
  /** Why the last base copy or merge failed, although segments may continue: an index in FAILURES. */
  failure = 0;
  private readonly parts: HouseworkParts;
  /** The last piece that waits or is in progress. */
  private working: Promise<void> | undefined;
  private tidiedAt = 0;
  private checkedAt = performance.now();

  constructor(parts: HouseworkParts) {
    this.parts = parts;
  }

  /**
   * Runs the work after the pieces that were begun before. @param wantsBase whether a failure makes a new base
   * necessary
   */
  begin(work: () => Promise<{ wantsBase: boolean }>, wantsBase: boolean): void {
    const { position, report } = this.parts;
    const before = this.working;
    const added = (async () => {
      await before;
      const result = await work();
      position.needsBase ||= result.wantsBase;
      this.failure = 0;
    })()
      .catch((error: unknown) => {
        this.failure = report.noteFailure(error);
        position.needsBase ||= wantsBase;
      })
      .finally(() => {
        if (this.working === added) this.working = undefined;
      });
    this.working = added;
  }

  /** Merges and removes old objects. */
  tidy({ epoch }: HeldLease): void {
    const { target, settings } = this.parts;
    const now = performance.now();
    if (now - this.tidiedAt < HOUSE_MS || this.working !== undefined) return;
    this.tidiedAt = now;
    this.begin(() => keepHouse(target, epoch, settings), false);
  }

  /** Checks whether the target still has this backup, with its base and segments. @throws VanishedTarget */
  async check({ epoch }: HeldLease): Promise<void> {
    const { target, position, report, settings } = this.parts;
    const now = performance.now();
    if (now - this.checkedAt < (settings.checkMs ?? HOUSE_MS) || this.working !== undefined) return;
    this.checkedAt = now;
    await this.checkIdentity(target.own() ?? '');
    const { leases, base, seq, needsBase, isLost } = position;
    if (base === undefined || needsBase || isLost) return;
    const line = { leases, epoch, base, reached: seq };
    this.begin(async () => {
      const problem = await findMissing(target, line);
      report.set('checkedAt', Date.now());
      report.set('isIncomplete', 0);
      if (problem !== undefined) report.noteMissing(problem);
      return { wantsBase: problem !== undefined };
    }, false);
  }

  /** @returns when all pieces have ended */
  async finish(): Promise<void> {
    await this.working;
  }

  /** Writes the identity again to a bucket that lost it, because the bucket's lease still belongs to this directory. */
  private async checkIdentity(own: string): Promise<void> {
    const { target, report } = this.parts;
    const identity = await target.findIdentity();
    if (identity !== undefined) return refuseOther(target, identity, own);
    report.noteMissing(`${IDENTITY} is missing`);
    await target.writeIdentity(own);
  }
}
