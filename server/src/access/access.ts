/**
 * The door of access: API keys and users, the caller that a key or console session identifies, and the access and
 * rate limit of that caller. The server calls it before every request. It stores hashes of secrets and never their
 * values. The room projects makes the decisions about projects. The only timer of access records when keys were used.
 */
import { commandAuthor, type Projects } from '../projects/projects.ts';
import type { Postgres } from '../storage/postgres/postgres.ts';
import type { Base } from '../storage/storage.ts';
import {
  createKeyFinder,
  createKeyManagement,
  hasAnyKey,
  LastUse,
  makeKeyValue,
  removeKeysOf,
} from './keys/keys.ts';
import type { ProviderSettings } from './oidc/oidc.ts';
import { createUsers, removeRolesIn } from './users/users.ts';

export type Access = ReturnType<typeof createAccess>;

export interface AccessParts extends Pick<Base, 'clock' | 'database'> {
  /** The database in which several processes count requests together. */
  readonly postgres?: Postgres | undefined;
  readonly projects: Projects;
  /** The company's provider; undefined if people sign in with passwords only. */
  readonly oidc?: ProviderSettings | undefined;
}

export function createAccess({ database, postgres, clock, projects, oidc }: AccessParts) {
  const lastUse = new LastUse(database);
  const parts = { database, postgres, clock, projects, lastUse };
  const { dropCache, dropEndedWindows, ...finder } = createKeyFinder(parts);
  const { addKey, ...management } = createKeyManagement({ ...parts, onWritten: dropCache });
  const { dropEnded, forgetUsers, ...users } = createUsers({ database, clock, projects, oidc });
  projects.onRemoval(async (tx, part) => {
    await removeKeysOf(tx, part);
    await removeRolesIn(tx, part);
    dropCache();
    forgetUsers();
  });

  return {
    ...finder,
    ...management,
    ...users,
    /**
     * Creates the account "Main" and its key "First key" if the store has no account. Several processes that start
     * together create one account. Source: docs/interface §10.2.
     * @param accountKey the value of the key; undefined: a new value
     * @returns undefined if the store already has an account
     */
    createFirstAccount: (accountKey?: string): Promise<{ key: string } | undefined> =>
      database.write('all', async (tx) => {
        if ((await projects.findAccounts(tx)).length > 0) return undefined;
        const account = await projects.addAccount(tx, 'Main', 'first start');
        const author = commandAuthor(account.id, 'first start');
        const value = accountKey ?? makeKeyValue();
        await addKey(tx, author, { name: 'First key', scope: { type: 'account' }, value });
        return { key: value };
      }),
    hasKeys: () => hasAnyKey(database.read),
    /** Removes expired sessions, links and counts; called periodically. */
    async dropEnded(): Promise<void> {
      await dropEndedWindows();
      await dropEnded();
    },
    /** Records when keys were used. This also happens every 10 seconds. Call it before the database is closed. */
    close: () => lastUse.flush(),
  };
}
