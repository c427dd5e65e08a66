/**
 * The door of projects: accounts, their project groups and projects, the project that a request is about, and the
 * audit log in which every room to the right records changes. It decides what a caller reaches, while access
 * decides whether a key is valid. It never opens a catalog. A purge calls every room that has registered for it.
 */
import type { Caller, PartScope, Scope } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Base, Chosen, ControlSchema, ControlTransaction } from '../storage/storage.ts';
import { type AuditLog, createAuditLog } from './audit-store.ts';
import type { NewProject, PageRequest, Project, ProjectGroup, Reach } from './project.ts';
import {
  commandAuthor,
  DEFAULT_SETTINGS,
  RESTORABLE_MS,
  reachesGroup,
  reachesNoGroup,
  reachesProject,
} from './project.ts';
import { createProjectChoice } from './project-choice.ts';
import {
  findAccount,
  findAccounts,
  findDeletedUpTo,
  findProject,
  findProjectsOfGroup,
  findReachedProjects,
  GROUPS,
  insertAccount,
  insertProject,
  PROJECTS,
  type ProjectSelection,
  removeProject,
  removeRowsOf,
} from './project-store.ts';
import { Resources, type Writer } from './resources.ts';

export { type Change, describeChange } from './audit-store.ts';
export {
  type Actor,
  type Author,
  actorOf,
  commandAuthor,
  type ListPage,
  type NewProject,
  type PagePosition as PagePlace,
  type PageRequest,
  type ProjectSettings,
  type Reach,
  readPagePosition as readPlace,
  toPage,
} from './project.ts';
export type { Account } from './project-store.ts';
export {
  type Columns,
  createStore,
  type Found,
  isScopeInReach,
  makeToken,
  readScoped,
  type Store,
  selectFound,
  type Table,
  toScopedColumns,
} from './resource-store.ts';
export {
  asWriter,
  auditScoped,
  type Beside,
  type ResourceParts,
  Resources,
  type Writer,
} from './resources.ts';
export { toWireScope, WireActor, WirePartScope, WireScope } from './scope-schemas.ts';
export { createShortCache } from './short-cache.ts';

/** Is called in the transaction that removes a project group or a project. */
type RemovalListener = (tx: ControlTransaction, part: PartScope) => Promise<void>;

export type Projects = ReturnType<typeof createProjects>;

type ProjectsParts = Pick<Base, 'clock' | 'database'>;

export function createProjects({ database, clock }: ProjectsParts) {
  const auditLog = createAuditLog(database, clock);
  const { choose, dropCache, ...choice } = createProjectChoice(database, clock);
  const { notifyRemoval, ...removal } = createRemoval({ database, clock, onPurged: dropCache });
  const parts = { database, clock, projects: auditLog };
  const management: ReturnType<typeof createProjectManagement> = createProjectManagement({
    ...parts,
    onWritten: dropCache,
  });

  async function getProject(projectId: number): Promise<Project> {
    const project = await findProject(database.read, projectId);
    if (project === undefined) throw new ServiceError('not_found');
    return project;
  }

  return {
    ...auditLog,
    ...choice,
    ...createAccounts({ database, clock }, auditLog),
    ...createGroupManagement({ ...parts, notifyRemoval }),
    ...management,
    ...removal,
    /**
     * Source: docs/interface §4.1.
     * @returns the projects within reach ordered by id, or only the requested one
     * @throws scope_refused
     */
    async listProjects(caller: Caller, projectId?: number) {
      const reached = await findReachedProjects(database.read, caller, projectId);
      if (projectId !== undefined && reached.length === 0) throw new ServiceError('scope_refused');
      return reached;
    },
    /** @returns the project of a path. @throws not_found if it is unknown, deleted or out of reach */
    choosePathProject: async (caller: Caller, projectId: number) =>
      choose(await management.getProject(caller, projectId), caller),
    /** Works for a deleted project as well, because its tasks may still run. @throws not_found */
    getSettings: async (projectId: number) => (await getProject(projectId)).settings,
    /** @returns a locale such as `de-DE`, for a deleted project as well. @throws not_found */
    getLocale: async (projectId: number) => (await getProject(projectId)).locale,
    /** @returns whether the scope exists within reach. A key never reaches a scope above its own. */
    async reachesScope(reach: Reach, scope: Scope): Promise<boolean> {
      if (scope.type === 'account') return reach.scope.type === 'account';
      if (scope.type === 'project') return choice.reachesProject(reach, scope.id);
      return (await GROUPS.find(database.read, reach, scope.id)) !== undefined;
    },
  };
}

