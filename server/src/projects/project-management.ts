import { ServiceError } from '../kernel/errors.ts';
import type { Base, ControlTransaction, Database } from '../storage/storage.ts';
import { type AuditLog, type Author, type Change, describeChange } from './audit-store.ts';
import {
  DEFAULT_SETTINGS,
  isRestorable,
  type NewProject,
  type PageRequest,
  type Project,
  type ProjectGroup,
  type ProjectSettings,
  RESTORABLE_MS,
  type Reach,
  reachesGroup,
  reachesNoGroup,
  reachesProject,
  readPlace,
  toPage,
} from './project.ts';
import * as projectStore from './project-store.ts';

interface ProjectChange extends Partial<NewProject> {
  readonly id: number;
}

interface ProjectDeletion {
  readonly id: number;
  /** The project's exact name. */
  readonly confirm: string | undefined;
}

export interface ProjectManagementParts extends Pick<Base, 'clock' | 'database'> {
  readonly auditLog: AuditLog;
  /** Runs after a project was written. */
  readonly onWritten: () => void;
}

export type ProjectManagement = ReturnType<typeof createProjectManagement>;

/**
 * An unknown, deleted or unreached project is not_found alike. The key of a project reads its own and changes
 * none: scope_refused. Source: docs/interface.md §14.1 and §14.2.
 */
export function createProjectManagement(parts: ProjectManagementParts) {
  const { database, clock } = parts;
  return {
    /** `deleted` lists those that can be brought back instead. */
    async pageProjects(reach: Reach, { deleted = false, ...page }: PageRequest & { deleted?: boolean }) {
      const place = readPlace(page);
      const deletedAfter = deleted ? clock.now() - RESTORABLE_MS : undefined;
      return toPage(
        await projectStore.listProjectsInReach(database.read, reach, { place, deletedAfter }),
        place,
      );
    },
    /** @throws not_found */
    getProject: async (reach: Reach, id: number) =>
      refuseUnlessInUse(await projectStore.findProject(database.read, id), reach),
    /** @throws scope_refused, also for a group that is unknown or out of reach */
    async createProject(author: Author, given: NewProject, beside?: Beside<Project>) {
      refuseProjectKey(author);
      return writeProject(parts, async (tx) => {
        await refuseUnreachedGroup(tx, author, given.projectGroupId);
        const project = await projectStore.insertProject(tx, {
          accountId: author.accountId,
          tags: [],
          createdAt: clock.now(),
          deletedAt: null,
          ...given,
          settings: { ...DEFAULT_SETTINGS, ...given.settings },
        });
        return { project, change: projectChange(author, 'created', project), beside };
      });
    },
    /** Settings that are left out do not change. @throws not_found, scope_refused */
    changeProject: (author: Author, given: ProjectChange, beside?: Beside<Project>) =>
      writeProject(parts, async (tx) => {
        const before = await getToChange(tx, author, given.id);
        if (given.projectGroupId !== undefined) await refuseUnreachedGroup(tx, author, given.projectGroupId);
        const project = { ...before, ...given, settings: mergeSettings(before.settings, given.settings) };
        await projectStore.updateProject(tx, project);
        const details = describeChange(before, project);
        return { project, change: { ...projectChange(author, 'changed', project), details }, beside };
      }),
    /** It can be brought back for 30 days. @throws not_found, scope_refused, confirm_missing */
    deleteProject: (author: Author, { id, confirm }: ProjectDeletion, beside?: Beside<Project>) =>
      writeProject(parts, async (tx) => {
        const before = await getToChange(tx, author, id);
        if (confirm !== before.name) throw new ServiceError('confirm_missing');
        const project = { ...before, deletedAt: clock.now() };
        await projectStore.updateProject(tx, project);
        return { project, change: projectChange(author, 'deleted', project), beside };
      }),
    /** @throws not_found when it is not deleted or was deleted more than 30 days ago, scope_refused */
    restoreProject: (author: Author, id: number, beside?: Beside<Project>) =>
      writeProject(parts, async (tx) => {
        refuseProjectKey(author);
        const before = await projectStore.findProject(tx, id);
        const isInReach = before !== undefined && reachesProject(author, before);
        if (!isInReach || !isRestorable(before, clock.now())) throw new ServiceError('not_found');
        refuseReachedAlone(author, before);
        const project = { ...before, deletedAt: null };
        await projectStore.updateProject(tx, project);
        return { project, change: projectChange(author, 'restored', project), beside };
      }),
  };
}

interface WrittenProject {
  readonly project: Project;
  readonly change: Change;
  readonly beside: Beside<Project> | undefined;
}

/** One transaction for the project, its line in the audit log and what the caller keeps beside. */
async function writeProject(
  { database, auditLog, onWritten }: ProjectManagementParts,
  work: (tx: ControlTransaction) => Promise<WrittenProject>,
): Promise<Project> {
  const written = await database.write('all', async (tx) => {
    const { project, change, beside } = await work(tx);
    await auditLog.recordChange(change, tx);
    await beside?.(tx, project);
    return project;
  });
  onWritten();
  return written;
}

