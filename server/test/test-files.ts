import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  CONSOLE_SMOKE,
  DEEP_FIRST,
  LATER,
  LONG_WORK,
  OWN_PROCESS,
  POSTGRES_SMOKE,
  RULES_ABOVE_THE_STORES,
  TRIES_MORE,
  WITH_ALL_CASES,
} from './test-lists.ts';

/**
 * The stores on which test files run. A file that imports test-store.ts, directly or not, gets its store from there and
 * runs on both, unless RULES_ABOVE_THE_STORES says that its subject is independent of the store. `sqlite-*.test.ts` and
 * `postgres-*.test.ts` are about one store.
 */

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const TEST_STORE = join(ROOT, 'test/support/test-store.ts');
const REAL_PRODUCTS = join(ROOT, 'test/support/real-products.ts');

/** @returns the sorted paths of all test files except those about PostgreSQL */
export const listEmbedded = (): string[] => listAll().filter((path) => !isAbout(path, 'postgres'));

/** @returns test files about PostgreSQL, and those whose subject depends on the given store */
export const listPostgres = (): string[] => {
  const chosen = new Set(listGettingStore().filter((path) => !(nameOf(path) in RULES_ABOVE_THE_STORES)));
  return listAll().filter((path) => isAbout(path, 'postgres') || chosen.has(path));
};

/** @returns test files that run on whichever store they are given */
export const listGettingStore = (): string[] =>
  listAll().filter((path) => !isAbout(path, 'sqlite') && !isAbout(path, 'postgres') && getsStore(path));

/** @returns the first checks of a change: tests next to their subjects, and those of the interface */
export const listFirst = (): string[] =>
  listEmbedded().filter(
    (path) =>
      (!path.startsWith(join(ROOT, 'test/')) || basename(path).startsWith('interface-')) &&
      ![...DEEP_FIRST, ...LATER.embedded.files].includes(nameOf(path)),
  );

/** @returns the files that listFirst leaves out, and those that try more cases if there is time */
export const listDeep = (): string[] => {
  const first = new Set(listFirst());
  return listEmbedded().filter((path) => !first.has(path) || TRIES_MORE.includes(nameOf(path)));
};

/** @returns the files of a pass of `npm run test:deep`, and those of `npm run test:long`: some are in both, with fewer cases in the first */
export function divideDeep(
  pass: keyof typeof LATER,
  all: readonly string[],
): { soon: string[]; later: string[] } {
  const { files, folders } = LATER[pass];
  const isLater = (path: string) => files.includes(nameOf(path)) || folders?.test(nameOf(path)) === true;
  const isAgain = (path: string) => WITH_ALL_CASES.includes(nameOf(path));
  return {
    soon: all.filter((path) => !isLater(path)),
    later: all.filter((path) => isLater(path) || (pass !== 'postgres' && isAgain(path))),
  };
}

/** @returns files that show whether PostgreSQL works at all */
export const listPostgresSmoke = (): string[] => POSTGRES_SMOKE.map((name) => join(ROOT, name));

/** @returns files that show whether the console works at all */
export const listConsoleSmoke = (): string[] =>
  CONSOLE_SMOKE.map((name) => join(ROOT, '../console/test', name));

/** @returns test files about PostgreSQL, and enough others to execute each statement */
export const listInstalled = (): string[] =>
  listPostgres().filter((path) => INSTALLED.some((start) => basename(path).startsWith(start)));

const INSTALLED = [
  'postgres-schema',
  'postgres-c',
  'postgres-relations',
  'postgres-rolling',
  'interface-full-',
  'interface-updates',
  'interface-relations',
];

/** @returns files with the interface's rules, kills of processes and workers, and the oracle of relations */
export const listCluster = (): string[] =>
  listPostgres().filter((path) => CLUSTER.some((start) => basename(path).startsWith(start)));

const CLUSTER = ['interface-', 'crash', 'chaos', 'relations-oracle', 'postgres-cluster'];

/** @returns files that read the real catalog if available, otherwise the generated one */
export const listReadingCatalog = (): string[] => listAll().filter((path) => leadsTo(path, REAL_PRODUCTS));

/** @returns the tests of the client, the console or the package, which start the service as a process */
export const listWorkspace = (name: 'client' | 'console' | 'package'): string[] =>
  globSync('{src,test}/**/*.test.ts', { cwd: join(ROOT, '..', name) })
    .map((path) => join(ROOT, '..', name, path))
    .sort();

/** @returns test files that open a store themselves, and so never run on the other one */
export const listOneSided = (): string[] =>
  listAll().filter(
    (path) =>
      !isAbout(path, 'sqlite') &&
      !isAbout(path, 'postgres') &&
      !getsStore(path) &&
      /\b(?:openStorage|DatabaseSync|CatalogFile|createCatalogFiles|openPostgres)\(/.test(
        readFileSync(path, 'utf8'),
      ),
  );

/** @returns the name of a file in these lists: `test/service/body-budget.test.ts` */
const nameOf = (path: string) => relative(ROOT, path);

const listAll = () =>
  globSync(['{src,openapi,test}/**/*.test.ts', '../site/*.test.ts'], { cwd: ROOT })
    .map((path) => join(ROOT, path))
    .sort();

const isAbout = (path: string, subject: string) => basename(path).startsWith(`${subject}-`);

const getsStore = (path: string) => leadsTo(path, TEST_STORE);

/** Whether imports of values lead there; the service's own imports never do. */
function leadsTo(path: string, there: string, seen = new Set<string>()): boolean {
  if (path === there) return true;
  if (seen.has(path) || !(path.startsWith(join(ROOT, 'test/')) || path.endsWith('.test.ts'))) return false;
  seen.add(path);
  return listImports(path).some((target) => leadsTo(target, there, seen));
}

/** @returns the paths of our files from which a file imports values */
export function listImports(path: string): string[] {
  const imports = readFileSync(path, 'utf8').matchAll(
    /^(?:import|export)\b(?! type\b)[^;]*?\bfrom '(\.[^']+)';$/gms,
  );
  return [...imports].map(([, target = '']) => resolve(dirname(path), target));
}

/** Files of one process at most; what each leaves in memory stays until its end. */
const MOST_TOGETHER = 6;

/** @returns the files of each process: long ones, and those about a process itself, have their own */
export function groupFiles(files: readonly string[]): string[][] {
  const isOwn = (file: string) => nameOf(file) in LONG_WORK || OWN_PROCESS.includes(nameOf(file));
  const [own, short] = [files.filter(isOwn), files.filter((file) => !isOwn(file))];
  const count = Math.ceil(short.length / MOST_TOGETHER);
  const groups = Array.from({ length: count }, (_, at) => short.filter((_, index) => index % count === at));
  return [...own.map((file) => [file]), ...groups];
}

/** The listed cost of the files of a process, or a default: a test beside its subject rarely starts a service. */
export const findWork = (files: readonly string[]) =>
  LONG_WORK[nameOf(files[0] ?? '')] ?? {
    kind: 'computes' as const,
    seconds: files.reduce((sum, file) => sum + (file.includes('/src/') ? 3 : 8), 0),
  };
