import { constants } from 'node:os';
import { join } from 'node:path';
import { ownerLinkUrl } from '../access/users/users.ts';
import { type App, baseUrlOf, createApp, isConsoleBuilt, prepareAgents, type Role } from '../app/app.ts';
import { type Config, readConfig } from '../config.ts';
import { dataFolderAt, tightenDataFolder, writeOwnFile } from '../storage/folder/folder.ts';

/** `relata serve`: serves until SIGTERM or SIGINT. */
export async function serveCommand(flags: { role?: Role; standby?: string } = {}): Promise<number> {
  const { role = 'all', standby } = flags;
  const given = readConfig();
  const isStandby = standby !== undefined;
  const config = isStandby ? { ...given, backup: { ...given.backup, url: standby } } : given;
  // Port 0 means any free port, so the address cannot be in use.
  const takesAddress = config.port !== 0;
  const endStart = endOnSignal();
  const app = await createApp({ config, role, isStandby, takesAddress, emptyRefusal: refuseEmpty(config) });
  if (!isStandby) await makeFirstKey(app, config);
  warnOfReaders(app, config);
  if (role !== 'worker') await prepareAgents();
  const address = await app.start();
  app.startThreads();
  if (role !== 'worker' && config.showsOwnerLink && !isStandby) await showOwnerLink(app, config);
  app.server.log.info({ address }, 'relata serves');
  endStart();
  await untilStopped(app);
  return 0;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Ends the process during a start, which may wait long for its database. Without a handler, the kernel does not end the
 * first process of a container.
 * @returns a function that removes the handlers
 */
function endOnSignal(): () => void {
  const end = (signal: NodeJS.Signals) => process.exit(128 + constants.signals[signal]);
  for (const signal of SIGNALS) process.on(signal, end);
  return () => {
    for (const signal of SIGNALS) process.off(signal, end);
  };
}

const SHOWN_PATHS = 3;

/**
 * Warns about files that other users can read, because an older version or a person created them.
 * Source: docs/operating/install.md, "First start".
 */
function warnOfReaders({ server }: App, { database, dataDir }: Config): void {
  if (database !== undefined) return;
  const paths = tightenDataFolder(dataFolderAt(dataDir));
  if (paths.length === 0) return;
  const facts = { paths: paths.slice(0, SHOWN_PATHS), count: paths.length };
  server.log.warn(
    facts,
    'other users can access the data directory; set the mode of folders to 0700 and of files to 0600',
  );
}

/**
 * Refuses to write the first key of a PostgreSQL database to a file. Several machines can start with the database, and
 * the file would be on an arbitrary one.
 */
function refuseEmpty({ accountKey, database }: Config): string | undefined {
  const isShown = accountKey !== undefined || process.stdout.isTTY;
  return database === undefined || isShown
    ? undefined
    : 'An empty PostgreSQL database needs the first account key in RELATA_ACCOUNT_KEY.';
}

/** Source: docs/interface §10.2. */
async function makeFirstKey(app: App, { accountKey, dataDir }: Config): Promise<void> {
  const made = await app.access.createFirstAccount(accountKey);
  if (made === undefined) {
    if (accountKey !== undefined)
      app.server.log.warn('RELATA_ACCOUNT_KEY is ignored because the store already has keys');
    return;
  }
  if (accountKey !== undefined) return;
  if (process.stdout.isTTY) {
    console.log(`\nThe first account key, which is shown only once:\n\n  ${made.key}\n`);
    return;
  }
  const path = join(dataDir, 'first-account-key');
  writeOwnFile(path, `${made.key}\n`, 'w');
  app.server.log.info({ path }, 'the first account key was written to a file; read it, then delete the file');
}

/**
 * Shows a link at each start while there is no owner with a password. Without a terminal the link is logged, so a
 * reader of the log can become the owner within an hour. Source: docs/interface §14.5.
 */
async function showOwnerLink(app: App, config: Config): Promise<void> {
  const { log } = app.server;
  if (!isConsoleBuilt()) {
    if (!(await app.access.hasOwner()))
      log.warn(
        'the service has no owner, and the console is not built; run npm ci && npm run build, then restart the service for a link to sign up',
      );
    return;
  }
  try {
    const link = await makeFirstOwnerLink(app, config);
    if (link === undefined) return;
    if (process.stdout.isTTY) console.log(`\nSign up as the owner within an hour:\n\n  ${link}\n`);
    else log.warn({ link }, 'the service has no owner; open this link within an hour to become the owner');
  } catch (error) {
    // The start continues: lookups work with a full disk, and `relata owner-link` can make a link later.
    log.warn({ err: error }, 'making an owner link failed; run relata owner-link to make one');
  }
}

/** @returns the link; undefined if there is an owner */
export async function makeFirstOwnerLink({ access, projects, server }: App, config: Config) {
  const [first] = await projects.findAccounts();
  if (first === undefined || (await access.hasOwner())) return undefined;
  return ownerLinkUrl(baseUrlOf(config, server), await access.makeOwnerLink(first.id, 'relata serve'));
}

/** Waits for a signal, then stops gracefully. A second signal ends the process immediately. */
export async function untilStopped(app: App): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isStopping = false;
  const { log } = app.server;
  const stop = (signal: NodeJS.Signals): void => {
    // The handlers stay: without one, a signal does not end the first process of a container.
    if (isStopping) process.exit(128 + constants.signals[signal]);
    isStopping = true;
    log.info(
      { signal },
      'relata stops; requests in progress are completed and running tasks are handed back',
    );
    resolve();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  await promise;
  await app.stop();
  log.info('relata has stopped');
}