async function getToChange(tx: ControlTransaction, author: Author, id: number): Promise<Project> {
  refuseProjectKey(author);
  const project = refuseUnlessInUse(await projectStore.findProject(tx, id), author);
  refuseReachedAlone(author, project);
  return project;
}

function refuseUnlessInUse(project: Project | undefined, reach: Reach): Project {
  const isInUse = project !== undefined && project.deletedAt === null;
  if (!isInUse || !reachesProject(reach, project)) throw new ServiceError('not_found');
  return project;
}

function refuseProjectKey(reach: Reach): void {
  if (reachesNoGroup(reach)) throw new ServiceError('scope_refused');
}

/** Of a user with roles for several parts: a project that is one of them by itself. @throws scope_refused */
function refuseReachedAlone(reach: Reach, { projectGroupId, accountId }: Project): void {
  if (!reachesGroup(reach, { id: projectGroupId, accountId })) throw new ServiceError('scope_refused');
}

/**
 * A group that does not exist and one out of reach answer alike, as projects do. Source: docs/interface.md
 * §4.10.
 */
async function refuseUnreachedGroup(tx: ControlTransaction, reach: Reach, groupId: number): Promise<void> {
  const group = await projectStore.findGroup(tx, groupId);
  if (group !== undefined && reachesGroup(reach, group)) return;
  throw new ServiceError('scope_refused', `/projectGroupId ${groupId} is not within the key's reach`);
}

function mergeSettings(before: ProjectSettings, given: Partial<ProjectSettings> = {}): ProjectSettings {
  return { ...before, ...given };
}

function projectChange(author: Author, what: string, project: Project): Change {
  const { id, name, projectGroupId } = project;
  return {
    author,
    projectId: id,
    action: `project.${what}`,
    subject: { type: 'project', id, name, projectGroupId },
  };
}

/** Runs in the transaction of a write, e.g. to keep its answer beside it. */
export type Beside<Subject> = (tx: ControlTransaction, subject: Subject) => Promise<void>;

interface GroupManagementParts extends Pick<Base, 'clock' | 'database'> {
  readonly auditLog: AuditLog;
  /** Runs in the transaction that removes a group. */
  readonly onGroupRemoved: (tx: ControlTransaction, groupId: number) => Promise<void>;
}

export type GroupManagement = ReturnType<typeof createGroupManagement>;

/** Source: docs/interface.md §14.1 and §14.2. */
export function createGroupManagement({ database, clock, auditLog, onGroupRemoved }: GroupManagementParts) {
  return {
    /** @throws scope_refused for the key of a project */
    async listGroups(reach: Reach, page: PageRequest) {
      refuseWithoutGroup(reach);
      const place = readPlace(page);
      return toPage(await projectStore.listGroupsInReach(database.read, reach, place), place);
    },
    /** @throws not_found for an unknown group and one out of reach alike; scope_refused for the key of a project */
    getGroup: (reach: Reach, id: number) => getGroupInReach(database.read, reach, id),
    /** @throws scope_refused, except for account keys */
    async createGroup(author: Author, { name }: { name: string }, beside?: Beside<ProjectGroup>) {
      if (author.scope.type !== 'account') throw new ServiceError('scope_refused');
      return database.write('all', async (tx) => {
        const group = await projectStore.insertGroup(tx, {
          accountId: author.accountId,
          name,
          createdAt: clock.now(),
        });
        await auditLog.recordChange(groupChange(author, 'created', group), tx);
        await beside?.(tx, group);
        return group;
      });
    },
    /** @throws as getGroup */
    async changeGroup(
      author: Author,
      { id, name }: { id: number; name?: string },
      beside?: Beside<ProjectGroup>,
    ) {
      return database.write('all', async (tx) => {
        const before = await getGroupInReach(tx, author, id);
        const group = { ...before, name: name ?? before.name };
        await projectStore.renameGroup(tx, id, group.name);
        const details = describeChange(before, group);
        await auditLog.recordChange({ ...groupChange(author, 'changed', group), details }, tx);
        await beside?.(tx, group);
        return group;
      });
    },
    /** @throws as getGroup; group_not_empty while it holds projects, also deleted ones that can be brought back */
    async deleteGroup(author: Author, id: number, beside?: Beside<ProjectGroup>) {
      await database.write('all', async (tx) => {
        const group = await getGroupInReach(tx, author, id);
        await refuseNotEmpty(tx, id);
        await onGroupRemoved(tx, id);
        await projectStore.removeGroup(tx, id);
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
  const group = await projectStore.findGroup(rows, id);
  if (group === undefined || !reachesGroup(reach, group)) throw new ServiceError('not_found');
  return group;
}

function refuseWithoutGroup(reach: Reach): void {
  if (reachesNoGroup(reach)) throw new ServiceError('scope_refused');
}

async function refuseNotEmpty(tx: ControlTransaction, groupId: number): Promise<void> {
  const projects = await projectStore.findProjectsOfGroup(tx, groupId);
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
