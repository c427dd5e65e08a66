import { listParts } from '../kernel/caller.ts';
import { padIds } from '../kernel/padded.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import type { PagePlace } from './list-page.ts';
import type { ProjectGroup, Reach } from './project.ts';

const COLUMNS = ['id', 'account_id as accountId', 'name', 'created_at as createdAt'] as const;

export async function findGroup(
  rows: Database['read'] | ControlTransaction,
  id: number,
): Promise<ProjectGroup | undefined> {
  return rows.selectFrom('project_group').select(COLUMNS).where('id', '=', id).executeTakeFirst();
}

/** @returns the groups in reach, by id. */
export async function listGroupsInReach(
  rows: Database['read'],
  { accountId, scope }: Reach,
  place: PagePlace,
): Promise<ProjectGroup[]> {
  const parts = listParts(scope);
  return rows
    .selectFrom('project_group')
    .select(COLUMNS)
    .where('account_id', '=', accountId)
    .where('id', '>', place.after ?? 0)
    .$if(parts !== undefined, (query) => query.where('id', 'in', padIds(parts?.groups ?? [])))
    .orderBy('id')
    .limit(place.count)
    .execute();
}

export async function insertGroup(
  tx: ControlTransaction,
  group: Omit<ProjectGroup, 'id'>,
): Promise<ProjectGroup> {
  return tx
    .insertInto('project_group')
    .values({ account_id: group.accountId, name: group.name, created_at: group.createdAt })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

export async function renameGroup(tx: ControlTransaction, id: number, name: string): Promise<void> {
  await tx.updateTable('project_group').set({ name }).where('id', '=', id).execute();
}

export async function removeGroup(tx: ControlTransaction, id: number): Promise<void> {
  await tx.deleteFrom('project_group').where('id', '=', id).execute();
}

/** @returns the projects of a group, deleted ones that can still be brought back too. */
export async function findProjectsOfGroup(
  tx: ControlTransaction,
  groupId: number,
): Promise<{ name: string; deletedAt: number | null }[]> {
  return tx
    .selectFrom('project')
    .select(['name', 'deleted_at as deletedAt'])
    .where('project_group_id', '=', groupId)
    .orderBy('id')
    .limit(10)
    .execute();
}
