import type { Relata } from '@relata/client';
import { t } from '../languages/text.ts';
import { reread } from './service.tsx';

interface Deletion {
  readonly relata: Relata;
  readonly projectId: number;
  /** One for each time a person confirms: behind a cut network the same deletion is sent again. */
  readonly idempotencyKey: string;
}

/**
 * Deletes products as one commit, and waits until lists no longer show them.
 * @returns what brings them back, as long as nothing else was committed or deleted
 */
export async function deleteProducts(
  identifiers: readonly string[],
  { relata, projectId, idempotencyKey }: Deletion,
): Promise<() => Promise<void>> {
  const wait = async (taskId: string) => {
    await relata.tasks.wait(taskId);
    await reread('products');
  };
  const { task: deletion } = await relata.products.delete(identifiers, { projectId, idempotencyKey });
  await wait(deletion.id);
  return async () => {
    const { items } = await relata.commits.list(projectId);
    const [last] = items;
    if (last?.taskId !== deletion.id) throw new Error(t('The catalog has changed since: see the updates.'));
    // Whatever is committed before this arrives is not undone.
    const { task } = await relata.products.restore({ projectId, ifLast: last.id });
    await wait(task.id);
  };
}

/**
 * @returns the `Idempotency-Key` of what the user is asked to confirm: confirmed again after the network was cut, it is done
 * once, and the first answer comes again (docs/interface.md §7.5). `crypto.randomUUID` is missing over plain HTTP.
 */
export const makeIdempotencyKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');
