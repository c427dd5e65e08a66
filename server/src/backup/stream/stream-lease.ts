import { setTimeout as delay } from 'node:timers/promises';
import { makeHolder, NOTHING_SENT } from '../files/files.ts';
import type { BackupTarget } from '../target/target.ts';
import {
  type HeldLease,
  handoverOf,
  LEASE_MS,
  listLeases,
  RENEW_MS,
  readLease,
  renewLease,
  takeLease,
} from '../timeline/timeline.ts';
import type { Handover } from './handover.ts';
import { refuseForeign } from './own-target.ts';
import type { SavedState } from './saved-state.ts';
import type { SegmentSender } from './segment-sender.ts';
import type { StreamPosition } from './stream-position.ts';
import { NotTheWriter } from './stream-state.ts';

const LEASE_CHECK_MS = 1_000;

interface LeaseParts {
  readonly target: BackupTarget;
  readonly saved: SavedState;
  readonly position: StreamPosition;
  readonly sender: SegmentSender;
  readonly handover: Handover;
}

/**
 * The lease of a stream. It is taken once, renewed while the stream sends, and handed over to a service that requests
 * it.
 */
export class StreamLease {
  private readonly parts: LeaseParts;
  private checkedAt = 0;
  private renewedAt = 0;

  constructor(parts: LeaseParts) {
    this.parts = parts;
  }

  /**
   * @param backup the id of the backup in the target
   * @returns the lease that this directory already holds, or a new one; `leases`: all leases up to and including it
   * @throws NotTheWriter
   */
  async acquire(
    backup: string,
  ): Promise<{ readonly held: HeldLease; readonly leases: readonly HeldLease[] }> {
    const { target, saved } = this.parts;
    const leases = await listLeases(target);
    const last = leases.at(-1);
    if (last !== undefined && last.holder === saved.local?.holder)
      return { held: { ...last, handedOver: undefined }, leases };
    const held = await this.takeNext(leases, backup);
    return { held, leases: [...leases, held] };
  }

  /** Renews the lease, or hands it over. @throws NotTheWriter if another writer has taken the next epoch */
  async check(held: HeldLease): Promise<void> {
    const { target, handover } = this.parts;
    const now = performance.now();
    if (now - this.checkedAt < LEASE_CHECK_MS) return;
    if ((await readLease(target, held.epoch + 1)) !== undefined)
      throw new NotTheWriter('Another service was promoted, and writes to the target of the backup now');
    this.checkedAt = now;
    const request = await handover.findRequest(held);
    if (request !== undefined) await this.handOver(held, request);
    else if (now - this.renewedAt >= RENEW_MS) await this.renew(held);
  }

  /** Renews the lease, which also names the last segment. */
  async renew(held: HeldLease): Promise<void> {
    const { target, position } = this.parts;
    await renewLease(target, { ...held, renewedAt: Date.now(), sent: position.sent });
    this.renewedAt = performance.now();
  }

  /**
   * Refuses changes, sends the remaining ones, and announces the end. This lasts until another service has the lease,
   * or until the time for the handover has passed.
   */
  private async handOver(held: HeldLease, request: string): Promise<void> {
    const { target, position, sender, handover } = this.parts;
    handover.start(request);
    if (!handover.isOver) {
      await sender.sendChanges(held);
      return this.renew({ ...held, handedOver: position.seq });
    }
    await target.remove(handoverOf(held.epoch));
    await this.renew(held);
    handover.end();
  }

  private async takeNext(leases: readonly HeldLease[], backup: string): Promise<HeldLease> {
    const { target, saved } = this.parts;
    const { url } = target;
    const last = leases.at(-1);
    if (last !== undefined) {
      refuseForeign(leases, saved.local, url);
      await this.waitForEnd(last);
    }
    const state = saved.local ?? { holder: makeHolder(), epoch: 0, seq: 0, at: 0, files: NOTHING_SENT, url };
    const own = state.epoch === 0 ? { ...state, backup } : state;
    saved.claim(own);
    const taken = await takeLease(target, last, { holder: own.holder, from: own.seq });
    if (taken === undefined) {
      if (own.epoch === 0) saved.withdraw();
      throw new NotTheWriter(`Another service began to write to ${url}`);
    }
    return taken;
  }

  /** @throws NotTheWriter unless the lease expires because its holder no longer runs */
  private async waitForEnd(last: HeldLease): Promise<void> {
    const { target } = this.parts;
    for (const until = performance.now() + LEASE_MS; performance.now() < until; await delay(RENEW_MS / 4)) {
      const now = await readLease(target, last.epoch);
      if (now?.renewedAt !== last.renewedAt)
        throw new NotTheWriter(
          `Another service writes to ${target.url}: stop it, or make this service the writer with relata promote`,
        );
    }
  }
}
