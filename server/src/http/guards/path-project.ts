import type { FastifyRequest, RouteOptions } from 'fastify';
import type { Caller, ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { describeSchemaErrors, ProjectParams } from '../answers/answers.ts';
import { chooseByRole } from './user-role.ts';

/** What projects know about the project of a path. */
export interface PathProjects {
  /** @throws not_found for a project that does not exist or is out of reach */
  choosePathProject(caller: Caller, projectId: number): ChosenProject | Promise<ChosenProject>;
}

const PROJECTS = '/management/projects/:';
const BELOW_PROJECT = `${PROJECTS}id/`;

/**
 * Marks every route below the path of a project, so that none can forget the check. Runs as the route is added.
 * @throws Error for a route there that nobody could be checked for
 */
export function markProjectRoute(route: RouteOptions): void {
  const { url, config = {}, schema = {} } = route;
  if (!url.startsWith(PROJECTS) || url === `${PROJECTS}id`) return;
  if (!url.startsWith(BELOW_PROJECT)) throw new Error(`${url} must name its project :id`);
  if (config.guard !== 'management') throw new Error(`${url} must have the guard management`);
  route.schema = { ...schema, params: schema.params ?? ProjectParams };
  route.config = { ...config, isBelowProject: config.findsDeletedProject !== true };
}

/** Finds the project of the path, before the other parameters and the body are looked at. Source: docs/interface.md §7.2. */
export function createPathProjectHook(projects: PathProjects) {
  return async (request: FastifyRequest): Promise<void> => {
    if (request.routeOptions.config.isBelowProject !== true) return;
    const check = request.getValidationFunction('params');
    if (check === undefined) throw new Error(`nobody knows the project of ${request.routeOptions.url}`);
    if (!check(request.params)) {
      throw new ServiceError('query_invalid', { details: describeSchemaErrors(check.errors ?? []) });
    }
    const { id } = request.params as { id: number };
    request.project = await chooseByRole(request, id, (caller) => projects.choosePathProject(caller, id));
  };
}
