import type { NotedRequest, RequestCount } from './request-count-store.ts';

/** What the server tells of an answered request. */
export interface AnsweredRequest {
  readonly requestId: string;
  readonly accountId: number;
  /** 0: no key, but a session of the console. */
  readonly apiKeyId: number;
  readonly projectId: number | null;
  readonly method: string;
  /** The pattern of the route. */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  /** Whether the caller asked for something that takes long. */
  readonly isPatient: boolean;
}

/** Source: docs/interface.md §14.7. */
export const SLOW_MS = 1_000;
export const MINUTE_SECONDS = 60;
export const HOUR_SECONDS = 3_600;
/** The row of an account stands for all its keys and sessions. */
export const WHOLE_ACCOUNT = 0;

/** Of each process between two writes; the worst are kept. */
const MOST_NOTED = 50;
/** Limit of unwritten keys and minutes: during a long database outage statistics are dropped. */
const MOST_COUNTS = 50_000;

/** Counts requests in memory: a write for each would cost more than most requests. */
export class RequestTally {
  private counts = new Map<string, Mutable<RequestCount>>();
  private noted: NotedRequest[] = [];

  add(request: AnsweredRequest, now: number): void {
    const { accountId, apiKeyId, status, ms } = request;
    const isSlow = ms >= SLOW_MS && !request.isPatient;
    this.count({ accountId, apiKeyId: WHOLE_ACCOUNT }, { status, ms, isSlow, now });
    if (apiKeyId !== WHOLE_ACCOUNT) this.count({ accountId, apiKeyId }, { status, ms, isSlow, now });
    if (isSlow || status >= 500) this.note(request, now);
  }

  private count(
    { accountId, apiKeyId }: Pick<RequestCount, 'accountId' | 'apiKeyId'>,
    { status, ms, isSlow, now }: { status: number; ms: number; isSlow: boolean; now: number },
  ): void {
    const at = now - (now % (MINUTE_SECONDS * 1000));
    const place = `${accountId} ${apiKeyId} ${at}`;
    let count = this.counts.get(place);
    if (count === undefined) {
      if (this.counts.size >= MOST_COUNTS) this.counts.clear();
      count = {
        accountId,
        apiKeyId,
        at,
        requests: 0,
        refused: 0,
        limited: 0,
        failed: 0,
        slow: 0,
        totalMs: 0,
      };
      this.counts.set(place, count);
    }
    count.requests += 1;
    count.totalMs += ms;
    if (isSlow) count.slow += 1;
    if (status === 429) count.limited += 1;
    else if (status >= 500) count.failed += 1;
    else if (status >= 400) count.refused += 1;
  }

  private note({ isPatient: _, ...request }: AnsweredRequest, now: number): void {
    this.noted.push({ ...request, at: now, ms: Math.round(request.ms) });
    if (this.noted.length <= MOST_NOTED) return;
    const mildest = this.noted.reduce((least, one) => (weigh(one) < weigh(least) ? one : least));
    this.noted.splice(this.noted.indexOf(mildest), 1);
  }

  /** @returns the counts since the last call */
  take(): { readonly counts: readonly RequestCount[]; readonly noted: readonly NotedRequest[] } {
    const taken = { counts: [...this.counts.values()], noted: this.noted };
    this.counts = new Map();
    this.noted = [];
    return taken;
  }
}

type Mutable<Row> = { -readonly [Field in keyof Row]: Row[Field] };

/** A failure weighs more than any time. */
const weigh = ({ status, ms }: NotedRequest) => (status >= 500 ? 1e9 : 0) + ms;
