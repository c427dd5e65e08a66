/** In which order the parts of the service start and stop. */
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

  /** Resumes what a former process left, then serves. @returns the address */
  async start(): Promise<string> {
    const { backup, config, door, logger, server, version, watch } = this.parts;
    this.traces = await openTraces(config.traces, { logger, version });
    const promoted = () => this.beginWork();
    // Before changes are accepted: later, a payload without an owner may be one whose request is about to be accepted.
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

  /** Starts the threads of the first update and the first related products, which take a while to load. */
  startThreads(): void {
    const { parsers, relationReaders, writers } = this.parts.threads;
    for (const pool of [writers, parsers, relationReaders]) pool.start();
  }

  /** Stops accepting, finishes requests in flight, hands running tasks back. */
  async stop(): Promise<void> {
    const { door, readers, server, storage, tasks, threads } = this.parts;
    const { access, catalog, channels, pipelines, statistics, watch } = this.parts;
    this.terms.readiness.isReady = false;
    // Callers that wait for tasks are answered now, as the server waits for every request.
    tasks.watch.close();
    await door?.close();
    await server.close();
    this.upkeep.stop();
    const users = [...this.listWork(), watch, pipelines, channels, statistics];
    // An unreachable database must not keep the process from ending; leases expire by themselves.
    await this.closeAll([...users, catalog, ...Object.values(threads), access]);
    await readers?.close();
    await storage.close();
    await this.traces?.close();
  }

  /** Resumes what a former process left. */
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

  /** Hands running tasks back, and starts no more. */
  private async stopWork(): Promise<void> {
    this.upkeep.stop();
    await this.closeAll(this.listWork());
  }

  /** What starts or runs tasks, in the order in which it stops. */
  private listWork() {
    const { channels, pipelines, tasks, webhooks } = this.parts;
    return [pipelines.schedule, channels.schedule, channels.changes, tasks, webhooks];
  }

  private async closeAll(users: readonly { close(): Promise<void> }[]): Promise<void> {
    for (const user of users)
      await user
        .close()
        .catch((error) => this.parts.logger.warn({ err: error }, 'stopping was not complete'));
  }

  /** Runs work of a start that reads all catalogs: while a worker of Citus is away, it is left to the next start. */
  private async postponable(what: string, work: () => Promise<void>): Promise<void> {
    const { logger, storage } = this.parts;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'not_ready' && storage.postgres)) throw error;
      const reason = error.cause instanceof Error ? error.cause.message : error.message;
      logger.warn({ reason }, `${what} failed at the start; it is retried at the next start`);
    }
  }
}
