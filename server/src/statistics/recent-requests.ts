import type { MeasuredRequest, SentRequest } from '../http/server/server.ts';
import type { Caller } from '../kernel/caller.ts';
import { type Actor, actorOf } from '../projects/projects.ts';

export type RecentKind = 'failed' | 'slow';

/** A request of a project that failed or was slow, with the beginning of its body. */
export interface RecentRequest extends SentRequest {
  readonly requestId: string;
  readonly kind: RecentKind;
  readonly at: number;
  readonly method: string;
  readonly status: number;
  readonly ms: number;
  readonly by: Actor;
}

/** Source: docs/interface.md §14.9. A request takes up to 6 KB: 30 MB at the worst. */
const MOST = { ofKind: 50, inAll: 5_000 };
/** Whatever is sent there is about people and keys. */
const NEVER_NOTED = /^\/management\/(session|owner|links|invitations|users|api-keys|webhook-endpoints)/;

/** The last ones of each project, in the memory of this process. */
export class RecentRequests {
  /** The project that was added to last is the last one. */
  private readonly byProject = new Map<number, Record<RecentKind, RecentRequest[]>>();
  private count = 0;

  /** Requests of which no project is known are left out. */
  add(request: MeasuredRequest, describe: () => SentRequest, at: number): void {
    const { caller, method, status, requestId } = request;
    const projectId = request.projectId ?? projectOf(caller);
    if (caller === undefined || projectId === undefined || NEVER_NOTED.test(request.route)) return;
    const kind = status >= 400 ? 'failed' : 'slow';
    const noted = this.byProject.get(projectId) ?? { failed: [], slow: [] };
    this.byProject.delete(projectId);
    this.byProject.set(projectId, noted);
    const ms = Math.round(request.seconds * 1000);
    // Copied: a part of a text would keep all of it, which may be a URL of 128 KiB.
    const copy = JSON.parse(JSON.stringify(describe())) as SentRequest;
    noted[kind].push({ requestId, kind, at, method, status, ms, by: actorOf(caller), ...copy });
    if (noted[kind].length > MOST.ofKind) noted[kind].shift();
    else this.count += 1;
    const [oldest] = this.byProject.keys();
    if (oldest !== undefined && this.count > MOST.inAll) this.forget(oldest);
  }

  /** @returns newest first */
  list(projectId: number, kind?: RecentKind): RecentRequest[] {
    const { failed = [], slow = [] } = this.byProject.get(projectId) ?? {};
    const chosen = kind === undefined ? [...failed, ...slow] : { failed, slow }[kind];
    return chosen.toReversed().toSorted((a, b) => b.at - a.at);
  }

  forget(projectId: number): void {
    const { failed = [], slow = [] } = this.byProject.get(projectId) ?? {};
    this.count -= failed.length + slow.length;
    this.byProject.delete(projectId);
  }
}

/** A key of one project is refused for its rate before the project is looked for. */
const projectOf = (caller: Caller | undefined) =>
  caller?.scope.type === 'project' ? caller.scope.id : undefined;
