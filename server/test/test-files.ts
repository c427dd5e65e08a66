import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  CONSOLE_SMOKE,
  DEEP_UNITS,
  LONG_WORK,
  POSTGRES_SMOKE,
  RULES_ABOVE_THE_STORES,
  TRIES_MORE,
} from './test-lists.ts';

/**
 * Which test files run on which store. A file whose imports lead to test-store.ts gets its store from there and runs on
 * both, unless RULES_ABOVE_THE_STORES says that no store can decide what it tests. `sqlite-*.test.ts` and
 * `postgres-*.test.ts` are about one of them.
 */

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const TEST_STORE = join(ROOT, 'test/support/test-store.ts');
const REAL_PRODUCTS = join(ROOT, 'test/support/real-products.ts');

/** @returns paths, sorted; those of all test files but those about PostgreSQL */
export const listEmbedded = (): string[] => listAll().filter((path) => !isAbout(path, 'postgres'));

/** @returns those about PostgreSQL, and those that get a store which could decide what they test */
export const listPostgres = (): string[] => {
  const chosen = new Set(listGettingStore().filter((path) => !(nameOf(path) in RULES_ABOVE_THE_STORES)));
  return listAll().filter((path) => isAbout(path, 'postgres') || chosen.has(path));
};

/** @returns those that run on whichever store they are given */
export const listGettingStore = (): string[] =>
  listAll().filter((path) => !isAbout(path, 'sqlite') && !isAbout(path, 'postgres') && getsStore(path));

/** @returns what a change is checked with first: the tests beside their subjects, and those of the interface */
export const listFirst = (): string[] =>
  listEmbedded().filter(
    (path) =>
      (!path.startsWith(join(ROOT, 'test/')) || basename(path).startsWith('interface-')) &&
      !DEEP_UNITS.includes(nameOf(path)),
  );

/** @returns what listFirst leaves out, and what tries more cases when there is time */
export const listDeep = (): string[] => {
  const first = new Set(listFirst());
  return listEmbedded().filter((path) => !first.has(path) || TRIES_MORE.includes(nameOf(path)));
};

/** @returns files that show that PostgreSQL works at all */
export const listPostgresSmoke = (): string[] => POSTGRES_SMOKE.map((name) => join(ROOT, name));

/** @returns files that show that the console works at all */
export const listConsoleSmoke = (): string[] =>
  CONSOLE_SMOKE.map((name) => join(ROOT, '../console/test', name));

/** @returns those about PostgreSQL, and of the others as many as it takes to meet each statement */
export const listInstalled = (): string[] =>
  listPostgres().filter((path) => INSTALLED.some((start) => basename(path).startsWith(start)));

const INSTALLED = [
  'postgres-schema',
  'postgres-c',
  'postgres-r',
  'interface-full-',
  'interface-updates',
  'interface-relations',
];

/** @returns every rule of the interface, what kills processes and workers, and the oracle of relations */
export const listCluster = (): string[] =>
  listPostgres().filter((path) => CLUSTER.some((start) => basename(path).startsWith(start)));

const CLUSTER = ['interface-', 'crash', 'chaos', 'relations-oracle', 'postgres-cluster'];

/** @returns those that read the real catalog where it is at hand, and else the generated one */
export const listReadingCatalog = (): string[] => listAll().filter((path) => leadsTo(path, REAL_PRODUCTS));

/** @returns those of the client, the console or the package, which start the service as a process */
export const listWorkspace = (name: 'client' | 'console' | 'package'): string[] =>
  globSync('{src,test}/**/*.test.ts', { cwd: join(ROOT, '..', name) })
    .map((path) => join(ROOT, '..', name, path))
    .sort();

/** @returns test files that open a store by themselves, so that they never meet the other one */
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

/** @returns how a file is listed here: `test/service/body-budget.test.ts` */
const nameOf = (path: string) => relative(ROOT, path);

const listAll = () =>
  globSync(['{src,openapi,test}/**/*.test.ts', '../site/*.test.ts'], { cwd: ROOT })
    .map((path) => join(ROOT, path))
    .sort();

const isAbout = (path: string, subject: string) => basename(path).startsWith(`${subject}-`);

const getsStore = (path: string) => leadsTo(path, TEST_STORE);

/** Whether imports of values lead there; those of the service itself never do. */
function leadsTo(path: string, there: string, seen = new Set<string>()): boolean {
  if (path === there) return true;
  if (seen.has(path) || !(path.startsWith(join(ROOT, 'test/')) || path.endsWith('.test.ts'))) return false;
  seen.add(path);
  return listImports(path).some((target) => leadsTo(target, there, seen));
}

/** @returns paths of the files of ours whose values a file imports */
export function listImports(path: string): string[] {
  const imports = readFileSync(path, 'utf8').matchAll(
    /^(?:import|export)\b(?! type\b)[^;]*?\bfrom '(\.[^']+)';$/gms,
  );
  return [...imports].map(([, target = '']) => resolve(dirname(path), target));
}

/** What is known of a file's work. */
export const findWork = (path: string) =>
  LONG_WORK[nameOf(path)] ?? { kind: 'computes' as const, seconds: 5 };
