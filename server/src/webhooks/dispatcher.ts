import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { listProjectsWithEvents } from '../events/events.ts';
import { ServiceError } from '../kernel/errors.ts';
import { type LaneParts, sendLane } from './delivery-lanes.ts';
import { hasEndpoints, listListenedProjects } from './endpoint-store.ts';
import { type CatalogEvents, fanOut } from './fan-out.ts';
import { type ClaimedLane, claimLanes, releaseLanes } from './queue-store.ts';

export interface DispatcherParts extends Omit<LaneParts, 'owner'> {
  readonly catalogs: CatalogEvents;
}

/** How soon a retry that is due goes out, and an event that another process recorded. */
const LOOK_MS = 500;
/** While the database is away. */
const BACK_OFF_MS = 2_000;
/** What happens within it is one look. */
const GATHER_MS = 20;
/** Of a process; one endpoint that is slow leaves room for others. */
const LANES = 32;
const LANES_OF_ENDPOINT = 4;
const PROJECTS = 100;

/** Sends what was recorded, until it is closed; every process that runs tasks has one. */
export class Dispatcher {
  private readonly parts: DispatcherParts;
  private readonly owner = randomBytes(8).toString('hex');
  /** Projects whose catalogs were written; on a shared database their events are found by a query. */
  private readonly woken = new Set<number>();
  /** Projects whose failure is logged. */
  private readonly failing = new Set<number>();
  private readonly running = new Map<string, { readonly lane: ClaimedLane; readonly ended: Promise<void> }>();
  private readonly stopped = new AbortController();
  private isWoken = false;
  private wakeUp: () => void = () => {};
  private loop: Promise<void> = Promise.resolve();

  constructor(parts: DispatcherParts) {
    this.parts = parts;
  }

  /** Takes over what a former process left. */
  async start(): Promise<void> {
    const { database } = this.parts;
    if (!database.isShared) {
      // The lock of the data folder shows that the process that held these is dead.
      await releaseLanes(database);
      for (const id of await listListenedProjects(database.read)) this.woken.add(id);
    }
    this.loop = this.run();
  }

  /** Says that there may be something to send; with a project, also in its catalog. */
  wake(projectId?: number): void {
    if (projectId !== undefined && !this.parts.database.isShared) this.woken.add(projectId);
    this.isWoken = true;
    this.wakeUp();
  }

  /** Waits for attempts under way: their outcome is stored, or another process repeats them. */
  async close(): Promise<void> {
    this.stopped.abort();
    this.wakeUp();
    await this.loop;
    await Promise.all([...this.running.values()].map(({ ended }) => ended));
    // The process must end while the database is away, too.
    await releaseLanes(this.parts.database, this.owner).catch((error: unknown) =>
      this.parts.logger.warn({ err: error }, 'lanes of webhooks could not be given up, their leases run out'),
    );
  }

  private async run(): Promise<void> {
    let isFailing = false;
    while (!this.stopped.signal.aborted) {
      let waitMs = LOOK_MS;
      try {
        await this.look();
        isFailing = false;
      } catch (error) {
        // Once, and not every time while a database is away.
        if (!isFailing) this.logFailure(error, 'webhooks cannot be looked after, it is tried again');
        isFailing = true;
        waitMs = BACK_OFF_MS;
      }
      await this.rest(waitMs);
    }
  }

  private logFailure(error: unknown, text: string, facts: object = {}): void {
    const { logger } = this.parts;
    const log = error instanceof ServiceError ? logger.warn : logger.error;
    log.call(logger, { ...facts, err: error }, text);
  }

  private async rest(waitMs: number): Promise<void> {
    if (!this.isWoken) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.wakeUp = resolve;
      const timer = setTimeout(resolve, waitMs);
      timer.unref();
      if (this.stopped.signal.aborted) resolve();
      await promise;
      clearTimeout(timer);
    }
    this.isWoken = false;
    await delay(GATHER_MS, undefined, { ref: false });
  }

  private async look(): Promise<void> {
    const { database } = this.parts;
    if (!(await hasEndpoints(database.read))) return this.woken.clear();
    const projects = new Set([...this.woken, ...(await listProjectsWithEvents(database, PROJECTS))]);
    const failures = new Map<number, unknown>();
    for (const id of projects) {
      if (this.stopped.signal.aborted) return;
      // One that cannot be read must not keep the others waiting.
      await this.fanOut(id).catch((error: unknown) => void failures.set(id, error));
    }
    // Throws while the database is away, which is the failure to tell of then, and not that of each project.
    await this.claim();
    for (const id of projects) this.noteProject(id, failures);
  }

  private noteProject(projectId: number, failures: ReadonlyMap<number, unknown>): void {
    if (!failures.has(projectId)) return void this.failing.delete(projectId);
    if (this.failing.has(projectId)) return;
    this.failing.add(projectId);
    const text = 'events of a project cannot be passed on, it is tried again';
    this.logFailure(failures.get(projectId), text, { projectId });
  }

  private async fanOut(projectId: number): Promise<void> {
    const { clock } = this.parts;
    // Before it is read: what comes meanwhile wakes again.
    this.woken.delete(projectId);
    try {
      if (await fanOut(this.parts, projectId, clock.now())) this.wake(projectId);
    } catch (error) {
      this.woken.add(projectId);
      throw error;
    }
    await this.claim();
  }

  private async claim(): Promise<void> {
    const limit = LANES - this.running.size;
    if (limit <= 0 || this.stopped.signal.aborted) return;
    const running = new Map<number, number>();
    for (const { lane } of this.running.values())
      running.set(lane.endpointId, (running.get(lane.endpointId) ?? 0) + 1);
    const now = this.parts.clock.now();
    const wish = { owner: this.owner, now, limit, perEndpoint: LANES_OF_ENDPOINT, running };
    for (const lane of await claimLanes(this.parts.database, wish)) this.begin(lane);
  }

  private begin(lane: ClaimedLane): void {
    const key = `${lane.endpointId} ${lane.lane}`;
    // This process was suspended, and sends it still.
    if (this.running.has(key)) return;
    const ended = sendLane({ ...this.parts, owner: this.owner }, lane, this.stopped.signal)
      // The deliveries of a lane are stored with their next attempt; one lane must not end the loop for all.
      .catch((error: unknown) =>
        this.logFailure(error, 'a webhook could not be delivered, it is tried again'),
      )
      .finally(() => {
        this.running.delete(key);
        this.wake();
      });
    this.running.set(key, { lane, ended });
  }
}
