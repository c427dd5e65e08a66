import { setTimeout as delay } from 'node:timers/promises';
import { listProjectsWithEvents } from '../events/events.ts';
import type { Base } from '../storage/storage.ts';
import { logTrouble, Poll, releaseLeases } from '../tasks/tasks.ts';
import type { SendDelivery } from './delivery-sender.ts';
import { type CatalogEvents, fanOut } from './event-fan-out.ts';
import { LaneSender } from './lane-sender.ts';
import { hasEndpoints, listListenedProjects } from './webhook-store.ts';

interface DispatcherParts extends Pick<Base, 'clock' | 'database' | 'logger'> {
  readonly catalogs: CatalogEvents;
  readonly send: SendDelivery;
}

/** The interval at which due retries, and events that other processes recorded, are sent. */
const POLL_MS = 500;
/** A round begins after this delay, so that it includes events that were recorded almost simultaneously. */
const GATHER_MS = 20;
/** The maximum number of projects in a round. */
const PROJECTS = 100;

/**
 * Sends recorded events until it is closed. Every process that runs tasks has one. Deliveries are polled and leased
 * like tasks, but a lease covers a whole lane, whose deliveries are sent one after another with one write each.
 */
export class Dispatcher {
  private readonly parts: DispatcherParts;
  private readonly lanes: LaneSender;
  private readonly poll: Poll;
  /** Projects whose catalogs were written. On a shared database a query finds their events instead. */
  private readonly woken = new Set<number>();
  private readonly failing = new Set<number>();

  constructor(parts: DispatcherParts) {
    this.parts = parts;
    this.lanes = new LaneSender({ ...parts, onSent: () => this.wake() });
    const round = (signal: AbortSignal) => this.round(signal);
    this.poll = new Poll({ logger: parts.logger, subject: 'webhooks', restMs: POLL_MS, round });
  }

  /** Resumes the deliveries of an earlier process and starts sending. */
  async start(): Promise<void> {
    const { database } = this.parts;
    if (!database.isShared) {
      // This process has the lock of the data folder, so the process that held these leases has ended.
      await releaseLeases(database, 'webhook_queue');
      for (const id of await listListenedProjects(database.read)) this.woken.add(id);
    }
    this.poll.start();
  }

  /** Waits for attempts that are in progress. */
  async close(): Promise<void> {
    await this.poll.close();
    await this.lanes.close();
  }

  /** Call it when there may be events to send. @param projectId a project whose catalog may have events */
  wake(projectId?: number): void {
    if (projectId !== undefined && !this.parts.database.isShared) this.woken.add(projectId);
    this.poll.wake();
  }

  private async round(signal: AbortSignal): Promise<void> {
    const { database } = this.parts;
    await delay(GATHER_MS, undefined, { ref: false });
    if (!(await hasEndpoints(database.read))) return this.woken.clear();
    const projects = new Set([...this.woken, ...(await listProjectsWithEvents(database, PROJECTS))]);
    const failures = new Map<number, unknown>();
    for (const id of projects) {
      if (signal.aborted) return;
      // A catalog that cannot be read must not delay the others.
      await this.passOn(id, signal).catch((error: unknown) => void failures.set(id, error));
    }
    // Throws while the database is unreachable, so that the log has one line and not one for each project.
    await this.lanes.claimDue(signal);
    for (const id of projects) this.noteProject(id, failures);
  }

  private async passOn(projectId: number, signal: AbortSignal): Promise<void> {
    // Removed before reading, so that events that are recorded during the read add the project again.
    this.woken.delete(projectId);
    try {
      if (await fanOut(this.parts, projectId, this.parts.clock.now())) this.wake(projectId);
    } catch (error) {
      this.woken.add(projectId);
      throw error;
    }
    await this.lanes.claimDue(signal);
  }

  private noteProject(projectId: number, failures: ReadonlyMap<number, unknown>): void {
    if (!failures.has(projectId)) return void this.failing.delete(projectId);
    if (this.failing.has(projectId)) return;
    this.failing.add(projectId);
    logTrouble(
      this.parts.logger,
      'creating the deliveries of the events of a project failed; it is retried',
      {
        project: projectId,
        err: failures.get(projectId),
      },
    );
  }
}