/** Removes the rows of other rooms in the transaction that removes their project group or project. */
function createRemoval({ database, clock, onPurged }: ProjectsParts & { readonly onPurged: () => void }) {
  const listeners: RemovalListener[] = [];
  const tables: (keyof ControlSchema)[] = [];
  const notifyRemoval: RemovalListener = async (tx, part) => {
    if (part.type === 'project') await removeRowsOf(tx, tables, part.id);
    for (const listener of listeners) await listener(tx, part);
  };

  return {
    notifyRemoval,
    /** Registers tables whose rows are removed with their project. */
    removeWithProject: (...names: (keyof ControlSchema)[]) => void tables.push(...names),
    /** Registers a listener, which removes the rows of its room together with their group or project. */
    onRemoval: (listener: RemovalListener) => void listeners.push(listener),
    /**
     * Removes the projects that were deleted more than 30 days ago. Calls `onPurge` before each removal, and again
     * at the next purge if the removal fails.
     */
    async purgeDeleted(onPurge: (projectId: number) => Promise<void>): Promise<void> {
      for (const id of await findDeletedUpTo(database.read, clock.now() - RESTORABLE_MS)) {
        await onPurge(id);
        await database.write('all', async (tx) => {
          await notifyRemoval(tx, { type: 'project', id });
          await removeProject(tx, id);
        });
      }
      onPurged();
    },
  };
}

/** Source: docs/interface §10.2 rule 3. */
function createAccounts({ database, clock }: ProjectsParts, auditLog: AuditLog) {
  /** Adds an account in a transaction that also creates other rows. */
  async function addAccount(tx: ControlTransaction, name: string, command: string) {
    const isTaken = (await findAccounts(tx)).some((account) => account.name === name);
    if (isTaken) throw new Error(`An account with the name ${name} already exists: choose another name.`);
    const account = await insertAccount(tx, { name, createdAt: clock.now() });
    const author = commandAuthor(account.id, command);
    const subject = { type: 'account', ...account };
    await auditLog.recordChange({ author, action: 'account.created', subject }, tx);
    return account;
  }

  return {
    addAccount,
    /** @throws Error if an account has this name */
    createAccount: (name: string) =>
      database.write('all', (tx) => addAccount(tx, name, 'relata account create')),
    /** @throws not_found */
    async getAccount(id: number) {
      const account = await findAccount(database.read, id);
      if (account === undefined) throw new ServiceError('not_found');
      return account;
    },
    /** Ordered by id. */
    findAccounts: (tx?: ControlTransaction) => findAccounts(tx ?? database.read),
  };
}

type ProjectWriter = Writer<Project, Reach>;
type GroupWriter = Writer<ProjectGroup, Reach>;

interface ManagementParts extends ProjectsParts {
  readonly projects: AuditLog;
}

/**
 * Unknown, deleted and unreached projects are all not_found. A key of a project can read the project; its changes
 * are scope_refused. Source: docs/interface §14.1 and §14.2.
 */
