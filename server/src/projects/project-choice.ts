import { type Caller, type ChosenProject, originOf } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Database } from '../storage/storage.ts';
import { type Project, type Reach, reachesProject } from './project.ts';
import { findOnlyProject, findProject } from './project-store.ts';

/** Projects remembered at a time: twice what an installation is planned for, at some 300 bytes each. */
const REMEMBERED_PROJECTS = 20_000;

/** On the way of every request: mostly answered from memory. */
export function createProjectChoice(database: Database, clock: Clock) {
  const projects = createShortCache<number, Project>(clock, REMEMBERED_PROJECTS);
  const onlyProjects = createShortCache<string, Project>(clock, REMEMBERED_PROJECTS);

  /** A project is never of another account. */
  const accounts = new Map<number, number>();

  const recall = (id: number) => projects.get(id, () => findProject(database.read, id));

  async function findInReach(reach: Reach, id: number): Promise<Project | undefined> {
    const project = await recall(id);
    return project !== undefined && project.deletedAt === null && reachesProject(reach, project)
      ? project
      : undefined;
  }

  async function findOnly(reach: Reach): Promise<Project | undefined> {
    const { accountId, scope } = reach;
    if (scope.type === 'project') return findInReach(reach, scope.id);
    return onlyProjects.get(`${accountId} ${JSON.stringify(scope)}`, () =>
      findOnlyProject(database.read, reach),
    );
  }

  /** @returns what a request about this project carries */
  function choose({ id, name, accountId }: Project, caller: Caller): ChosenProject {
    if (accounts.size >= REMEMBERED_PROJECTS) accounts.clear();
    accounts.set(id, accountId);
    return { id, name, accountId, ...originOf(caller) };
  }

  return {
    choose,
    /** Source: docs/interface.md §4.10. @throws project_required, scope_refused */
    async chooseProject(caller: Caller, projectId: number | undefined): Promise<ChosenProject> {
      const project = projectId === undefined ? await findOnly(caller) : await findInReach(caller, projectId);
      if (project === undefined)
        throw new ServiceError(projectId === undefined ? 'project_required' : 'scope_refused');
      return choose(project, caller);
    },
    /** Unknown, deleted and out of reach are alike. */
    reachesProject: async (reach: Reach, projectId: number) =>
      (await findInReach(reach, projectId)) !== undefined,
    /** As they were within the last second: for answers, not for writes; also of a deleted project. @throws not_found */
    async recallSettings(projectId: number) {
      const project = await recall(projectId);
      if (project === undefined) throw new ServiceError('not_found');
      return project.settings;
    },
    /** The account of a project that was chosen lately; else a number that no other project has. */
    accountOf: (projectId: number) => accounts.get(projectId) ?? -projectId,
    /** To be called when a project was written. */
    dropCache() {
      projects.drop();
      onlyProjects.drop();
    },
  };
}

/**
 * Another process may have changed a row: what this one remembers of it is trusted this long and no longer.
 */
const MAX_AGE_MS = 1_000;

/**
 * Rows that every request needs, remembered for at most a second and dropped by the writes of this process.
 */
interface ShortCache<Key, Value> {
  /** Misses are not cached, so that unknown keys cost no memory. */
  get(key: Key, read: () => Promise<Value | undefined>): Promise<Value | undefined>;
  drop(): void;
}

export function createShortCache<Key, Value>(clock: Clock, maxEntries: number): ShortCache<Key, Value> {
  const entries = new Map<Key, { readonly value: Value; readonly readAt: number }>();
  let drops = 0;

  function remember(key: Key, value: Value, readAt: number): void {
    entries.delete(key);
    entries.set(key, { value, readAt });
    const oldest = entries.keys().next();
    if (entries.size > maxEntries && !oldest.done) entries.delete(oldest.value);
  }

  return {
    async get(key, read) {
      const now = clock.now();
      const known = entries.get(key);
      if (known !== undefined && now >= known.readAt && now - known.readAt < MAX_AGE_MS) return known.value;
      const dropsBefore = drops;
      const value = await read();
      // A write that ended during the read has made this value old.
      if (value !== undefined && dropsBefore === drops) remember(key, value, now);
      return value;
    },
    drop() {
      drops += 1;
      entries.clear();
    },
  };
}
