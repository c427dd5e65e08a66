import { ServiceError } from '../../kernel/errors.ts';

/** Source of the four: docs/interface.md §7.2 rule 7. */
const STALL_SECONDS = 30;
const BASE_SECONDS = 60;
const SECONDS_PER_MIB = 10;
const LEAST_BYTES_PER_MINUTE = 1024 * 1024;

interface PaceTerms {
  /** What is announced, or else allowed. */
  readonly allowedMib: number;
  findRefusal(): Promise<Error | undefined>;
  /** Called once. */
  refuse(error: Error): void;
}

/** Whether the sender of a body is fast enough and may go on, looked at each second until the body has ended. */
export class SenderPace {
  /** The sender waits for us: its time stands still. */
  isHeld = false;
  hasEnded = false;
  private readonly terms: PaceTerms;
  private readonly timer: NodeJS.Timeout;
  private readonly allowedSeconds: number;
  private seconds = 0;
  private silentSeconds = 0;
  private bytesOfMinute = 0;
  private isAsking = false;

  constructor(terms: PaceTerms) {
    this.terms = terms;
    this.allowedSeconds = BASE_SECONDS + Math.ceil(terms.allowedMib * SECONDS_PER_MIB);
    this.timer = setInterval(() => this.look(), 1_000);
  }

  arrived(bytes: number): void {
    this.silentSeconds = 0;
    this.bytesOfMinute += bytes;
  }

  end(): void {
    this.hasEnded = true;
    clearInterval(this.timer);
  }

  private look(): void {
    const error = this.isHeld ? undefined : this.findFault();
    if (error !== undefined) this.refuse(error);
    else void this.askForRefusal();
  }

  private findFault(): ServiceError | undefined {
    this.seconds += 1;
    this.silentSeconds += 1;
    if (this.silentSeconds >= STALL_SECONDS)
      return new ServiceError('body_stalled', { values: [STALL_SECONDS] });
    const isMinuteOver = this.seconds % 60 === 0;
    const isSlow = isMinuteOver && this.bytesOfMinute < LEAST_BYTES_PER_MINUTE;
    if (isMinuteOver) this.bytesOfMinute = 0;
    if (!isSlow && this.seconds < this.allowedSeconds) return undefined;
    return new ServiceError('body_slow', { values: [this.allowedSeconds] });
  }

  private async askForRefusal(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    const refusal = await this.terms.findRefusal();
    this.isAsking = false;
    if (refusal !== undefined) this.refuse(refusal);
  }

  private refuse(error: Error): void {
    if (this.hasEnded) return;
    this.end();
    this.terms.refuse(error);
  }
}
