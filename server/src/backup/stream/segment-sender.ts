import { setTimeout as delay } from 'node:timers/promises';
import type { Cut, WatchedFolder } from '../files/files.ts';
import type { BackupTarget } from '../target/target.ts';
import { type HeldLease, nameOf, removeBroken } from '../timeline/timeline.ts';
import { fromData, inData } from './failures.ts';
import type { Housework } from './housework.ts';
import type { StreamPosition } from './stream-position.ts';
import type { StreamReport } from './stream-report.ts';

/** The interval between checks for changes. */
export const POLL_MS = 150;

interface SenderParts {
  readonly target: BackupTarget;
  readonly folder: WatchedFolder;
  readonly position: StreamPosition;
  readonly report: StreamReport;
  readonly housework: Housework;
  /** Aborted when the stream stops. A base copy then ends unfinished. */
  readonly signal: AbortSignal;
  /**
   * How many bytes may wait for an unreachable target. Beyond that, a new base copy is made when the target is back.
   */
  readonly backlogBytes: number;
}

/**
 * Sends the changes of the folder as segments. If no segment leads to the current state, it copies everything as a
 * base.
 */
export class SegmentSender {
  private readonly parts: SenderParts;

  constructor(parts: SenderParts) {
    this.parts = parts;
  }

  /** @returns whether something was sent */
  async sendChanges(held: HeldLease): Promise<boolean> {
    const { folder, position, report } = this.parts;
    if (!position.needsBase && !folder.hasChanged()) {
      report.set('behindSince', 0);
      return false;
    }
    if (report.read('behindSince') === 0) report.set('behindSince', Date.now());
    const cut = inData(() => folder.findCut());
    const begun = Date.now();
    try {
      const isEmpty = cut.changes.length + cut.opened.length + cut.gone.length === 0;
      if (!isEmpty || position.needsBase) await this.send(cut, held);
      report.set('behindSince', folder.hasChanged() ? begun : 0);
      report.set('unsentBytes', 0);
      return !isEmpty;
    } finally {
      folder.closeCut(cut);
    }
  }

  /** Marks everything as unsent, so that a base sends it. */
  forgetAll(): void {
    this.parts.position.isAfresh = true;
    this.parts.folder.forget();
  }

  /** Keeps the logs from filling the disk while the target is unreachable. */
  boundBacklog(): void {
    const { folder, position, report, backlogBytes } = this.parts;
    // No cut is made during this time, and only held files are written back here.
    folder.hold();
    if (position.isLost) {
      for (const database of folder.databases) database.tidy();
      return;
    }
    const unsent = folder.countUnsent();
    report.set('unsentBytes', unsent);
    if (report.read('behindSince') === 0 && folder.hasChanged()) report.set('behindSince', Date.now());
    if (unsent < backlogBytes) return;
    position.lose();
    this.forgetAll();
  }

  private async send(cut: Cut, { epoch }: HeldLease): Promise<void> {
    const { target, folder, position, report, housework } = this.parts;
    const { seq: from, needsBase: isBase, isAfresh } = position;
    const to = position.takeNumber();
    const sentAt = Math.max(cut.at, report.read('sentAt') + 1);
    const name = nameOf({ kind: 'segments', from, to, epoch, at: sentAt });
    const entries = fromData(folder.readCut(cut, { isBase, isAfresh }));
    const length = await target.writeEntries(name, entries);
    folder.noteSent(cut);
    position.noteSent(to, sentAt);
    report.set('sentAt', sentAt);
    report.add('sentBytes', length);
    report.add('segments', 1);
    if (!isBase) return;
    position.needsBase = false;
    position.isAfresh = false;
    housework.begin(() => this.makeBase(from, epoch), true);
  }

  /** Copies the main files while segments continue. The base is valid from the first segment after it. */
  private async makeBase(from: number, epoch: number) {
    const { target, folder, position, report, signal } = this.parts;
    const copy = `copies/${epoch}-${from}-${Date.now()}`;
    await target.writeEntries(copy, fromData(folder.readAll(signal)));
    // The next segment contains the pages that were written back during the copy.
    const last = position.seq;
    while (position.seq === last && folder.hasChanged() && !signal.aborted) await delay(POLL_MS);
    const basedAt = Math.max(1, report.read('sentAt'));
    const base = { kind: 'bases' as const, from, to: position.seq, epoch, at: basedAt };
    const name = nameOf(base);
    await target.writeText(name, copy);
    position.base = { ...base, name };
    report.set('basedAt', basedAt);
    await removeBroken(target);
    return { wantsBase: false };
  }
}
