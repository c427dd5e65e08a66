import {
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type Selectable,
  type SqlBool,
} from 'kysely';
import { listParts, type PartScope } from '../kernel/caller.ts';
import { padIds } from '../kernel/padded.ts';
import type { ControlSchema, ControlTransaction, Database } from '../storage/storage.ts';
import type { PagePlace } from './project.ts';
import {
  DEFAULT_SETTINGS,
  type Project,
  type ProjectGroup,
  type ProjectSettings,
  type Reach,
} from './project.ts';

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

export interface Account {
  readonly id: number;
  readonly name: string;
}

export async function findAccounts(rows: Database['read'] | ControlTransaction): Promise<Account[]> {
  const found = await rows.selectFrom('account').select(['id', 'name']).orderBy('id').execute();
  return found.map(({ id, name }) => ({ id, name }));
}

export async function findAccount(rows: Database['read'], id: number): Promise<Account | undefined> {
  return rows.selectFrom('account').select(['id', 'name']).where('id', '=', id).executeTakeFirst();
}

export async function insertAccount(
  tx: ControlTransaction,
  account: { name: string; createdAt: number },
): Promise<Account> {
  return tx
    .insertInto('account')
    .values({ name: account.name, created_at: account.createdAt })
    .returning(['id', 'name'])
    .executeTakeFirstOrThrow();
}

/**
 * Keys and endpoints have a scope: they are in reach of the same scope and of those above. Source: docs/interface.md §5.2 rule 6
 * and §6.1.
 */
export function isScopeInReach({ accountId, scope }: Reach): Expression<SqlBool> {
  const eb = expressionBuilder<ControlSchema, 'api_key' | 'webhook_endpoint'>();
  const ofAccount = eb('account_id', '=', accountId);
  const parts = listParts(scope);
  if (parts === undefined) return ofAccount;
  const groups = padIds(parts.groups);
  const projects = eb.selectFrom('project').select('project.id').where('project_group_id', 'in', groups);
  const isOf = (type: PartScope['type']) => eb('scope_type', '=', type);
  return eb.and([
    ofAccount,
    eb.or([
      eb.and([isOf('project-group'), eb('scope_id', 'in', groups)]),
      eb.and([isOf('project'), eb('scope_id', 'in', padIds(parts.projects))]),
      eb.and([isOf('project'), eb('scope_id', 'in', projects)]),
    ]),
  ]);
}
