import type { Role } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Database } from '../../storage/storage.ts';
import { findInvitationByHash } from './invitation-store.ts';
import { findOwnerLink } from './owner-link-store.ts';
import { hashSecret } from './user.ts';

interface FoundLink {
  readonly type: 'owner' | 'invitation';
  readonly role: Role;
  readonly expiresAt: number;
  /** Of an invitation: the user's. */
  readonly email?: string;
}

export interface LinkCheck {
  /** What a link is for, before anybody fills anything in. It stays good. @throws link_ended */
  checkLink(token: string): Promise<FoundLink>;
}

export const createLinkCheck = ({
  database,
  clock,
}: {
  readonly database: Database;
  readonly clock: Clock;
}): LinkCheck => ({
  async checkLink(token) {
    const [hash, now] = [hashSecret(token), clock.now()];
    const owner = await findOwnerLink(database.read, hash, now);
    if (owner) return { type: 'owner', role: 'owner', expiresAt: owner.expiresAt };
    const invitation = await findInvitationByHash(database.read, hash, now);
    if (invitation === undefined) throw new ServiceError('link_ended');
    const { role, expiresAt, email } = invitation;
    return { type: 'invitation', role, expiresAt, email };
  },
});
