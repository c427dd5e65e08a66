import { OutboundProblem } from './outbound-problem.ts';

/** How long the service waits for another, in milliseconds. */
export interface WaitLimits {
  /** Looking up the name, connecting and TLS. */
  readonly connectMs: number;
  /** Until the answer begins, and then between two pieces of it. */
  readonly idleMs: number;
  /** All waiting together. What the service itself needs for a piece is not counted. */
  readonly wholeMs: number;
}

type Waiting = 'connect' | 'answer' | 'piece';

const TEXTS: Readonly<Record<Waiting, string>> = {
  connect: 'could not be connected to',
  answer: 'did not begin to answer',
  piece: 'sent nothing more',
};

export interface Timeouts {
  /** @throws OutboundProblem timeout; the caller must then abandon the work */
  wait<Result>(what: Waiting, work: Promise<Result>): Promise<Result>;
  /** Whether nothing is left of the whole time: whatever is waited for now fails at once. */
  areUsedUp(): boolean;
}

/** @param who in the texts, as `The source` */
export function createTimeouts({ connectMs, idleMs, wholeMs }: WaitLimits, who: string): Timeouts {
  let leftMs = wholeMs;
  return {
    // A timer may end a fraction of a millisecond early.
    areUsedUp: () => leftMs < 1,
    async wait(what, work) {
      const ownMs = what === 'connect' ? connectMs : idleMs;
      const began = performance.now();
      let timer: NodeJS.Timeout | undefined;
      const expired = new Promise<never>((_, reject) => {
        const problem = ownMs < leftMs ? `${TEXTS[what]} for ${inSeconds(ownMs)}` : tooLong(wholeMs);
        timer = setTimeout(
          () => reject(new OutboundProblem('timeout', `${who} ${problem}`)),
          Math.min(ownMs, leftMs),
        );
      });
      try {
        return await Promise.race([work, expired]);
      } finally {
        clearTimeout(timer);
        leftMs = Math.max(0, leftMs - (performance.now() - began));
      }
    },
  };
}

const inSeconds = (ms: number) => `${ms / 1000} s`;
const tooLong = (ms: number) => `took longer than ${inSeconds(ms)} in all`;
