import { ServiceError } from '../../kernel/errors.ts';
import type { Database } from '../../storage/storage.ts';
import {
  type ChosenSession,
  type FullUpdate,
  findFullUpdate,
  findLatestFullUpdate,
  findLatestOfCaller,
} from './full-update-store.ts';

export type { ChosenSession };

/**
 * Finds the full update that a call concerns. Without a name a call never concerns a full update that another key or
 * user began: its batches would go into a foreign catalog state, and its start would delete the products of the other
 * caller. Source: docs/interface §4.4 rule 33.
 */
export function createSessionChoice(database: Database, origin: string) {
  const findLatest = (projectId: number) => findLatestFullUpdate(database, { projectId, origin });

  /** @throws full_update_missing, full_update_other, full_update_replaced */
  async function getNamed(projectId: number, { fullUpdateId: id, caller }: Named): Promise<FullUpdate> {
    const latest = await findLatest(projectId);
    if (latest?.state === 'open' && latest.id === id) return latest;
    const named = await findFullUpdate(database.read, { projectId, id });
    await refuseReplaced(named, caller);
    if (latest?.state !== 'open') throw new ServiceError('full_update_missing');
    throw new ServiceError('full_update_other', { values: [latest.id, id] });
  }

  /** @throws full_update_replaced if another caller did that; who begins a new one knows that the old one is gone */
  async function refuseReplaced(own: FullUpdate | undefined, caller: string): Promise<void> {
    if (own?.replacedBy === undefined) return;
    const { projectId, replacedBy: id } = own;
    const by = await findFullUpdate(database.read, { projectId, id });
    if (by?.openedBy === undefined || by.openedBy === caller) return;
    throw new ServiceError('full_update_replaced', { values: [own.id, id] });
  }

  /** @throws full_update_missing, full_update_replaced, full_update_foreign */
  async function getOwn(projectId: number, caller: string): Promise<FullUpdate> {
    const own = await findLatestOfCaller(database, { projectId, origin, caller });
    if (own?.state === 'open') return own;
    await refuseReplaced(own, caller);
    const latest = await findLatest(projectId);
    if (latest?.state === 'open') throw new ServiceError('full_update_foreign', { values: [latest.id] });
    throw new ServiceError('full_update_missing');
  }

  const isNamed = (chosen: ChosenSession): chosen is Named => chosen.fullUpdateId !== undefined;

  const getOpen = (projectId: number, chosen: ChosenSession): Promise<FullUpdate> =>
    isNamed(chosen) ? getNamed(projectId, chosen) : getOwn(projectId, chosen.caller);

  return {
    /** @throws full_update_missing, full_update_other, full_update_replaced, full_update_foreign */
    getOpen,
    /** For calls that change nothing. @throws full_update_missing, full_update_other, full_update_replaced */
    getShown: (projectId: number, chosen: ChosenSession): Promise<FullUpdate> =>
      getOpen(projectId, chosen).catch((error: unknown) => {
        const isForeign = error instanceof ServiceError && error.code === 'full_update_foreign';
        if (!isForeign) throw error;
        return getNamed(projectId, { ...chosen, fullUpdateId: Number(error.facts.values?.[0]) });
      }),
    /** @returns the open full update of whichever caller @throws full_update_missing */
    async getAny(projectId: number): Promise<FullUpdate> {
      const latest = await findLatest(projectId);
      if (latest?.state !== 'open') throw new ServiceError('full_update_missing');
      return latest;
    },
    /** @returns the full update that a start concerns, if its commit began before */
    async findStarted(projectId: number, chosen: ChosenSession): Promise<FullUpdate | undefined> {
      const latest = isNamed(chosen)
        ? await findLatest(projectId)
        : await findLatestOfCaller(database, { projectId, origin, caller: chosen.caller });
      const isMeant = !isNamed(chosen) || latest?.id === chosen.fullUpdateId;
      return isMeant && latest?.commitTaskId !== undefined ? latest : undefined;
    },
    /** Refuses a batch before it is read, if it belongs to no full update of its caller. @throws full_update_replaced, _foreign */
    async refuseForeign(projectId: number, chosen: ChosenSession): Promise<void> {
      await getOpen(projectId, chosen).catch((error: unknown) => {
        if (error instanceof ServiceError && OF_OTHERS.has(error.code)) throw error;
      });
    },
  };
}

interface Named extends ChosenSession {
  readonly fullUpdateId: number;
}

/** Refusals of calls that concern no open full update of their caller. */
export const OF_OTHERS: ReadonlySet<string> = new Set([
  'full_update_other',
  'full_update_replaced',
  'full_update_foreign',
]);
