import { isDeepStrictEqual } from 'node:util';
import { type Caller, includesRole, isUser, type PartRole, type Role } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import {
  type Author,
  type Beside,
  type Change,
  describeChange,
  type ListPage,
  type PageRequest,
  type Projects,
  readPlace,
  toPage,
} from '../../projects/projects.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import { refuseLimited } from '../keys/keys.ts';
import { type UserParts, writeSessions } from './console-session.ts';
import { removeSessionsOf } from './sign-in-store.ts';
import { type Roles, refuseUnfitRoles, type User } from './user.ts';
import * as userStore from './user-store.ts';

interface UserChange {
  readonly id: number;
  readonly name?: string;
  readonly role?: Role;
  readonly roles?: readonly PartRole[];
}

/**
 * The users of the caller's account; those of another are not_found. Owners and account keys that may manage
 * may call this, others are refused. Source: docs/interface.md §14.6.
 */
export function createUserManagement(parts: UserParts) {
  const { database, projects } = parts;
  return {
    async listUsers(caller: Caller, page: PageRequest): Promise<ListPage<User>> {
      refuseUnlessOwner(caller);
      const place = readPlace(page);
      return toPage(await userStore.listUsers(database.read, caller.accountId, place), place);
    },
    /** Holds from the next request on. @throws not_found, last_owner, key_beyond_own, request_invalid, scope_refused */
    async changeUser(author: Caller, { id, ...change }: UserChange, beside?: Beside<User>): Promise<User> {
      refuseUnlessOwner(author);
      return await writeSessions(parts, async (tx) => {
        const before = await getUser(tx, author, id);
        const after = { ...before, ...(change.role === 'owner' && { roles: [] }), ...change };
        if (hasOtherRoles(before, after)) await checkRoles(projects, { tx, author, before, after });
        await userStore.updateUser(tx, { id, ...changeable(after) });
        const { passwordHash: _, ...user } = after;
        const details = describeChange(changeable(before), changeable(after));
        await projects.recordChange({ ...describeUserChange(author, 'changed', user), details }, tx);
        await beside?.(tx, user);
        return user;
      });
    },
    /** Their sessions and the invitations that they made go with them. @throws not_found, last_owner */
    async deleteUser(author: Caller, id: number, beside?: Beside<User>): Promise<void> {
      refuseUnlessOwner(author);
      await writeSessions(parts, async (tx) => {
        const user = await getUser(tx, author, id);
        if (user.role === 'owner') await refuseLastOwner(tx, user);
        await userStore.removeInvitationsBy(tx, id);
        await removeSessionsOf(tx, id);
        await userStore.removeUser(tx, id);
        const details = { email: user.email, role: user.role, roles: user.roles };
        await projects.recordChange({ ...describeUserChange(author, 'deleted', user), details }, tx);
        await beside?.(tx, user);
      });
    },
  };
}

/** Sessions are checked by the guard as well; this is for keys. @throws scope_refused, role_refused */
export function refuseUnlessOwner(caller: Caller): void {
  if (isUser(caller)) {
    if (!includesRole(caller.role, 'owner')) throw new ServiceError('role_refused');
    return;
  }
  if (caller.scope.type !== 'account' || caller.access !== 'manage') throw new ServiceError('scope_refused');
}

/** @throws not_found; role_refused: an owner when the request came may have ceased to be one meanwhile */
export async function getUser(
  tx: ControlTransaction,
  author: Caller,
  id: number,
): Promise<userStore.StoredUser> {
  const { accountId } = author;
  if (isUser(author) && (await userStore.findUser(tx, { id: author.userId, accountId }))?.role !== 'owner')
    throw new ServiceError('role_refused');
  const user = await userStore.findUser(tx, { id, accountId });
  if (user === undefined) throw new ServiceError('not_found');
  return user;
}

const changeable = ({ name, role, roles }: Pick<User, 'name'> & Roles) => ({ name, role, roles });

const hasOtherRoles = (before: Roles, after: Roles) =>
  before.role !== after.role || !isDeepStrictEqual(before.roles, after.roles);

const gainsRoles = (before: Roles, after: Roles) =>
  !includesRole(before.role, after.role) ||
  after.roles.some((one) => !before.roles.some((held) => isDeepStrictEqual(held, one)));

interface RoleChange {
  readonly tx: ControlTransaction;
  readonly author: Author;
  readonly before: User;
  readonly after: Roles;
}

/** @throws role_of_groups, last_owner, key_beyond_own, request_invalid, scope_refused */
async function checkRoles(projects: Projects, { tx, author, before, after }: RoleChange): Promise<void> {
  // At the next sign-in they would be those of the groups again.
  if (before.signsInWith === 'company-account')
    throw new ServiceError('role_of_groups', 'change the groups at the provider');
  await refuseUnfitRoles(projects, author, after);
  if (gainsRoles(before, after)) await refuseLimited(tx, author);
  if (before.role !== 'owner') return;
  await refuseLastOwner(tx, before);
  await userStore.removeInvitationsBy(tx, before.id);
}

/** @throws last_owner */
async function refuseLastOwner(tx: ControlTransaction, { accountId, signsInWith }: User): Promise<void> {
  if (signsInWith === 'company-account' || (await userStore.countLocalOwners(tx, accountId)) > 1) return;
  throw new ServiceError('last_owner', 'make another user who signs in with a password an owner first');
}

export function describeUserChange(
  author: Author,
  what: string,
  { id, name }: Pick<User, 'id' | 'name'>,
): Change {
  return { author, action: `user.${what}`, subject: { type: 'user', id, name } };
}
