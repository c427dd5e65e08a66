/**
 * The door of users: people with passwords, their sessions in the console, invitations and the owner link.
 */

export { type CompanySignIn, createCompanySignIn } from './company-sign-in.ts';
export { ownerLinkUrl } from './console-links.ts';
export { createSessionFinder, type SessionFinder } from './console-session.ts';
export { dropInvitationsUpTo } from './invitation-store.ts';
export { createInvitations, type Invitations } from './invitations.ts';
export { createLinkCheck, type LinkCheck } from './link-check.ts';
export { createOwnSessions, type OwnSessions } from './own-sessions.ts';
export { createOwnerLinks, type OwnerLinks } from './owner-link.ts';
export { dropOwnerLinksUpTo } from './owner-link-store.ts';
export { dropChallengesUpTo } from './passkey-store.ts';
export { createPasskeys, type Passkeys } from './passkeys.ts';
export { createPasswordLimit } from './password-limit.ts';
export { createSignIn, type SignIn } from './sign-in.ts';
export { createUserManagement, type UserManagement } from './user-management.ts';
export { removeRolesIn } from './user-store.ts';
