import type { CatalogParts } from '../parts.ts';

/** A caller waits for the answer, and many give up after half a minute. */
const WAIT_MS = 10_000;

/** A question about the present can be asked only while nothing is on its way. */
export async function isSettled(tasks: CatalogParts['tasks'], projectId: number): Promise<boolean> {
  return !(await tasks.hasOpenOrdered(projectId));
}

/**
 * Whether the catalog has one of these products when what was accepted before has taken effect, which is waited for.
 * Where that takes too long, it may have one.
 */
export async function mayGetAny(
  { store, tasks }: Pick<CatalogParts, 'store' | 'tasks'>,
  projectId: number,
  identifiers: readonly string[],
): Promise<boolean> {
  // Listed first: what ends between the two is in the catalog then.
  const accepted = (await tasks.listOpen(projectId)).filter(({ isOrdered }) => isOrdered);
  if (await store.hasAny(projectId, identifiers)) return true;
  const last = accepted.at(-1);
  if (last === undefined) return false;
  const { finishedAt } = await tasks.waitUntilEnded(last, WAIT_MS);
  return finishedAt === undefined || store.hasAny(projectId, identifiers);
}
