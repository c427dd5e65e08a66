import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { UcpUse } from './ucp-schemas.ts';

/** The budget per minute of all callers of a channel together, who need no key. */
export interface KeylessLimits {
  readonly mibPerMinute: number;
  readonly secondsPerMinute: number;
}

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
/**
 * The maximum number of questions of a channel in progress, because the cost of a question is known only at its end.
 */
const AT_ONCE = 8;
/** At this number of budgets in memory, budgets that are full again are dropped. */
const MOST = 1_000;

/** The budget of a channel. It refills evenly, and an overdrawn budget has to fill up again first. */
export class ChannelBudget {
  private readonly clock: Clock;
  private readonly whole: UcpUse;
  private left: { bytes: number; ms: number };
  private filledAt: number;
  private running = 0;

  constructor(whole: UcpUse, clock: Clock) {
    this.clock = clock;
    this.whole = whole;
    this.left = { ...whole };
    this.filledAt = clock.now();
  }

  /** Whether the budget equals a new one. */
  get isWhole(): boolean {
    this.fill();
    const { left, whole } = this;
    return this.running === 0 && left.bytes === whole.bytes && left.ms === whole.ms;
  }

  /** @param work receives a function that charges the cost @throws channel_budget_used */
  async use<Result>(work: (spend: ChannelBudget['spend']) => Promise<Result>): Promise<Result> {
    this.refuseOver();
    this.running += 1;
    try {
      return await work(this.spend);
    } finally {
      this.running -= 1;
    }
  }

  readonly spend = ({ bytes, ms }: UcpUse): void => {
    this.fill();
    this.left.bytes -= bytes;
    this.left.ms -= ms;
  };

  private refuseOver(): void {
    this.fill();
    const { left, whole } = this;
    const waitMs = Math.max((-left.bytes / whole.bytes) * MINUTE_MS, (-left.ms / whole.ms) * MINUTE_MS);
    if (waitMs < 0 && this.running < AT_ONCE) return;
    throw new ServiceError('channel_budget_used', {
      values: [Math.round(whole.bytes / MIB), Math.round(whole.ms / 1_000), AT_ONCE],
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    });
  }

  private fill(): void {
    const now = this.clock.now();
    const share = Math.max(0, now - this.filledAt) / MINUTE_MS;
    this.filledAt = now;
    for (const name of ['bytes', 'ms'] as const)
      this.left[name] = Math.min(this.whole[name], this.left[name] + this.whole[name] * share);
  }
}

/** The budgets of this process, by the token of the channel. */
export function createChannelBudgets({ mibPerMinute, secondsPerMinute }: KeylessLimits, clock: Clock) {
  const whole = { bytes: mibPerMinute * MIB, ms: secondsPerMinute * 1_000 };
  const budgets = new Map<string, ChannelBudget>();
  return {
    /** @param token of an existing channel */
    of(token: string): ChannelBudget {
      if (budgets.size >= MOST)
        for (const [otherToken, budget] of budgets) if (budget.isWhole) budgets.delete(otherToken);
      return budgets.getOrInsertComputed(token, () => new ChannelBudget(whole, clock));
    },
  };
}
