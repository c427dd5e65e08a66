import { ServiceError } from '../kernel/errors.ts';
import { Turns } from '../kernel/turns.ts';

export interface PlaceLimits {
  readonly inProcess: number;
  /** Fewer, so that no account keeps the others out. */
  readonly inAccount: number;
  /** Of an account; more are refused. */
  readonly waiting: number;
}

/** For whom work is done. */
export interface Requester {
  readonly accountId: number;
  /** Aborts when the caller leaves. */
  readonly signal?: AbortSignal | undefined;
}

/** How soon to try again: most of what is refused takes no longer. */
const RETRY_SECONDS = 5;

/** Places for work that a process does only so much of at a time. Accounts share them; who waits is served in turn. */
export class AccountPlaces {
  readonly #limits: PlaceLimits;
  readonly #turns: Turns;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
    this.#turns = new Turns(limits.inProcess, limits.inAccount);
  }

  /** @throws rate_limited where the account has its share, not_ready where others have the rest; the reason of the signal */
  async use<Result>({ accountId, signal }: Requester, work: () => Promise<Result>): Promise<Result> {
    signal?.throwIfAborted();
    const { waiting } = this.#limits;
    if (!this.#turns.hasRoom(accountId) && this.#turns.countWaiting(accountId) >= waiting)
      throw this.#refuse(accountId);
    return this.#turns.take(work, accountId, signal);
  }

  #refuse(accountId: number): ServiceError {
    const { inAccount, waiting } = this.#limits;
    if (waiting === 0 && !this.#turns.isFull(accountId))
      return new ServiceError('not_ready', { retryAfterSeconds: RETRY_SECONDS });
    const queue = waiting > 0 ? ` and ${waiting} wait` : '';
    const details = [
      `${inAccount} such requests of this account are under way at a time${queue}; send fewer at once`,
    ];
    return new ServiceError('rate_limited', { retryAfterSeconds: RETRY_SECONDS, details });
  }
}
