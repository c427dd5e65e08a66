import type { ExpressionBuilder, Selectable } from 'kysely';
import { listParts } from '../kernel/caller.ts';
import { padIds } from '../kernel/padded.ts';
import type { ControlSchema, ControlTransaction, Database } from '../storage/storage.ts';
import type { PagePlace } from './list-page.ts';
import { DEFAULT_SETTINGS, type Project, type ProjectSettings, type Reach } from './project.ts';

type Rows = Database['read'] | ControlTransaction;

/** @returns the project, deleted or not. */
export async function findProject(rows: Rows, id: number): Promise<Project | undefined> {
  const row = await rows.selectFrom('project').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toProject(row);
}

/** @returns the projects in use, or else the deleted ones since then, that are in reach, by id. */
export async function listProjectsInReach(
  rows: Rows,
  reach: Reach,
  filter: { place: PagePlace; deletedAfter: number | undefined },
): Promise<Project[]> {
  const { place, deletedAfter } = filter;
  const found = await rows
    .selectFrom('project')
    .selectAll()
    .where(inReach(reach))
    .where('deleted_at', deletedAfter === undefined ? 'is' : '>', deletedAfter ?? null)
    .where('id', '>', place.after ?? 0)
    .orderBy('id')
    .limit(place.count)
    .execute();
  return found.map(toProject);
}

export interface ReachedProject extends Project {
  readonly projectGroupName: string;
}

/**
 * @returns the projects in use and in reach, or the one of that id, with the names of their groups, by id.
 */
export async function findReachedProjects(
  rows: Rows,
  reach: Reach,
  projectId: number | undefined,
): Promise<ReachedProject[]> {
  const found = await rows
    .selectFrom('project')
    .innerJoin('project_group', 'project_group.id', 'project.project_group_id')
    .selectAll('project')
    .select('project_group.name as groupName')
    .where(inReach(reach))
    .where('deleted_at', 'is', null)
    .$if(projectId !== undefined, (query) => query.where('project.id', '=', projectId ?? 0))
    .orderBy('project.id')
    .execute();
  return found.map((row) => ({ ...toProject(row), projectGroupName: row.groupName }));
}

/** @returns the one project in use and in reach; undefined when there is none or more than one. */
export async function findOnlyProject(rows: Rows, reach: Reach): Promise<Project | undefined> {
  const found = await rows
    .selectFrom('project')
    .selectAll()
    .where(inReach(reach))
    .where('deleted_at', 'is', null)
    .limit(2)
    .execute();
  return found.length === 1 && found[0] !== undefined ? toProject(found[0]) : undefined;
}

export async function insertProject(tx: ControlTransaction, project: Omit<Project, 'id'>): Promise<Project> {
  const row = await tx
    .insertInto('project')
    .values({ account_id: project.accountId, created_at: project.createdAt, ...toColumns(project) })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toProject(row);
}

export async function updateProject(tx: ControlTransaction, project: Project): Promise<void> {
  await tx.updateTable('project').set(toColumns(project)).where('id', '=', project.id).execute();
}

/** @returns the ids of projects deleted at that instant or before. */
export async function findDeletedUpTo(rows: Rows, at: number): Promise<number[]> {
  const found = await rows
    .selectFrom('project')
    .select('id')
    .where('deleted_at', '<=', at)
    .orderBy('id')
    .execute();
  return found.map(({ id }) => id);
}

export async function removeProject(tx: ControlTransaction, id: number): Promise<void> {
  await tx.deleteFrom('project').where('id', '=', id).where('deleted_at', 'is not', null).execute();
}

function inReach({ accountId, scope }: Reach) {
  return (eb: ExpressionBuilder<ControlSchema, 'project'>) => {
    const ofAccount = eb('project.account_id', '=', accountId);
    const parts = listParts(scope);
    if (parts === undefined) return ofAccount;
    const ofGroups = eb('project.project_group_id', 'in', padIds(parts.groups));
    return eb.and([ofAccount, eb.or([ofGroups, eb('project.id', 'in', padIds(parts.projects))])]);
  };
}

function toColumns(project: Omit<Project, 'id'>) {
  return {
    project_group_id: project.projectGroupId,
    name: project.name,
    locale: project.locale,
    tags: JSON.stringify(project.tags),
    settings: JSON.stringify(project.settings),
    deleted_at: project.deletedAt,
  };
}

function toProject(row: Selectable<ControlSchema['project']>): Project {
  return {
    id: row.id,
    accountId: row.account_id,
    projectGroupId: row.project_group_id,
    name: row.name,
    locale: row.locale,
    tags: JSON.parse(row.tags) as string[],
    settings: { ...DEFAULT_SETTINGS, ...(JSON.parse(row.settings) as Partial<ProjectSettings>) },
    createdAt: row.created_at,
    deletedAt: row.deleted_at,
  };
}
