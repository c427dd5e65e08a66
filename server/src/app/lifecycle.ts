/** Starts and stops the parts of the service in order. */
import { listenOn } from '../http/server/server.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Parts } from './parts.ts';
import type { Role } from './stores.ts';
import { openTraces } from './traces.ts';
import { startUpkeep } from './upkeep.ts';

export interface Readiness {
  /** Whether requests are served. */
  isReady: boolean;
}

interface LifecycleTerms {
  readonly role: Role;
  readonly readiness: Readiness;
}

export class Lifecycle {
  private readonly parts: Parts;
  private readonly terms: LifecycleTerms;
  private readonly upkeep: ReturnType<typeof startUpkeep>;
  private traces: Awaited<ReturnType<typeof openTraces>>;

  constructor(parts: Parts, terms: LifecycleTerms) {
    this.parts = parts;
    this.terms = terms;
    this.upkeep = startUpkeep(parts);
  }

  /** Resumes the work of an earlier process, then serves. @returns the address */
  async start(): Promise<string> {
    const { backup, config, door, logger, server, version, watch } = this.parts;
    this.traces = await openTraces(config.traces, { logger, version });
    const promoted = () => this.beginWork();
    // Runs before changes are accepted. Later, a payload without an owner may belong to a request in progress.
    const promoting = this.upkeep.removeOrphans;
    backup?.start(logger, { superseded: () => this.stopWork(), promoting, promoted });
    if (!backup?.isStandby()) {
      await this.postponable('removing bodies without a request', this.upkeep.removeOrphans);
      await this.beginWork();
    }
    watch.start();
    await door?.close();
    const address = await listenOn(server, config);
    this.terms.readiness.isReady = true;
    return address;
  }

  /** Starts the threads for updates and related products early, because loading them takes half a second. */
  startThreads(): void {
    const { parsers, relationReaders, writers } = this.parts.threads;
    for (const pool of [writers, parsers, relationReaders]) pool.start();
  }

  /** Stops accepting requests, finishes requests in progress and hands running tasks back. */
  async stop(): Promise<void> {
    const { door, readers, server, storage, tasks, threads } = this.parts;
    const { access, catalog, channels, pipelines, statistics, watch } = this.parts;
    this.terms.readiness.isReady = false;
    // Answers callers that wait for tasks now, because the server waits for every request.
    tasks.watch.close();
    await door?.close();
    await server.close();
    this.upkeep.stop();
    const users = [...this.listWork(), watch, pipelines, channels, statistics];
    // An unreachable database must not prevent the process from ending. Leases expire by themselves.
    await this.closeAll([...users, catalog, ...Object.values(threads), access]);
    await readers?.close();
    await storage.close();
    await this.traces?.close();
  }

  /** Resumes the work of an earlier process. */
  private async beginWork(): Promise<void> {
    const { catalog, channels, pipelines, tasks, webhooks } = this.parts;
    const { role } = this.terms;
    await catalog.start({ takesBatches: role !== 'worker' });
    await this.upkeep.sealSecrets();
    await tasks.start();
    channels.changes.start();
    if (role !== 'api') {
      for (const { schedule } of [pipelines, channels]) schedule.start();
      await webhooks.start();
    }
    this.upkeep.start();
  }

  /** Hands running tasks back and starts no new ones. */
  private async stopWork(): Promise<void> {
    this.upkeep.stop();
    await this.closeAll(this.listWork());
  }

  /** @returns the parts that start or run tasks, in the order in which they stop */
  private listWork() {
    const { channels, pipelines, tasks, webhooks } = this.parts;
    return [pipelines.schedule, channels.schedule, channels.changes, tasks, webhooks];
  }

  private async closeAll(users: readonly { close(): Promise<void> }[]): Promise<void> {
    for (const user of users)
      await user
        .close()
        .catch((error) =>
          this.parts.logger.warn({ err: error }, 'stopping a part of the service failed; the stop continues'),
        );
  }

  /** Runs start-up work that reads all catalogs. If a worker of Citus is unreachable, the next start repeats it. */
  private async postponable(step: string, work: () => Promise<void>): Promise<void> {
    const { logger, storage } = this.parts;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'not_ready' && storage.postgres)) throw error;
      const reason = error.cause instanceof Error ? error.cause.message : error.message;
      logger.warn({ step, reason }, 'a step of the start failed; it is retried at the next start');
    }
  }
}
