import type { DatabaseSync } from 'node:sqlite';
import { dataFolderAt } from '../../storage/folder/folder.ts';
import { connect } from '../files/files.ts';
import type { BackupTarget } from '../target/target.ts';
import { HANDOVER_MS, type HeldLease, readHandover } from '../timeline/timeline.ts';
import { inData } from './failures.ts';
import type { StreamReport } from './stream-report.ts';

interface HandoverParts {
  readonly dataDir: string;
  readonly target: BackupTarget;
  readonly report: StreamReport;
  /** Whether everything in the target is encrypted, so that requests are authenticated. */
  readonly isSealed: boolean;
}

interface StartedHandover {
  /** Prevents other code from changing the control database, which records everything that is accepted. */
  readonly lock: DatabaseSync;
  readonly until: number;
  readonly request: string;
}

/**
 * Refuses changes when another service requests it, so that the other service takes over everything that was accepted.
 */
export class Handover {
  private readonly parts: HandoverParts;
  private started: StartedHandover | undefined;
  /** The request to hand over after which no service took the lease. */
  private ignoredRequest: string | undefined;

  constructor(parts: HandoverParts) {
    this.parts = parts;
  }

  get isStarted(): boolean {
    return this.started !== undefined;
  }

  /** Whether the other service has not taken the lease in time. */
  get isOver(): boolean {
    return this.started !== undefined && performance.now() >= this.started.until;
  }

  /** @returns the request that is being followed, or a new one */
  async findRequest({ epoch }: HeldLease): Promise<string | undefined> {
    const { target, isSealed } = this.parts;
    const request = await readHandover(target, epoch, isSealed);
    return this.started?.request ?? (request === this.ignoredRequest ? undefined : request);
  }

  /**
   * Refuses changes, even in requests in progress. The state is set first, so that few changes wait for the lock until
   * they fail.
   */
  start(request: string): void {
    if (this.started !== undefined) return;
    const { report, dataDir } = this.parts;
    report.set('isHandingOver', 1);
    try {
      const until = performance.now() + HANDOVER_MS;
      this.started = { lock: inData(() => lockChanges(dataDir)), until, request };
    } catch (error) {
      report.set('isHandingOver', 0);
      throw error;
    }
  }

  /** Accepts changes again. */
  end(): void {
    if (this.started === undefined) return;
    const { report, isSealed } = this.parts;
    const { lock, request } = this.started;
    this.ignoredRequest = isSealed ? request : undefined;
    lock.close();
    this.started = undefined;
    report.set('isHandingOver', 0);
  }

  /** Releases the files. Changes stay refused, because the service stops. */
  close(): void {
    this.started?.lock.close();
  }
}

/** While the lock is held, no row is added to the control database. */
function lockChanges(dataDir: string): DatabaseSync {
  const lock = connect(dataFolderAt(dataDir).control, 1_000);
  if (lock === undefined) throw new Error('control.db no longer exists');
  try {
    lock.exec('begin immediate');
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}
