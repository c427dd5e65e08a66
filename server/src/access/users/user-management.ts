import { isDeepStrictEqual } from 'node:util';
import { includesRole } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Author, PageRequest, Projects, Writer } from '../../projects/projects.ts';
import { Resources } from '../../projects/projects.ts';
import type { Chosen, ControlTransaction } from '../../storage/storage.ts';
import { refuseLimited } from '../keys/keys.ts';
import type { UserParts } from './console-session.ts';
import { type Roles, refuseUnfitRoles, type User } from './user.ts';
import {
  countLocalOwners,
  findUser,
  removeBelongings,
  removeInvitationsBy,
  removePasskeys,
  USERS,
} from './user-store.ts';

type UserChange = Partial<Pick<User, 'name' | 'role' | 'roles'>>;
type UserWriter = Writer<User, Author>;

/**
 * Manages the users of the caller's account; users of other accounts are not_found. Only owners and account keys with
 * access manage can call this. Source: docs/interface §14.6.
 */
export function createUserManagement(parts: UserParts) {
  const users = new Resources<User, Author>(parts, {
    store: USERS,
    ...ownerRights,
    audit: ({ id, name }) => ({ subject: { type: 'user', id, name } }),
    show: ({ name, role, roles }) => ({ name, role, roles }),
    showDeleted: ({ email, role, roles }) => ({ email, role, roles }),
  });

  return {
    listUsers: (author: Author, page: PageRequest) => users.list(author, page),
    /**
     * The change takes effect with the next request.
     * @throws not_found, last_owner, key_beyond_own, request_invalid, scope_refused
     */
    changeUser: (writer: UserWriter, chosen: Chosen, change: UserChange): Promise<User> =>
      users.change(writer, { ...chosen, what: 'changed' }, async (tx, before) => {
        const after = { ...before, ...(change.role === 'owner' && { roles: [] }), ...change };
        const hasOtherRoles = before.role !== after.role || !isDeepStrictEqual(before.roles, after.roles);
        if (hasOtherRoles)
          await checkRoles(tx, { projects: parts.projects, author: writer.author }, { before, after });
        return { after };
      }),
    /** Also removes the user's sessions and the invitations that the user made. @throws not_found, last_owner */
    deleteUser: (writer: UserWriter, chosen: Chosen): Promise<void> =>
      users.remove(writer, chosen, async (tx, user) => {
        if (user.role === 'owner') await refuseLastOwner(tx, user);
        await removeBelongings(tx, user.id);
      }),
    /** Removes the passkeys of a user who lost them. @throws not_found */
    removePasskeysOf: (writer: UserWriter, chosen: Chosen): Promise<User> =>
      users.change(writer, { ...chosen, what: 'passkeys-removed' }, async (tx, after) => {
        const removed = await removePasskeys(tx, { userId: after.id });
        return { after, details: { passkeys: removed.map(({ name }) => name) } };
      }),
  };
}

/** The guard checks sessions as well; this also checks keys. @throws scope_refused, role_refused */
export function refuseUnlessOwner(author: Author): void {
  if ('userId' in author) {
    if (!includesRole(author.role, 'owner')) throw new ServiceError('role_refused');
    return;
  }
  if (author.scope.type !== 'account' || author.access !== 'manage') throw new ServiceError('scope_refused');
}

/** Refuses a user who was an owner when the request arrived and has lost the role. @throws role_refused */
async function refuseFormerOwner(tx: ControlTransaction, author: Author): Promise<void> {
  if (!('userId' in author)) return;
  const user = await findUser(tx, { id: author.userId });
  if (user?.role !== 'owner') throw new ServiceError('role_refused');
}

/** Checks for resources that only owners and account keys with access manage can reach. */
export const ownerRights = { refuse: refuseUnlessOwner, refuseFormer: refuseFormerOwner };

/** @throws role_of_groups, last_owner, key_beyond_own, request_invalid, scope_refused */
async function checkRoles(
  tx: ControlTransaction,
  { projects, author }: { readonly projects: Projects; readonly author: Author },
  { before, after }: { readonly before: User; readonly after: Roles },
): Promise<void> {
  // The next sign-in would restore the roles of the groups.
  if (before.signsInWith === 'company-account')
    throw new ServiceError('role_of_groups', 'change the groups at the provider');
  await refuseUnfitRoles(projects, author, after);
  if (gainsRoles(before, after)) await refuseLimited(tx, author);
  if (before.role !== 'owner') return;
  await refuseLastOwner(tx, before);
  await removeInvitationsBy(tx, before.id);
}

const gainsRoles = (before: Roles, after: Roles) =>
  !includesRole(before.role, after.role) ||
  after.roles.some((role) => !before.roles.some((earlier) => isDeepStrictEqual(earlier, role)));

/** @throws last_owner */
async function refuseLastOwner(tx: ControlTransaction, { accountId, signsInWith }: User): Promise<void> {
  if (signsInWith === 'company-account' || (await countLocalOwners(tx, accountId)) > 1) return;
  throw new ServiceError('last_owner', 'make another user who signs in with a password an owner first');
}
