import { ServiceError } from '../kernel/errors.ts';
import { OpenCounts } from '../kernel/open-counts.ts';

export interface PlaceLimits {
  readonly inProcess: number;
  /** The limit of one account. It is lower, so that no account blocks the others. */
  readonly inAccount: number;
  /** How many requests of an account may wait. Further requests are refused. */
  readonly waiting: number;
}

/** The account that a request works for. */
export interface Requester {
  readonly accountId: number;
  /** Aborts when the caller disconnects. */
  readonly signal?: AbortSignal | undefined;
}

/** When to retry. Most of the work takes no longer than this. */
const RETRY_SECONDS = 5;

/**
 * Limits work of which a process may do only so much at a time. Accounts share the places, and waiting accounts take
 * turns.
 */
export class AccountPlaces {
  readonly #limits: PlaceLimits;
  /** The number of taken places, by account. */
  readonly #taken = new OpenCounts<number>();
  readonly #waiting: { readonly accountId: number; begin(): void }[] = [];

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * @throws rate_limited if the account has used its share; not_ready if other accounts have taken all places; the
   * reason of the signal
   */
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
    const index = this.#waiting.findIndex((request) => this.#hasRoom(request.accountId));
    if (index < 0) return;
    const [next] = this.#waiting.splice(index, 1);
    next?.begin();
  }

  /** @returns a function that frees the place */
  async #wait(accountId: number, signal: AbortSignal | undefined): Promise<() => void> {
    const before = this.#waiting.filter((request) => request.accountId === accountId).length;
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
    const queue = waiting > 0 ? ` and queue ${waiting}` : '';
    const details = [
      `this account may run ${inAccount} such requests at a time${queue}; send fewer concurrent requests`,
    ];
    return new ServiceError('rate_limited', { retryAfterSeconds: RETRY_SECONDS, details });
  }
}
