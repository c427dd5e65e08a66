import type { MeasuredRequest, SentRequest } from '../http/server/server.ts';
import { BoundedMap } from '../kernel/bounded-map.ts';
import { type Actor, actorOf } from '../projects/projects.ts';

export type RecentKind = 'failed' | 'slow';

/** A request of a project that failed or was slow, with the beginning of its body. */
interface RecentRequest extends SentRequest {
  readonly requestId: string;
  readonly kind: RecentKind;
  readonly at: number;
  readonly method: string;
  readonly status: number;
  readonly ms: number;
  readonly by: Actor;
}

/** Source: docs/interface §14.9. A request takes up to 6 KB, so all take at most 30 MB. */
const MOST = { ofKind: 50, inAll: 5_000 };
/** Requests to these routes are about people and keys. */
const NEVER_NOTED = /^\/management\/(session|owner|links|invitations|users|api-keys|webhook-endpoints)/;

/** Keeps the latest requests of each project in the memory of this process. */
export class RecentRequests {
  private readonly byProject = new BoundedMap<number, Record<RecentKind, RecentRequest[]>>({
    most: MOST.inAll,
    weigh: ({ failed, slow }) => failed.length + slow.length,
  });

  /** Ignores requests without a known project. */
  add(request: MeasuredRequest, describe: () => SentRequest, answeredAt: number): void {
    const { caller, method, status, requestId } = request;
    // A key of one project may exceed its rate limit before the project is determined.
    const ownProject = caller?.scope.type === 'project' ? caller.scope.id : undefined;
    const projectId = request.projectId ?? ownProject;
    if (caller === undefined || projectId === undefined || NEVER_NOTED.test(request.route)) return;
    const kind = status >= 400 ? 'failed' : 'slow';
    const noted = this.byProject.peek(projectId) ?? { failed: [], slow: [] };
    const ms = Math.round(request.seconds * 1000);
    // Copied because a substring would retain the whole string, such as a URL of 128 KiB.
    const copy = JSON.parse(JSON.stringify(describe())) as SentRequest;
    noted[kind].push({ requestId, kind, at: answeredAt, method, status, ms, by: actorOf(caller), ...copy });
    if (noted[kind].length > MOST.ofKind) noted[kind].shift();
    // Updates the weight of the project, and makes it the last one to be evicted.
    this.byProject.set(projectId, noted);
  }

  /** @returns the newest requests first */
  list(projectId: number, kind?: RecentKind): RecentRequest[] {
    const { failed = [], slow = [] } = this.byProject.peek(projectId) ?? {};
    const chosen = kind === undefined ? [...failed, ...slow] : { failed, slow }[kind];
    return chosen.toReversed().toSorted((a, b) => b.at - a.at);
  }

  forget(projectId: number): void {
    this.byProject.delete(projectId);
  }
}
