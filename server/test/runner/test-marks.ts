import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The first line of each test file names the runs that the file belongs to, such as `// runs: test, postgres deep,
 * slow`. Commas separate the parts of the line. A part is the tier of a run, after its pass if that is not the pass of
 * the file's folder, or a flag for its process. A reason may follow in parentheses.
 */

/** `npm test`, `npm run test:deep` and `npm run test:long`. */
export const TIERS = ['test', 'deep', 'long'] as const;
export type Tier = (typeof TIERS)[number];

/** The environments of test files. A file may run in several of them. */
export const PASSES = ['embedded', 'postgres', 'citus', 'client', 'console', 'package'] as const;
export type PassName = (typeof PASSES)[number];

/**
 * `own`: the file has its own process. `slow`: its own process starts before others. `waits`: its own process mostly
 * waits, so it runs beside others. `alone`: it runs when no other file runs.
 */
export const FLAGS = ['own', 'slow', 'waits', 'alone'] as const;
export type Flag = (typeof FLAGS)[number];

export interface TestFile {
  readonly path: string;
  readonly runs: readonly { readonly pass: PassName; readonly tier: Tier }[];
  readonly flags: ReadonlySet<Flag>;
  /** The reason why the file runs only where the line says. */
  readonly reason?: string | undefined;
}

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** @returns the pass of a file whose mark names only a tier */
export function findOwnPass(path: string): PassName {
  const [folder = ''] = relative(ROOT, path).split('/');
  return folder === 'client' || folder === 'console' || folder === 'package' ? folder : 'embedded';
}

const isOneOf = <Word extends string>(words: readonly Word[], word: string): word is Word =>
  words.some((candidate) => candidate === word);

/** @throws Error that names the file and the part of its mark that has no meaning */
export function readMark(path: string, text: string): TestFile {
  const [, parts = '', , reason] = /^\/\/ runs: ([a-z, ]+?)( \((.+)\))?\n/.exec(text) ?? [];
  const runs: { pass: PassName; tier: Tier }[] = [];
  const flags = new Set<Flag>();
  for (const part of parts.split(', ')) {
    const run = readRun(part, path);
    if (isOneOf(FLAGS, part)) flags.add(part);
    else if (run !== undefined) runs.push(run);
    else
      throw new Error(
        `${path}: "${part}" on the first line is neither a tier, nor a pass with a tier, nor a flag`,
      );
  }
  if (runs.length === 0) throw new Error(`${path}: the first line names no tier`);
  return { path, runs, flags, reason };
}

/** @returns the run that a part such as `postgres deep` or `deep` names; undefined for other parts */
function readRun(part: string, path: string): TestFile['runs'][number] | undefined {
  const words = part.split(' ');
  const tier = words.pop() ?? '';
  const pass = words.pop() ?? findOwnPass(path);
  return isOneOf(TIERS, tier) && isOneOf(PASSES, pass) && words.length === 0 ? { pass, tier } : undefined;
}

/** @returns all test files of the repository, sorted by path */
export function listTestFiles(): TestFile[] {
  const folders = [
    'server/{src,openapi,test}',
    'client/{src,test}',
    'console/{src,test}',
    'package/test',
    'site',
  ];
  return globSync(
    folders.map((folder) => `${folder}/**/*.test.ts`),
    { cwd: ROOT, exclude: ['**/node_modules/**'] },
  )
    .map((path) => join(ROOT, path))
    .sort()
    .map((path) => readMark(path, readFileSync(path, 'utf8')));
}