function createProjectManagement(parts: ManagementParts & { readonly onWritten: () => void }) {
  const { clock } = parts;
  const resources = new Resources<Project, ProjectSelection>(parts, {
    store: PROJECTS,
    audit: ({ id, name, projectGroupId }) => ({
      projectId: id,
      subject: { type: 'project', id, name, projectGroupId },
    }),
    show: (project) => project,
    refuseWriter: refuseWithoutGroup,
    // A user with roles in several parts cannot change a project that is one of these parts.
    refuseOf(reach, { projectGroupId, accountId }) {
      if (!reachesGroup(reach, { id: projectGroupId, accountId })) throw new ServiceError('scope_refused');
    },
  });
  const deletedIn = (reach: Reach) => ({ ...reach, deletedAfter: clock.now() - RESTORABLE_MS });

  return {
    /** With `deleted`, lists the deleted projects that can be restored. */
    pageProjects: (reach: Reach, { deleted = false, ...page }: PageRequest & { deleted?: boolean }) =>
      resources.list(deleted ? deletedIn(reach) : reach, page),
    /** Reads by id alone, which takes 18 µs instead of 25: each call about a project begins here. @throws not_found */
    async getProject(reach: Reach, id: number): Promise<Project> {
      const project = await findProject(parts.database.read, id);
      const isSeen = project?.deletedAt === null && reachesProject(reach, project);
      if (!isSeen) throw new ServiceError('not_found');
      return project;
    },
    /** @throws scope_refused, also for a group that is unknown or out of reach */
    createProject: (writer: ProjectWriter, given: NewProject) =>
      resources.create(writer, async (tx) => {
        const { accountId } = writer.place;
        await refuseUnreachedGroup(tx, writer.place, given.projectGroupId);
        const settings = { ...DEFAULT_SETTINGS, ...given.settings };
        const added = { tags: [], ...given, settings, createdAt: clock.now(), deletedAt: null };
        return { after: await insertProject(tx, { accountId, ...added }) };
      }),
    /** Keeps omitted settings unchanged. @throws not_found, scope_refused */
    changeProject: (writer: ProjectWriter, chosen: Chosen, given: Partial<NewProject>) =>
      resources.change(writer, { ...chosen, what: 'changed' }, async (tx, before) => {
        const { projectGroupId } = given;
        if (projectGroupId !== undefined) await refuseUnreachedGroup(tx, writer.place, projectGroupId);
        return { after: { ...before, ...given, settings: { ...before.settings, ...given.settings } } };
      }),
    /** The project can be restored for 30 days. @throws not_found, scope_refused, confirm_missing */
    deleteProject: (writer: ProjectWriter, chosen: Chosen, { confirm }: { readonly confirm?: string }) =>
      resources.change(writer, { ...chosen, what: 'deleted' }, async (_, before) => {
        if (confirm !== before.name) throw new ServiceError('confirm_missing');
        return { after: { ...before, deletedAt: clock.now() }, details: {} };
      }),
    /** @throws not_found if the project is not deleted or was deleted more than 30 days ago, scope_refused */
    restoreProject(writer: ProjectWriter, chosen: Chosen) {
      const ofDeleted = { ...writer, place: deletedIn(writer.place) };
      return resources.change(ofDeleted, { ...chosen, what: 'restored' }, async (_, before) => ({
        after: { ...before, deletedAt: null },
        details: {},
      }));
    },
  };
}

/** Refuses an unknown group like a group out of reach, as for projects. Source: docs/interface §4.10. */
async function refuseUnreachedGroup(tx: ControlTransaction, reach: Reach, groupId: number): Promise<void> {
  if ((await GROUPS.find(tx, reach, groupId)) !== undefined) return;
  throw new ServiceError('scope_refused', `/projectGroupId ${groupId} is unknown or out of reach`);
}

/** All calls by a key of a project are scope_refused. Source: docs/interface §14.1 and §14.2. */
function createGroupManagement({
  notifyRemoval,
  ...parts
}: ManagementParts & { readonly notifyRemoval: RemovalListener }) {
  const resources = new Resources<ProjectGroup, Reach>(parts, {
    store: GROUPS,
    audit: ({ id, name }) => ({ subject: { type: 'project-group', id, name, projectGroupId: id } }),
    show: (group) => group,
    refuse: refuseWithoutGroup,
  });

  return {
    listGroups: (reach: Reach, page: PageRequest) => resources.list(reach, page),
    /** @throws not_found for a group that is unknown or out of reach */
    getGroup: (reach: Reach, id: number) => resources.get(reach, id),
    /** @throws scope_refused unless the scope is the account */
    createGroup: (writer: GroupWriter, { name }: { readonly name: string }) =>
      resources.create(writer, async (tx) => {
        const { accountId, scope } = writer.place;
        if (scope.type !== 'account') throw new ServiceError('scope_refused');
        const columns = { accountId, name, createdAt: parts.clock.now() };
        return { after: await GROUPS.insert(tx, columns) };
      }),
    /** @throws the refusals of getGroup */
    changeGroup: (writer: GroupWriter, chosen: Chosen, given: { readonly name?: string }) =>
      resources.change(writer, { ...chosen, what: 'changed' }, async (_, before) => ({
        after: { ...before, ...given },
      })),
    /** @throws the refusals of getGroup; group_not_empty while it has projects, or deleted ones that can be restored */
    deleteGroup: (writer: GroupWriter, chosen: Chosen) =>
      resources.remove(writer, chosen, async (tx, { id }) => {
        const left = await findProjectsOfGroup(tx, id);
        const details = left.map(({ name, deletedAt }) =>
          deletedAt === null ? name : `${name}: deleted, can be restored for 30 days`,
        );
        if (left.length > 0) throw new ServiceError('group_not_empty', { details });
        await notifyRemoval(tx, { type: 'project-group', id });
      }),
  };
}

function refuseWithoutGroup(reach: Pick<Reach, 'scope'>): void {
  if (reachesNoGroup(reach)) throw new ServiceError('scope_refused');
}
