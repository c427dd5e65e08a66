import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import { type AuditLog, type Change, describeChange } from './audit-log.ts';
import type { Author } from './author.ts';
import { type ListPage, type PageWish, readPlace, toPage } from './list-page.ts';
import { type ProjectGroup, type Reach, reachesGroup, reachesNoGroup } from './project.ts';
import {
  findGroup,
  findProjectsOfGroup,
  insertGroup,
  listGroupsInReach,
  removeGroup,
  renameGroup,
} from './project-group-store.ts';

/** Runs in the transaction of a write, e.g. to keep its answer beside it. */
export type Beside<Subject> = (tx: ControlTransaction, subject: Subject) => Promise<void>;

export interface GroupManagement {
  /** @throws scope_refused for the key of a project */
  listGroups(reach: Reach, wish: PageWish): Promise<ListPage<ProjectGroup>>;
  /**
   * @throws not_found for an unknown group and one out of reach alike; scope_refused for the key of a project
   */
  getGroup(reach: Reach, id: number): Promise<ProjectGroup>;
  /** @throws scope_refused, except for account keys */
  createGroup(author: Author, given: { name: string }, beside?: Beside<ProjectGroup>): Promise<ProjectGroup>;
  /** @throws as getGroup */
  changeGroup(
    author: Author,
    given: { id: number; name?: string },
    beside?: Beside<ProjectGroup>,
  ): Promise<ProjectGroup>;
  /**
   * @throws as getGroup; group_not_empty while it holds projects, also deleted ones that can be brought back
   */
  deleteGroup(author: Author, id: number, beside?: Beside<ProjectGroup>): Promise<void>;
}

export interface GroupManagementParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  /** Runs in the transaction that removes a group. */
  readonly onGroupRemoved: (tx: ControlTransaction, groupId: number) => Promise<void>;
}

/** Source: docs/interface.md §14.1 and §14.2. */
export function createGroupManagement({
  database,
  clock,
  auditLog,
  onGroupRemoved,
}: GroupManagementParts): GroupManagement {
  return {
    async listGroups(reach, wish) {
      refuseWithoutGroup(reach);
      const place = readPlace(wish);
      return toPage(await listGroupsInReach(database.read, reach, place), place);
    },
    getGroup: (reach, id) => getGroupInReach(database.read, reach, id),
    async createGroup(author, { name }, beside) {
      if (author.scope.type !== 'account') throw new ServiceError('scope_refused');
      return database.write(async (tx) => {
        const group = await insertGroup(tx, { accountId: author.accountId, name, createdAt: clock.now() });
        await auditLog.recordChange(groupChange(author, 'created', group), tx);
        await beside?.(tx, group);
        return group;
      });
    },
    async changeGroup(author, { id, name }, beside) {
      return database.write(async (tx) => {
        const before = await getGroupInReach(tx, author, id);
        const group = { ...before, name: name ?? before.name };
        await renameGroup(tx, id, group.name);
        const details = describeChange(before, group);
        await auditLog.recordChange({ ...groupChange(author, 'changed', group), details }, tx);
        await beside?.(tx, group);
        return group;
      });
    },
    async deleteGroup(author, id, beside) {
      await database.write(async (tx) => {
        const group = await getGroupInReach(tx, author, id);
        await refuseNotEmpty(tx, id);
        await onGroupRemoved(tx, id);
        await removeGroup(tx, id);
        await auditLog.recordChange(groupChange(author, 'deleted', group), tx);
        await beside?.(tx, group);
      });
    },
  };
}

/** @throws not_found, scope_refused */
async function getGroupInReach(
  rows: Database['read'] | ControlTransaction,
  reach: Reach,
  id: number,
): Promise<ProjectGroup> {
  refuseWithoutGroup(reach);
  const group = await findGroup(rows, id);
  if (group === undefined || !reachesGroup(reach, group)) throw new ServiceError('not_found');
  return group;
}

function refuseWithoutGroup(reach: Reach): void {
  if (reachesNoGroup(reach)) throw new ServiceError('scope_refused');
}

async function refuseNotEmpty(tx: ControlTransaction, groupId: number): Promise<void> {
  const projects = await findProjectsOfGroup(tx, groupId);
  if (projects.length === 0) return;
  const details = projects.map(({ name, deletedAt }) =>
    deletedAt === null ? name : `${name}: deleted, can be brought back for 30 days`,
  );
  throw new ServiceError('group_not_empty', { details });
}

function groupChange(author: Author, what: string, { id, name }: ProjectGroup): Change {
  return {
    author,
    action: `project-group.${what}`,
    subject: { type: 'project-group', id, name, projectGroupId: id },
  };
}
