import { ServiceError } from '../../kernel/errors.ts';
import type { Database } from '../../storage/storage.ts';
import {
  type ChosenSession,
  type FullUpdate,
  findFullUpdate,
  findLatestFullUpdate,
  findLatestOfCaller,
  ORIGIN_OF_CALLERS,
} from './full-update-store.ts';

/**
 * Finds the full update that a call concerns. A call without a name never concerns a full update that another key or
 * user began. Otherwise its batches would go into a foreign full update, and its start would delete the products of
 * the other caller. Source: docs/interface §4.4 rule 33.
 */
export class SessionChoice {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** @throws full_update_missing, full_update_other, full_update_replaced, full_update_foreign */
  getOpen(projectId: number, chosen: ChosenSession): Promise<FullUpdate> {
    return isNamed(chosen) ? this.getNamed(projectId, chosen) : this.getOwn(projectId, chosen.caller);
  }

  /**
   * Finds a full update for calls that change nothing.
   * @throws full_update_missing, full_update_other, full_update_replaced
   */
  getShown(projectId: number, chosen: ChosenSession): Promise<FullUpdate> {
    return this.getOpen(projectId, chosen).catch((error: unknown) => {
      const isForeign = error instanceof ServiceError && error.code === 'full_update_foreign';
      if (!isForeign) throw error;
      return this.getNamed(projectId, { ...chosen, fullUpdateId: Number(error.facts.values?.[0]) });
    });
  }

  /** @returns the open full update of any caller @throws full_update_missing */
  async getAny(projectId: number): Promise<FullUpdate> {
    const latest = await this.findLatest(projectId);
    if (latest?.state !== 'open') throw new ServiceError('full_update_missing');
    return latest;
  }

  /** @returns the full update that a start concerns, if its commit began before */
  async findStarted(projectId: number, chosen: ChosenSession): Promise<FullUpdate | undefined> {
    const latest = isNamed(chosen)
      ? await this.findLatest(projectId)
      : await this.findLatestOwn(projectId, chosen.caller);
    const isMeant = !isNamed(chosen) || latest?.id === chosen.fullUpdateId;
    return isMeant && latest?.commitTaskId !== undefined ? latest : undefined;
  }

  /**
   * Refuses a batch before it is read, if it belongs to no full update of its caller.
   * @throws full_update_replaced, _foreign
   */
  async refuseForeign(projectId: number, chosen: ChosenSession): Promise<void> {
    await this.getOpen(projectId, chosen).catch((error: unknown) => {
      if (error instanceof ServiceError && OF_OTHERS.has(error.code)) throw error;
    });
  }

  /** @throws full_update_missing, full_update_other, full_update_replaced */
  private async getNamed(projectId: number, { fullUpdateId: id, caller }: NamedSession): Promise<FullUpdate> {
    const latest = await this.findLatest(projectId);
    if (latest?.state === 'open' && latest.id === id) return latest;
    const named = await findFullUpdate(this.database.read, { projectId, id });
    await this.refuseReplaced(named, caller);
    if (latest?.state !== 'open') throw new ServiceError('full_update_missing');
    return refuseOther(latest, id);
  }

  /** @throws full_update_missing, full_update_replaced, full_update_foreign */
  private async getOwn(projectId: number, caller: string): Promise<FullUpdate> {
    const own = await this.findLatestOwn(projectId, caller);
    if (own?.state === 'open') return own;
    await this.refuseReplaced(own, caller);
    const latest = await this.findLatest(projectId);
    if (latest?.state === 'open') throw new ServiceError('full_update_foreign', { values: [latest.id] });
    throw new ServiceError('full_update_missing');
  }

  /**
   * Passes if the caller itself replaced its full update, because it knows that the old one is discarded.
   * @throws full_update_replaced if another caller replaced it
   */
  private async refuseReplaced(own: FullUpdate | undefined, caller: string): Promise<void> {
    if (own?.replacedBy === undefined) return;
    const { projectId, replacedBy: id } = own;
    const by = await findFullUpdate(this.database.read, { projectId, id });
    if (by?.openedBy === undefined || by.openedBy === caller) return;
    throw new ServiceError('full_update_replaced', { values: [own.id, id] });
  }

  private findLatest(projectId: number): Promise<FullUpdate | undefined> {
    return findLatestFullUpdate(this.database, { projectId, origin: ORIGIN_OF_CALLERS });
  }

  private findLatestOwn(projectId: number, caller: string): Promise<FullUpdate | undefined> {
    return findLatestOfCaller(this.database, { projectId, origin: ORIGIN_OF_CALLERS, caller });
  }
}

interface NamedSession extends ChosenSession {
  readonly fullUpdateId: number;
}

const isNamed = (chosen: ChosenSession): chosen is NamedSession => chosen.fullUpdateId !== undefined;

/** @throws full_update_other */
export function refuseOther(open: FullUpdate, id: number): FullUpdate {
  if (open.id === id) return open;
  throw new ServiceError('full_update_other', { values: [open.id, id] });
}

/** Refusals of calls that do not concern an open full update of their caller. */
export const OF_OTHERS: ReadonlySet<string> = new Set([
  'full_update_other',
  'full_update_replaced',
  'full_update_foreign',
]);
