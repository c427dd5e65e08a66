import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { commandAuthor, describeChange, type Projects } from '../../projects/projects.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';
import { type OpenedSession, openSession, type Visitor } from './console-session.ts';
import { removeSessionsOf } from './console-session-store.ts';
import { removeInvitationsTo } from './invitation-store.ts';
import { findOwnerLink, insertOwnerLink, removeOwnerLinks } from './owner-link-store.ts';
import { removePasskeys } from './passkey-store.ts';
import { hashPassword, refuseWeakPassword } from './password.ts';
import { userChange, writeSessions } from './sign-in.ts';
import { hashSecret, makeSecret, normalizeEmail, type User } from './user.ts';
import { findUserByEmail, hasAnyOwner, insertUser, updateUser } from './user-store.ts';

/** Source: docs/interface.md §14.5 rule 3. */
const OWNER_LINK_MS = 3_600_000;

export interface NewOwner {
  readonly token: string;
  readonly email: string;
  readonly name: string;
  readonly password: string;
}

export interface OwnerLinks {
  /** Whether any account has one. */
  hasOwner(): Promise<boolean>;
  /** Good once and for an hour, beside others of the account. @returns the token */
  makeOwnerLink(accountId: number, command: string): Promise<string>;
  /**
   * Makes the user whom a link lets in: a new one, or the one of that address in the account, who gets the role and the new
   * password. All links of the account end. @throws link_ended, email_taken, request_invalid
   */
  createOwner(given: NewOwner, visitor: Visitor): Promise<OpenedSession>;
}

export interface OwnerLinkParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly projects: Projects;
  readonly onWritten: () => void;
}

export function createOwnerLinks(parts: OwnerLinkParts): OwnerLinks {
  const { database, clock, projects } = parts;
  return {
    hasOwner: () => hasAnyOwner(database.read),
    makeOwnerLink: (accountId, command) =>
      database.write(async (tx) => {
        const token = makeSecret();
        const expiresAt = clock.now() + OWNER_LINK_MS;
        await insertOwnerLink(tx, { hash: hashSecret(token), accountId, expiresAt });
        const author = commandAuthor(accountId, command);
        const subject = { type: 'owner-link' };
        const details = { expiresAt };
        await projects.recordChange({ author, action: 'owner-link.created', subject, details }, tx);
        return token;
      }),
    async createOwner(given, visitor) {
      const hash = hashSecret(given.token);
      // Before the password is hashed: who has no link costs next to nothing.
      await getLink(database.read, hash, clock.now());
      const owner = { ...given, email: normalizeEmail(given.email) };
      refuseWeakPassword('password', given.password, owner);
      const passwordHash = await hashPassword(given.password);
      return writeSessions(parts, async (tx) => {
        const { accountId } = await getLink(tx, hash, clock.now());
        await removeOwnerLinks(tx, accountId);
        const user = await makeOwner(parts, { tx, accountId, given: { ...owner, passwordHash } });
        const opened = await openSession(tx, { user: user.user, now: clock.now(), visitor });
        const { what, details } = user;
        await projects.recordChange({ ...userChange(opened.caller, what), details }, tx);
        return opened;
      });
    },
  };
}

/** Used, replaced, expired and unknown are alike. @throws link_ended */
async function getLink(
  rows: Database['read'] | ControlTransaction,
  hash: string,
  now: number,
): Promise<{ accountId: number }> {
  const link = await findOwnerLink(rows, hash, now);
  if (link === undefined) throw new ServiceError('link_ended');
  return link;
}

interface OwnerToMake {
  readonly tx: ControlTransaction;
  readonly accountId: number;
  readonly given: { readonly email: string; readonly name: string; readonly passwordHash: string };
}

async function makeOwner(
  { clock }: OwnerLinkParts,
  { tx, accountId, given: { email, name, passwordHash } }: OwnerToMake,
): Promise<{ user: User; what: string; details: Readonly<Record<string, unknown>> }> {
  const owner = { role: 'owner', roles: [] } as const;
  const { role } = owner;
  await removeInvitationsTo(tx, { accountId, email });
  const known = await findUserByEmail(tx, email);
  if (known === undefined) {
    const added = { accountId, email, name, ...owner, passwordHash, createdAt: clock.now() };
    return { user: await insertUser(tx, added), what: 'created', details: { email, role, by: 'owner link' } };
  }
  if (known.accountId !== accountId) throw new ServiceError('email_taken');
  await updateUser(tx, { id: known.id, name, ...owner, passwordHash });
  await removeSessionsOf(tx, known.id);
  await removePasskeys(tx, { userId: known.id });
  const details = describeChange({ name: known.name, role: known.role }, { name, role });
  return { user: { ...known, name, ...owner, passkeys: 0 }, what: 'recovered', details };
}
