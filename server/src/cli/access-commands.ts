import { type Access, createAccess } from '../access/access.ts';
import { ownerLinkUrl } from '../access/users/users.ts';
import { baseUrlOf } from '../app/app.ts';
import { readConfig } from '../config.ts';
import { systemClock } from '../kernel/clock.ts';
import { type Author, asWriter, commandAuthor, createProjects, type Projects } from '../projects/projects.ts';
import { existingDataFolder } from '../storage/folder/folder.ts';
import { openStorage } from '../storage/storage.ts';

/** `relata account create NAME`: can run while a process serves the store. */
export async function createAccountCommand(name: string): Promise<number> {
  return withAccess(async ({ projects, access }) => {
    const account = await projects.createAccount(name);
    await printKey(access, commandAuthor(account.id, 'relata account create'), 'First key');
  });
}

/** `relata key create --scope account`: creates a key, for example after the last key was lost. */
export async function createKeyCommand(values: { account?: string; name?: string }): Promise<number> {
  return withAccess(async ({ projects, access }) => {
    const account = await chooseAccount(projects, values.account);
    const author = commandAuthor(account.id, 'relata key create');
    await printKey(access, author, values.name ?? 'Key from the command line');
  });
}

/** `relata owner-link`: prints a link for the first owner, or for an owner who lost the password. */
export async function ownerLinkCommand(values: { account?: string }): Promise<number> {
  return withAccess(async ({ projects, access }) => {
    const account = await chooseAccount(projects, values.account);
    const token = await access.makeOwnerLink(account.id, 'relata owner-link');
    console.error('The link works once, within an hour:');
    console.log(ownerLinkUrl(baseUrlOf(readConfig()), token));
  });
}

async function chooseAccount(projects: Projects, accountName: string | undefined) {
  const accounts = await projects.findAccounts();
  const fitting = accounts.filter(({ name }) => accountName === undefined || name === accountName);
  const [account] = fitting;
  if (account === undefined) throw new Error('there is no account with this name: check --account');
  if (fitting.length > 1) {
    throw new Error(
      `there are several accounts: choose one with --account: ${accounts.map(({ name }) => name).join(', ')}`,
    );
  }
  return account;
}

async function printKey(access: Access, author: Author, name: string): Promise<void> {
  const key = await access.createKey(asWriter(author), { name, scope: { type: 'account' } });
  console.error('The key, which is shown only once:');
  console.log(key.value);
}

async function withAccess(work: (parts: { projects: Projects; access: Access }) => Promise<void>) {
  const config = readConfig();
  if (config.database === undefined) existingDataFolder(config.dataDir);
  const storage = await openStorage(config);
  const { database, postgres } = storage;
  const projects = createProjects({ database, clock: systemClock });
  const access = createAccess({ database, clock: systemClock, projects, postgres });
  try {
    await work({ projects, access });
    return 0;
  } finally {
    await access.close();
    await storage.close();
  }
}
