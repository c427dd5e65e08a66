/**
 * The door of projects: accounts, their project groups and projects, how a call finds its project, and the
 * audit log in which every room to the right writes who changed what. It knows what a caller reaches and
 * never whether a key is good: that is access. It never touches a catalog; the code that purges a project is told
 * which one.
 */
import type { Caller, PartScope, Scope } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Base, ControlTransaction } from '../storage/storage.ts';
import { type AuditLog, type Author, commandAuthor, createAuditLog } from './audit-store.ts';
import { type Project, RESTORABLE_MS, type Reach, reachesGroup } from './project.ts';
import { createProjectChoice } from './project-choice.ts';
import {
  createGroupManagement,
  createProjectManagement,
  type GroupManagement,
  type ProjectManagement,
} from './project-management.ts';
import * as projectStore from './project-store.ts';

export {
  type Actor,
  type Author,
  actorOf,
  type Change,
  commandAuthor,
  describeChange,
} from './audit-store.ts';
export { type ListPage, type PagePlace, type PageRequest, readPlace, toPage } from './list-page.ts';
export type { NewProject, Reach } from './project.ts';
export { createShortCache } from './project-choice.ts';
export type { Beside } from './project-management.ts';
export type { Account } from './project-store.ts';
export { isScopeInReach } from './project-store.ts';
export { toWireScope, WirePartScope, WireScope } from './scope-schemas.ts';

/** Runs in the transaction in which a project group or a project ceases to exist. */
type GoneListener = (tx: ControlTransaction, gone: PartScope) => Promise<void>;

export type Projects = ReturnType<typeof createProjects>;

export type ProjectsParts = Pick<Base, 'clock' | 'database'>;

export function createProjects({ database, clock }: ProjectsParts) {
  const listeners: GoneListener[] = [];
  const tellGone: GoneListener = async (tx, gone) => {
    for (const listener of listeners) await listener(tx, gone);
  };
  const auditLog = createAuditLog(database, clock);
  const { choose, dropCache, ...choice } = createProjectChoice(database, clock);
  const management: ProjectManagement = createProjectManagement({
    database,
    clock,
    auditLog,
    onWritten: dropCache,
  });
  const onGroupRemoved = (tx: ControlTransaction, id: number) => tellGone(tx, { type: 'project-group', id });
  const groups: GroupManagement = createGroupManagement({ database, clock, auditLog, onGroupRemoved });

  async function getProject(projectId: number): Promise<Project> {
    const project = await projectStore.findProject(database.read, projectId);
    if (project === undefined) throw new ServiceError('not_found');
    return project;
  }

  return {
    ...auditLog,
    ...choice,
    ...createAccounts({ database, clock }, auditLog),
    ...groups,
    ...management,
    /** What others keep for a group or a project can go with it. */
    whenGone: (listener: GoneListener) => void listeners.push(listener),
    /**
     * Every project in reach by id, or the requested one. Source: docs/interface.md §4.1.
     * @throws scope_refused when that one is out of reach
     */
    async listProjects(caller: Caller, projectId?: number) {
      const found = await projectStore.findReachedProjects(database.read, caller, projectId);
      if (projectId !== undefined && found.length === 0) throw new ServiceError('scope_refused');
      return found;
    },
    /** The project of a path. An unknown, deleted or unreached one is not_found alike. @throws not_found */
    choosePathProject: async (caller: Caller, projectId: number) =>
      choose(await management.getProject(caller, projectId), caller),
    /** Also of a deleted project, whose tasks may still run. @throws not_found */
    getSettings: async (projectId: number) => (await getProject(projectId)).settings,
    /** As `de-DE`; also of a deleted project. @throws not_found */
    getLocale: async (projectId: number) => (await getProject(projectId)).locale,
    /** Whether the project or group of a scope exists within the reach; a lower key never reaches a higher scope. */
    async reachesScope(reach: Reach, scope: Scope): Promise<boolean> {
      if (scope.type === 'account') return reach.scope.type === 'account';
      if (scope.type === 'project') return choice.reachesProject(reach, scope.id);
      const group = await projectStore.findGroup(database.read, scope.id);
      return group !== undefined && reachesGroup(reach, group);
    },
    /** Removes the projects that were deleted over 30 days ago, each after `onPurge`, which may run twice for one. */
    async purgeDeleted(onPurge: (projectId: number) => Promise<void>): Promise<void> {
      for (const id of await projectStore.findDeletedUpTo(database.read, clock.now() - RESTORABLE_MS)) {
        await onPurge(id);
        await database.write('all', async (tx) => {
          await tellGone(tx, { type: 'project', id });
          await projectStore.removeProject(tx, id);
        });
      }
      dropCache();
    },
  };
}

/** Source: docs/interface.md §10.2 rule 3. */
function createAccounts({ database, clock }: ProjectsParts, auditLog: AuditLog) {
  /** The same within a transaction that also creates other rows. */
  async function addAccount(
    tx: ControlTransaction,
    name: string,
    command: string,
  ): Promise<projectStore.Account> {
    const taken = (await projectStore.findAccounts(tx)).some((account) => account.name === name);
    if (taken) throw new Error(`There is an account named ${name} already.`);
    const account = await projectStore.insertAccount(tx, { name, createdAt: clock.now() });
    const author: Author = commandAuthor(account.id, command);
    await auditLog.recordChange(
      { author, action: 'account.created', subject: { type: 'account', ...account } },
      tx,
    );
    return account;
  }

  return {
    addAccount,
    /** @throws Error when the name is taken */
    createAccount: (name: string) =>
      database.write('all', (tx) => addAccount(tx, name, 'relata account create')),
    /** @throws not_found */
    async getAccount(id: number) {
      const account = await projectStore.findAccount(database.read, id);
      if (account === undefined) throw new ServiceError('not_found');
      return account;
    },
    /** By id. */
    findAccounts: (tx?: ControlTransaction) => projectStore.findAccounts(tx ?? database.read),
  };
}
