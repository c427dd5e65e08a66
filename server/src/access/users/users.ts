/**
 * The door of users: people with passwords, their sessions in the console, invitations and the owner link.
 */
import { type CompanySignInParts, createCompanySignIn } from './company-sign-in.ts';
import { createOwnSessions, createSessionFinder, IDLE_MS, type UserParts } from './console-session.ts';
import { createPasskeys } from './passkeys.ts';
import { createPasswordLimit } from './password.ts';
import { createSignIn } from './sign-in.ts';
import { checkLink, createInvitations, createOwnerLinks } from './sign-up-links.ts';
import { createUserManagement } from './user-management.ts';
import { dropExpired } from './user-store.ts';

export { ownerLinkUrl } from './user.ts';
export { removeRolesIn } from './user-store.ts';

export function createUsers(given: Omit<CompanySignInParts, 'onWritten'>) {
  const { database, clock, oidc } = given;
  const { findUser, dropCache } = createSessionFinder(given);
  const parts: UserParts = { ...given, onWritten: dropCache };
  const limited = { ...parts, limit: createPasswordLimit(database, clock) };
  return {
    findUser,
    /** Call it after other code has written users. */
    forgetUsers: dropCache,
    ...createSignIn(limited),
    ...createOwnSessions(parts),
    ...createPasskeys(limited),
    ...createCompanySignIn({ ...parts, oidc }),
    ...createUserManagement(parts),
    ...createInvitations(parts),
    ...createOwnerLinks(parts),
    checkLink: (token: string) => checkLink(parts, token),
    dropEnded: () => {
      const now = clock.now();
      return dropExpired(database, { now, unusedSince: now - IDLE_MS });
    },
  };
}
