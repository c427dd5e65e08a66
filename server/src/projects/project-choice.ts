import { type AtOnce, andThen } from '../kernel/at-once.ts';
import { BoundedMap } from '../kernel/bounded-map.ts';
import { type Caller, type ChosenProject, originOf } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Database } from '../storage/storage.ts';
import { type Project, type Reach, reachesProject } from './project.ts';
import { findOnlyProject, findProject } from './project-store.ts';
import { createShortCache, type ShortCache } from './short-cache.ts';

/** The number of cached projects: twice the planned size of an installation, at some 300 bytes each. */
const REMEMBERED_PROJECTS = 20_000;

/** Caches projects, and projects that are the only one within reach, for a second. */
class RecentProjects {
  private readonly database: Database;
  private readonly byId: ShortCache<number, Project>;
  private readonly onlyOnes: ShortCache<string, Project>;

  constructor(database: Database, clock: Clock) {
    this.database = database;
    this.byId = createShortCache<number, Project>(clock, REMEMBERED_PROJECTS);
    this.onlyOnes = createShortCache<string, Project>(clock, REMEMBERED_PROJECTS);
  }

  recall(id: number): AtOnce<Project | undefined> {
    return this.byId.get(id, () => findProject(this.database.read, id));
  }

  /** @returns undefined if the project is out of reach, unknown or deleted */
  findInReach(reach: Reach, id: number): AtOnce<Project | undefined> {
    return andThen(this.recall(id), (project) =>
      project !== undefined && project.deletedAt === null && reachesProject(reach, project)
        ? project
        : undefined,
    );
  }

  /** @returns the only project within reach; undefined if there is none or more than one */
  findOnly(reach: Reach): AtOnce<Project | undefined> {
    const { accountId, scope } = reach;
    if (scope.type === 'project') return this.findInReach(reach, scope.id);
    return this.onlyOnes.get(`${accountId} ${JSON.stringify(scope)}`, () =>
      findOnlyProject(this.database.read, reach),
    );
  }

  drop(): void {
    this.byId.drop();
    this.onlyOnes.drop();
  }
}

/** Runs in every request, usually from memory. */
export function createProjectChoice(database: Database, clock: Clock) {
  const recent = new RecentProjects(database, clock);
  /** A project never changes its account. */
  const accounts = new BoundedMap<number, number>({ most: REMEMBERED_PROJECTS });

  function choose({ id, name, accountId }: Project, caller: Caller): ChosenProject {
    if (accounts.get(id) !== accountId) accounts.set(id, accountId);
    return { id, name, accountId, ...originOf(caller) };
  }

  /** @throws not_found */
  async function recall(projectId: number): Promise<Project> {
    const project = await recent.recall(projectId);
    if (project === undefined) throw new ServiceError('not_found');
    return project;
  }

  return {
    choose,
    /** Source: docs/interface §4.10. @throws project_required, scope_refused */
    chooseProject(caller: Caller, projectId: number | undefined): AtOnce<ChosenProject> {
      const candidate =
        projectId === undefined ? recent.findOnly(caller) : recent.findInReach(caller, projectId);
      return andThen(candidate, (project) => {
        if (project === undefined)
          throw new ServiceError(projectId === undefined ? 'project_required' : 'scope_refused');
        return choose(project, caller);
      });
    },
    /** Treats unknown and deleted projects as out of reach. */
    reachesProject: async (reach: Reach, projectId: number) =>
      (await recent.findInReach(reach, projectId)) !== undefined,
    /**
     * The settings may be a second old, so use them for answers and not for writes. Works for a deleted project.
     * @throws not_found
     */
    recallSettings: async (projectId: number) => (await recall(projectId)).settings,
    /** The locale may be a second old. Works for a deleted project. @throws not_found */
    recallLocale: async (projectId: number) => (await recall(projectId)).locale,
    /** @returns the account of a recently chosen project; otherwise a number that is different for each project */
    accountOf: (projectId: number) => accounts.get(projectId) ?? -projectId,
    /** Call it after a project was written. */
    dropCache: () => recent.drop(),
  };
}
