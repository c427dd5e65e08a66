import { type ExpressionBuilder, expressionBuilder, type Selectable } from 'kysely';
import { listParts } from '../kernel/caller.ts';
import { padIds } from '../kernel/padded.ts';
import type { ControlSchema, ControlTransaction, Rows } from '../storage/storage.ts';
import { control, toCamel } from '../storage/storage.ts';
import type { Project, ProjectGroup, ProjectSettings, Reach } from './project.ts';
import { DEFAULT_SETTINGS } from './project.ts';
import { createStore } from './resource-store.ts';

export async function findProject(rows: Rows, id: number): Promise<Project | undefined> {
  const row = await rows.selectFrom('project').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toProject(row);
}

/**
 * @param projectId undefined: all projects
 * @returns the projects that are in use and within reach, with the names of their groups, ordered by id
 */
export async function findReachedProjects(rows: Rows, reach: Reach, projectId: number | undefined) {
  const projectRows = await rows
    .selectFrom('project')
    .innerJoin('project_group', 'project_group.id', 'project.project_group_id')
    .selectAll('project')
    .select('project_group.name as groupName')
    .where(inReach(reach))
    .where('deleted_at', 'is', null)
    .$if(projectId !== undefined, (query) => query.where('project.id', '=', projectId ?? 0))
    .orderBy('project.id')
    .execute();
  return projectRows.map((row) => ({ ...toProject(row), projectGroupName: row.groupName }));
}

/** @returns the only project that is in use and within reach; undefined if there is none or more than one */
export async function findOnlyProject(rows: Rows, reach: Reach): Promise<Project | undefined> {
  const projectRows = await rows
    .selectFrom('project')
    .selectAll()
    .where(inReach(reach))
    .where('deleted_at', 'is', null)
    .limit(2)
    .execute();
  return projectRows.length === 1 && projectRows[0] !== undefined ? toProject(projectRows[0]) : undefined;
}

/** @returns the ids of the projects that were deleted at that instant or earlier */
export async function findDeletedUpTo(rows: Rows, instant: number): Promise<number[]> {
  const projectRows = await rows
    .selectFrom('project')
    .select('id')
    .where('deleted_at', '<=', instant)
    .orderBy('id')
    .execute();
  return projectRows.map(({ id }) => id);
}

export async function removeProject(tx: ControlTransaction, id: number): Promise<void> {
  await tx.deleteFrom('project').where('id', '=', id).where('deleted_at', 'is not', null).execute();
}

/** Deletes the rows of a project from tables of other rooms. */
export async function removeRowsOf(
  tx: ControlTransaction,
  names: readonly (keyof ControlSchema)[],
  projectId: number,
): Promise<void> {
  for (const name of names) await control.remove(tx, name, { projectId } as object);
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

const toColumns = ({ projectGroupId, name, locale, tags, settings, deletedAt }: Omit<Project, 'id'>) => ({
  projectGroupId,
  name,
  locale,
  tags: JSON.stringify(tags),
  settings: JSON.stringify(settings),
  deletedAt,
});

function toProject(row: Selectable<ControlSchema['project']>): Project {
  const settings: Partial<ProjectSettings> = JSON.parse(row.settings);
  return { ...toCamel(row), tags: JSON.parse(row.tags), settings: { ...DEFAULT_SETTINGS, ...settings } };
}

/** Selects the projects within reach: those in use, or, with `deletedAfter`, those deleted after that instant. */
export interface ProjectSelection extends Reach {
  readonly deletedAfter?: number;
}

export const PROJECTS = createStore<Project, ProjectSelection>({
  name: 'project',
  within({ deletedAfter, ...reach }) {
    const is = expressionBuilder<ControlSchema, 'project'>();
    const isSeen = is('deleted_at', deletedAfter === undefined ? 'is' : '>', deletedAfter ?? null);
    return is.and([inReach(reach)(is), isSeen]);
  },
  read: toProject,
  toColumns,
});

export const insertProject = (tx: ControlTransaction, project: Omit<Project, 'id'>): Promise<Project> =>
  PROJECTS.insert(tx, { ...toColumns(project), accountId: project.accountId, createdAt: project.createdAt });

export const GROUPS = createStore<ProjectGroup, Reach>({
  name: 'project_group',
  within({ accountId, scope }) {
    const is = expressionBuilder<ControlSchema, 'project_group'>();
    const parts = listParts(scope);
    const ofAccount = is('account_id', '=', accountId);
    return parts === undefined ? ofAccount : is.and([ofAccount, is('id', 'in', padIds(parts.groups))]);
  },
  read: (row: Selectable<ControlSchema['project_group']>) => toCamel(row),
  toColumns: ({ name }) => ({ name }),
});

/** @returns up to 10 projects of a group, including deleted projects that can still be restored */
export async function findProjectsOfGroup(tx: ControlTransaction, groupId: number) {
  return tx
    .selectFrom('project')
    .select(['name', 'deleted_at as deletedAt'])
    .where('project_group_id', '=', groupId)
    .orderBy('id')
    .limit(10)
    .execute();
}

export interface Account {
  readonly id: number;
  readonly name: string;
}

export async function findAccounts(rows: Rows): Promise<Account[]> {
  const accountRows = await rows.selectFrom('account').select(['id', 'name']).orderBy('id').execute();
  return accountRows.map(({ id, name }) => ({ id, name }));
}

export async function findAccount(rows: Rows, id: number): Promise<Account | undefined> {
  return rows.selectFrom('account').select(['id', 'name']).where('id', '=', id).executeTakeFirst();
}

export async function insertAccount(tx: ControlTransaction, account: { name: string; createdAt: number }) {
  const { id, name } = await control.insert(tx, 'account', account);
  return { id, name };
}
