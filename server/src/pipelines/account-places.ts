import { ServiceError } from '../kernel/errors.ts';
import { OpenCounts } from '../kernel/open-counts.ts';

export interface PlaceLimits {
  readonly inProcess: number;
  /** Fewer for one account, so that none keeps the others out. */
  readonly inAccount: number;
  /** The most of an account that may wait; more are refused. */
  readonly waiting: number;
}

/** The account that work is done for. */
export interface Requester {
  readonly accountId: number;
  /** Aborts when the caller disconnects. */
  readonly signal?: AbortSignal | undefined;
}

/** When to retry: most of the work takes no longer. */
const RETRY_SECONDS = 5;

/** Places for work of which a process may only do so much at a time. Accounts share them, and waiting ones take turns. */
export class AccountPlaces {
  readonly #limits: PlaceLimits;
  /** By account. */
  readonly #taken = new OpenCounts<number>();
  readonly #waiting: { readonly accountId: number; begin(): void }[] = [];

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** @throws rate_limited if the account has its share, not_ready if others have the rest; the reason of the signal */
  async use<Result>({ accountId, signal }: Requester, work: () => Promise<Result>): Promise<Result> {
    signal?.throwIfAborted();
    const end = this.#hasRoom(accountId) ? this.#taken.begin(accountId) : await this.#wait(accountId, signal);
    try {
      return await work();
    } finally {
      end();
      this.#beginNext();
    }
  }

  #hasRoom(accountId: number): boolean {
    return this.#taken.all() < this.#limits.inProcess && this.#taken.of(accountId) < this.#limits.inAccount;
  }

  #beginNext(): void {
    const at = this.#waiting.findIndex((one) => this.#hasRoom(one.accountId));
    if (at < 0) return;
    const [next] = this.#waiting.splice(at, 1);
    next?.begin();
  }

  /** @returns a function that gives the place back */
  async #wait(accountId: number, signal: AbortSignal | undefined): Promise<() => void> {
    const before = this.#waiting.filter((one) => one.accountId === accountId).length;
    if (before >= this.#limits.waiting) throw this.#refuse(accountId);
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const begin = () => resolve(this.#taken.begin(accountId));
    const waiting = { accountId, begin };
    const leave = () => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      reject(signal?.reason);
    };
    this.#waiting.push(waiting);
    signal?.addEventListener('abort', leave, { once: true });
    return promise.finally(() => signal?.removeEventListener('abort', leave));
  }

  #refuse(accountId: number): ServiceError {
    const { inAccount, waiting } = this.#limits;
    const isOwn = waiting > 0 || this.#taken.of(accountId) >= inAccount;
    if (!isOwn) return new ServiceError('not_ready', { retryAfterSeconds: RETRY_SECONDS });
    const queue = waiting > 0 ? ` and ${waiting} wait` : '';
    const details = [
      `${inAccount} such requests of this account are under way at a time${queue}; send fewer at once`,
    ];
    return new ServiceError('rate_limited', { retryAfterSeconds: RETRY_SECONDS, details });
  }
}
