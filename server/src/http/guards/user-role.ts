import type { FastifyRequest } from 'fastify';
import {
  type Caller,
  type ChosenProject,
  highestRoleOf,
  includesRole,
  isUser,
  listParts,
  type Role,
  reachOf,
  type UserCaller,
} from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { changesSomething } from './session-cookie.ts';

/** A key that may not manage is for programs that serve shoppers; a viewer looks at everything. */
function wantedRole(request: FastifyRequest): Role {
  const { access = 'read', role } = request.routeOptions.config;
  return role ?? (changesSomething(request) && access !== 'read' ? 'editor' : 'viewer');
}

/**
 * Whoever has a role in parts of the account reaches, for this request, those parts alone in which it suffices.
 * @throws role_refused where there is none
 */
export function narrowToRole(request: FastifyRequest, user: UserCaller): UserCaller {
  const wanted = wantedRole(request);
  const scope = reachOf(user, wanted);
  const parts = listParts(scope);
  // Without any role one still looks at oneself, signs out, and sees no project.
  if (wanted !== 'viewer' && parts?.groups.length === 0 && parts.projects.length === 0) {
    throw roleRefused(wanted, `yours is ${highestRoleOf(user)}`);
  }
  return { ...user, scope };
}

type FindProject = (caller: Caller, id: number | undefined) => ChosenProject | Promise<ChosenProject>;

/**
 * Finds the project among those that the caller may look at, then what the caller may do there.
 * @throws role_refused, and what `find` throws
 */
export async function chooseByRole(
  request: FastifyRequest,
  id: number | undefined,
  find: FindProject,
): Promise<ChosenProject> {
  const { caller } = request;
  if (!isUser(caller) || caller.roles.length === 0) return find(caller, id);
  const project = await find({ ...caller, scope: reachOf(caller, 'viewer') }, id);
  const wanted = wantedRole(request);
  const canChange = await isFound(() => find({ ...caller, scope: reachOf(caller, 'editor') }, project.id));
  if (!canChange && includesRole(wanted, 'editor')) {
    throw roleRefused(wanted, `yours in project ${project.id} is viewer`);
  }
  request.caller = { ...caller, access: canChange ? 'manage' : 'read' };
  return project;
}

async function isFound(find: () => unknown): Promise<boolean> {
  try {
    await find();
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

const roleRefused = (wanted: Role, held: string) =>
  new ServiceError('role_refused', { details: [`this takes the role ${wanted}, ${held}`] });
