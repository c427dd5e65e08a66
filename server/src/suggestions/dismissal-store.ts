import { isStorableText } from '../kernel/storable-text.ts';
import { type ControlTransaction, control, type Rows } from '../storage/storage.ts';

/** The dismissed suggestions of each project. */

export interface Dismissal {
  readonly projectId: number;
  readonly suggestionId: string;
}

/** The limit of a project. Beyond it, the oldest dismissals are deleted. */
const DISMISSALS = 1_000;

/** @returns the ids of dismissed suggestions */
export async function listDismissed(rows: Rows, projectId: number): Promise<ReadonlySet<string>> {
  const dismissals = await rows
    .selectFrom('dismissed_suggestion')
    .select('suggestion_id')
    .where('project_id', '=', projectId)
    .orderBy('dismissed_at', 'desc')
    .orderBy('suggestion_id')
    .execute();
  return new Set(dismissals.map(({ suggestion_id }) => suggestion_id));
}

/** @returns whether the suggestion was not dismissed before */
export async function insertDismissal(
  tx: ControlTransaction,
  { projectId, suggestionId, dismissedAt }: Dismissal & { readonly dismissedAt: number },
): Promise<boolean> {
  const inserted = await tx
    .insertInto('dismissed_suggestion')
    .values({ project_id: projectId, suggestion_id: suggestionId, dismissed_at: dismissedAt })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  const [, ...oldest] = [...(await listDismissed(tx, projectId))].slice(DISMISSALS - 1);
  for (const old of oldest) await removeDismissal(tx, { projectId, suggestionId: old });
  return Number(inserted.numInsertedOrUpdatedRows ?? 0) > 0;
}

/** @returns whether the suggestion was dismissed */
export async function removeDismissal(tx: ControlTransaction, { projectId, suggestionId }: Dismissal) {
  if (!isStorableText(suggestionId)) return false;
  return (await control.remove(tx, 'dismissed_suggestion', { projectId, suggestionId })) > 0;
}
