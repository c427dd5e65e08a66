import { type NotedRequest, REQUEST_COUNTS, type RequestCount, sumOf } from './count-store.ts';
import { MinuteCounts } from './minute-counts.ts';

interface AnsweredRequest extends Omit<NotedRequest, 'at'> {
  /** Whether requests of this kind normally take long. */
  readonly isPatient: boolean;
}

/** Source: docs/interface §14.7. */
const SLOW_MS = 1_000;
/** The key id of the row that counts all keys and sessions of an account. */
export const WHOLE_ACCOUNT = 0;
/** The maximum number of noted requests between two writes; the least severe are discarded. */
const MOST_NOTED = 50;

/** Counts requests since the last write, and notes those that failed or were slow. */
export class RequestTally {
  private readonly counts = new MinuteCounts<RequestCount>();
  private noted: NotedRequest[] = [];

  add(request: AnsweredRequest, now: number): void {
    const { accountId, status, ms } = request;
    const isSlow = ms >= SLOW_MS && !request.isPatient;
    const outcome = outcomeOf(status);
    for (const apiKeyId of new Set([WHOLE_ACCOUNT, request.apiKeyId])) {
      const begin = (beginsAt: number) => ({
        accountId,
        apiKeyId,
        at: beginsAt,
        ...sumOf(REQUEST_COUNTS, []),
      });
      const count = this.counts.of(`${accountId} ${apiKeyId}`, now, begin);
      count.requests += 1;
      count.totalMs += ms;
      if (isSlow) count.slow += 1;
      if (outcome !== undefined) count[outcome] += 1;
    }
    if (isSlow || status >= 500) this.note(request, now);
  }

  private note({ isPatient: _, ...request }: AnsweredRequest, now: number): void {
    this.noted.push({ ...request, at: now, ms: Math.round(request.ms) });
    if (this.noted.length <= MOST_NOTED) return;
    const mildest = this.noted.reduce((least, request) => (weigh(request) < weigh(least) ? request : least));
    this.noted.splice(this.noted.indexOf(mildest), 1);
  }

  take() {
    const taken = { counts: this.counts.take(), noted: this.noted };
    this.noted = [];
    return taken;
  }
}

/** @returns the count to raise besides `requests`; undefined if the request succeeded */
function outcomeOf(status: number): 'limited' | 'failed' | 'refused' | undefined {
  if (status === 429) return 'limited';
  if (status >= 500) return 'failed';
  return status >= 400 ? 'refused' : undefined;
}

/** A failure outweighs any duration. */
const weigh = ({ status, ms }: NotedRequest) => (status >= 500 ? 1e9 : 0) + ms;
